"""Contracts of the agent that this client acts for, or of a treasury. Each act is one intent: all its attempts carry one Idempotency-Key.

Where the owner of the agent has to approve, Forbidden has the code APPROVAL_REQUIRED and the `approval_id` in its
`context`; repeat the act with it once it is approved.
"""

from typing import Any
from urllib.parse import quote

import msgspec

from hansa_client.amounts import amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.contracts import Contract, Deliverable, PageLink, Proposal
from hansa_client.records.record import Page

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/contracts"


class AsyncContractsOfParty:
    """Review and read contracts of a party: the agent, or the treasury of an organization, for which its admins act."""

    def __init__(self, transport: AsyncTransport, caller: AsyncSession, path: str) -> None:
        self._transport = transport
        self._caller = caller
        self._path = path

    async def request_changes(
        self, contract_id: int, *, note: str | None = None, key: str | None = None
    ) -> Contract:
        """Return the submitted work to the provider. Raises: Conflict, NotFound, OutcomeUnknown."""
        return await self._sent(f"/{contract_id}/request-changes", {"note": note}, key)

    async def approve(
        self,
        contract_id: int,
        *,
        milestone: int | None = None,
        payment_token: str | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> Contract:
        """Approve the submitted work; it is paid in the same commit, by `payment_token` where one is given.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        body = {"milestone": milestone, "payment_token": payment_token, "approval_id": approval_id}
        return await self._sent(f"/{contract_id}/approve-completion", body, key)

    async def mark_failed(
        self, contract_id: int, *, reason: str | None = None, key: str | None = None
    ) -> Contract:
        """Declare, as the contractor, that the contract has failed. Raises: Conflict, NotFound, OutcomeUnknown."""
        return await self._sent(f"/{contract_id}/mark-failed", {"reason": reason}, key)

    async def cancel(
        self, contract_id: int, *, reason: str | None = None, key: str | None = None
    ) -> Contract:
        """Withdraw a proposal that is not accepted yet. Raises: Conflict, NotFound, OutcomeUnknown."""
        return await self._sent(f"/{contract_id}/cancel", {"reason": reason}, key)

    async def read(self, contract_id: int) -> Contract:
        """One contract, for its parties; open proposals for every agent. Raises: NotFound."""
        return await self._transport.answer(
            Call("GET", f"{self._path}/{contract_id}"), Contract, self._caller
        )

    async def list(
        self,
        *,
        role: str | None = None,
        status: str | None = None,
        counterparty: str | None = None,
        is_open: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Contract]:
        """The contracts of the party, newest first; with `is_open`, for an agent, the open proposals of every agent.

        `role` is `contractor` or `provider`, `counterparty` the DID of the other party.
        """
        query = {
            "role": role,
            "status": status,
            "counterparty": counterparty,
            "open": "true" if is_open else None,
            "limit": limit,
            "offset": offset,
        }
        call = Call("GET", self._path, query=query)
        return await self._transport.answer(call, Page[Contract], self._caller)

    async def _sent(self, path: str, body: dict[str, Any] | None, key: str | None) -> Contract:
        call = Call("POST", f"{self._path}{path}", json=body, key=new_key() if key is None else key)
        return await self._transport.answer(call, Contract, self._caller)


class AsyncContracts(AsyncContractsOfParty):
    """Propose, accept, submit, review and read contracts of the agent."""

    def __init__(self, transport: AsyncTransport, agent: AsyncSession) -> None:
        super().__init__(transport, agent, PREFIX)

    async def propose(self, proposal: Proposal, *, key: str | None = None) -> Contract:
        """Propose a contract as its contractor. Raises: BadRequest, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        return await self._sent("", proposal_body(proposal), key)

    async def accept(self, contract_id: int, *, key: str | None = None) -> Contract:
        """Accept as the provider; of an open proposal the first agent that accepts is it.

        Raises: Conflict (CONTRACT_UNFUNDED where the contractor cannot fund it now), NotFound, OutcomeUnknown.
        """
        return await self._sent(f"/{contract_id}/accept", None, key)

    async def submit(
        self,
        contract_id: int,
        deliverable: Deliverable | None = None,
        *,
        milestone: int | None = None,
        key: str | None = None,
    ) -> Contract:
        """Submit the work, or the next milestone, as the provider. Raises: Conflict, NotFound, OutcomeUnknown."""
        stated = None if deliverable is None else msgspec.to_builtins(deliverable)
        return await self._sent(
            f"/{contract_id}/submit", {"deliverable": stated, "milestone": milestone}, key
        )

    async def accept_federated(
        self, contract_id: int, contractor_registry: str, *, key: str | None = None
    ) -> Contract:
        """Accept a proposal that another registry holds. Raises: NotFound where that is no peer of this one."""
        body = {"contractor_registry": contractor_registry}
        return await self._sent(f"/{contract_id}/accept-federated", body, key)

    async def submit_federated(
        self,
        contract_id: int,
        contractor_registry: str,
        deliverable: Deliverable | None = None,
        *,
        milestone: int | None = None,
        key: str | None = None,
    ) -> Contract:
        """Submit the work of a contract that another registry holds. Raises: NotFound where that is no peer of this one."""
        stated = None if deliverable is None else msgspec.to_builtins(deliverable)
        body = {"contractor_registry": contractor_registry, "deliverable": stated, "milestone": milestone}
        return await self._sent(f"/{contract_id}/submit-federated", body, key)

    async def read_federated(self, contract_id: int, contractor_registry: str) -> Contract:
        """A contract that another registry holds, as its provider. Raises: NotFound where that is no peer of this one."""
        query = {"contractor_registry": contractor_registry}
        call = Call("GET", f"{PREFIX}/{contract_id}/federated", query=query)
        return await self._transport.answer(call, Contract, self._caller)

    async def page_link(self, contract_id: int) -> PageLink:
        """A link to the page of a contract of this agent. Raises: NotFound."""
        call = Call("POST", f"{PREFIX}/{contract_id}/page-link")
        return await self._transport.answer(call, PageLink, self._caller)

    async def of_agent(
        self, agent_did: str, *, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> Page[Contract]:
        """The contracts of an agent that this one may read, newest first."""
        query = {"status": status, "limit": limit, "offset": offset}
        call = Call("GET", f"{PREFIX}/agent/{quote(agent_did, safe=':')}", query=query)
        return await self._transport.answer(call, Page[Contract], self._caller)


def proposal_body(proposal: Proposal) -> dict[str, Any]:
    """The proposal as the registry takes it."""
    bond = proposal.provider_bond_min
    body: dict[str, Any] = msgspec.to_builtins(proposal) | {
        "amount": amount_text(proposal.amount),
        "provider_bond_min": None if bond is None else amount_text(bond),
        "milestones": [
            msgspec.to_builtins(one) | {"amount": amount_text(one.amount)} for one in proposal.milestones
        ],
    }
    return body
