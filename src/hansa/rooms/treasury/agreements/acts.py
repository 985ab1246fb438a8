"""Acts of admins on the contracts and disputes of their organization: the use cases of agents, with the treasury as the agent that acts."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Conflict
from hansa.rooms import commerce, organizations

Done = TypeVar("Done")


class PaymentNeedsRequest(Conflict):
    """The contract has no hold: its payment needs a request of the treasury."""

    code = "PAYMENT_NEEDS_REQUEST"
    sentence = "The contract is not funded; a payment of it needs a request of the treasury."


class OtherSubject(Conflict):
    """The body names another subject of the dispute than the path."""

    code = "OTHER_SUBJECT"
    sentence = "The dispute is about the contract in the path; the body names something else."
    remedy = "Leave contract_id, token_id and transaction_id out of the body."


class Act(msgspec.Struct, Generic[Done], frozen=True):
    """Use case of an agent, and how the record of the organization names it and its object."""

    name: str
    target: str
    carry_out: Callable[[Tx, Agent], Awaitable[Done]]


ContractAct: TypeAlias = Act[commerce.ContractShown]
DisputeAct: TypeAlias = Act[commerce.Dispute]


async def contracts_of(
    tx: Tx, developer: Developer, key: str, wanted: commerce.ContractFilter, settings: Settings
) -> tuple[list[commerce.ContractOut], int]:
    """A page of the contracts of the treasury, newest first, and how many there are. Raises: OrganizationUnknown."""
    did = await _treasury_of(tx, developer, key)
    listed, total = await commerce.list_contracts(tx, replace(wanted, of=did, reader=did), settings)
    return [one.contract for one in listed], total


async def disputes_of(
    tx: Tx, developer: Developer, key: str, wanted: commerce.DisputeFilter
) -> tuple[list[commerce.Dispute], int]:
    """A page of the disputes of the treasury, newest first, and how many there are. Raises: OrganizationUnknown."""
    did = await _treasury_of(tx, developer, key)
    return await commerce.list_disputes(tx, replace(wanted, of=did, reader=did))


async def as_treasury(tx: Tx, developer: Developer, key: str, act: Act[Done]) -> Done:
    """Carry out an act as the treasury, and record it.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, and the errors of the act.
    """
    organization = await organizations.lock_as_member(tx, key, developer.id, organizations.Role.ADMIN)
    treasury = Agent(
        organization.treasury_did,
        developer.id,
        (),
        frozenset(),
        is_governed=False,
        organization_id=organization.id,
    )
    done = await act.carry_out(tx, treasury)
    await organizations.record_act(tx, organization.id, developer, act.name, act.target)
    return done


def cancel(contract_id: int, reason: str | None) -> ContractAct:
    """Withdraw a proposal."""
    return _on_contract(
        "cancel", contract_id, lambda tx, agent: commerce.cancel_contract(tx, agent, contract_id, reason)
    )


def request_changes(contract_id: int, note: str | None) -> ContractAct:
    """Return what was submitted."""
    return _on_contract(
        "request_changes",
        contract_id,
        lambda tx, agent: commerce.request_contract_changes(tx, agent, contract_id, note),
    )


def mark_failed(contract_id: int, reason: str | None, settings: Settings) -> ContractAct:
    """Declare failure."""
    return _on_contract(
        "mark_failed",
        contract_id,
        lambda tx, agent: commerce.mark_contract_failed(tx, agent, contract_id, reason, settings),
    )


def approve(contract_id: int, approval: commerce.ContractApproval, runtime: Runtime) -> ContractAct:
    """Approve what was submitted. The hold pays: nothing but a request takes other units of a treasury. Raises: PaymentNeedsRequest."""

    async def approved(tx: Tx, agent: Agent) -> commerce.ContractShown:
        done = await commerce.approve_contract(tx, agent, contract_id, approval, runtime)
        if not isinstance(done, commerce.ContractShown) or not done.contract.funded:
            raise PaymentNeedsRequest
        return done

    return _on_contract("approve", contract_id, approved)


def dispute(contract_id: int, body: commerce.DisputeIn, settings: Settings) -> DisputeAct:
    """File a dispute about a contract. Raises: OtherSubject."""
    named = (body.contract_id, body.token_id, body.transaction_id)
    if any(one not in {None, contract_id} for one in named):
        raise OtherSubject

    async def filed(tx: Tx, agent: Agent) -> commerce.Dispute:
        complaint = replace(body.filed_by(agent.did), contract_id=contract_id)
        return await commerce.file_dispute(tx, complaint, settings)

    return Act("contract.dispute", f"contract:{contract_id}", filed)


def add_evidence(dispute_id: int, body: commerce.EvidenceIn) -> DisputeAct:
    """Add evidence as a party."""
    return Act(
        "dispute.evidence",
        f"dispute:{dispute_id}",
        lambda tx, agent: commerce.add_evidence(tx, agent, dispute_id, body.piece()),
    )


def _on_contract(
    name: str, contract_id: int, carry_out: Callable[[Tx, Agent], Awaitable[commerce.ContractShown]]
) -> ContractAct:
    return Act(f"contract.{name}", f"contract:{contract_id}", carry_out)


async def _treasury_of(tx: Tx, developer: Developer, key: str) -> str:
    organization = await organizations.held(tx, key, developer.id, organizations.Role.VIEWER)
    return organization.treasury_did
