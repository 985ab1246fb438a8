"""Acts of admins on the contracts and disputes of their organization: the use cases of agents, with the treasury as the agent that acts."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

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


async def contracts_of(
    tx: Tx, developer: Developer, key: str, wanted: commerce.ContractFilter, settings: Settings
) -> tuple[list[commerce.ContractOut], int]:
    """A page of the contracts of the treasury, newest first, and how many there are. Raises: OrganizationUnknown."""
    did = await _treasury_of(tx, developer, key)
    listed, total = await commerce.list_contracts(tx, replace(wanted, of=did, reader=did), settings)
    return [one.contract for one in listed], total


async def contract_of(tx: Tx, developer: Developer, key: str, contract_id: int) -> commerce.ContractShown:
    """One contract of the treasury. Raises: OrganizationUnknown, ContractUnknown."""
    did = await _treasury_of(tx, developer, key)
    found = await commerce.read_contract(tx, _reader(did, developer), contract_id)
    if did not in found.contract.parties:
        raise commerce.ContractUnknown
    return found


async def dispute_of(tx: Tx, developer: Developer, key: str, dispute_id: int) -> commerce.Dispute:
    """One dispute of the treasury, with its evidence. Raises: OrganizationUnknown, DisputeUnknown."""
    did = await _treasury_of(tx, developer, key)
    return await commerce.read_dispute(tx, _reader(did, developer), dispute_id)


async def disputes_of(
    tx: Tx, developer: Developer, key: str, wanted: commerce.DisputeFilter
) -> tuple[list[commerce.Dispute], int]:
    """A page of the disputes of the treasury, newest first, and how many there are. Raises: OrganizationUnknown."""
    did = await _treasury_of(tx, developer, key)
    return await commerce.list_disputes(tx, replace(wanted, of=did, reader=did))


async def as_treasury(
    tx: Tx,
    developer: Developer,
    key: str,
    carry_out: Callable[[Tx, Agent], Awaitable[Done]],
    *,
    act: str,
    target: str,
) -> Done:
    """Carry out a use case of an agent as the treasury, and record it under these names.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, and the errors of the use case.
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
    done = await carry_out(tx, treasury)
    await organizations.record_act(tx, organization.id, developer, act, target)
    return done


async def approve(
    tx: Tx, agent: Agent, contract_id: int, approval: commerce.ContractApproval, runtime: Runtime
) -> commerce.ContractShown:
    """Approve what was submitted. The hold pays: nothing but a request takes other units of a treasury. Raises: PaymentNeedsRequest."""
    done = await commerce.approve_contract(tx, agent, contract_id, approval, runtime)
    if not isinstance(done, commerce.ContractShown) or not done.contract.funded:
        raise PaymentNeedsRequest
    return done


async def dispute(
    tx: Tx, agent: Agent, contract_id: int, body: commerce.DisputeIn, settings: Settings
) -> commerce.Dispute:
    """File a dispute about a contract. Raises: OtherSubject."""
    named = (body.contract_id, body.token_id, body.transaction_id)
    if any(one not in {None, contract_id} for one in named):
        raise OtherSubject
    complaint = replace(body.filed_by(agent.did), contract_id=contract_id)
    return await commerce.file_dispute(tx, complaint, settings)


def _reader(did: str, developer: Developer) -> Agent:
    return Agent(did, developer.id, (), frozenset(), is_governed=False)


async def _treasury_of(tx: Tx, developer: Developer, key: str) -> str:
    organization = await organizations.held(tx, key, developer.id, organizations.Role.VIEWER)
    return organization.treasury_did
