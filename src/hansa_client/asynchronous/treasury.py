"""Treasury of one organization: rules, budgets, payments, and requests that others approve before they are carried out.

Each act is one intent: all its attempts carry one Idempotency-Key. An act that needs approvals returns an OrganizationRequest with the status PENDING.
"""

from decimal import Decimal
from typing import Any
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.contracts import Proposal
from hansa_client.records.ledger import StatementLine
from hansa_client.records.organizations import Deletion, OrganizationRequest
from hansa_client.records.record import Page
from hansa_client.records.treasury import OrganizationTreasury, Period, TreasuryBudget, TreasuryRules

from .contracts import AsyncContractsOfParty, proposal_body
from .disputes import AsyncDisputesOfTreasury
from .organizations import done_or_asked, path_of
from .session import AsyncSession
from .transport import AsyncTransport


class AsyncTreasury:
    """Read and pay from the treasury of an organization, and decide its requests; its `contracts` and `disputes` are like those of an agent."""

    def __init__(self, transport: AsyncTransport, developer: AsyncSession, organization: str) -> None:
        self._transport = transport
        self._developer = developer
        path = path_of(organization)
        self._path = f"{path}/treasury"
        self.contracts = AsyncContractsOfParty(transport, developer, f"{path}/contracts")
        self.disputes = AsyncDisputesOfTreasury(transport, developer, path)

    async def read(self) -> OrganizationTreasury:
        """The treasury with its rules and budgets. Raises: NotFound."""
        return await self._transport.answer(Call("GET", self._path), OrganizationTreasury, self._developer)

    async def transactions(
        self, *, limit: int = 50, next_page: str | None = None, direction: str | None = None
    ) -> Page[StatementLine]:
        """The transactions of the treasury, newest first; `direction` is `sent` or `received`. Raises: NotFound."""
        query = {"limit": limit, "next": next_page, "direction": direction}
        call = Call("GET", f"{self._path}/transactions", query=query)
        return await self._transport.answer(call, Page[StatementLine], self._developer)

    async def replace_rules(self, rules: TreasuryRules) -> TreasuryRules | OrganizationRequest:
        """Replace all rules, as an admin. Raises: Conflict, Forbidden, NotFound, Invalid."""
        body = {
            "tiers": [
                {"over": amount_text(one.over), "approvals": one.approvals, "from": one.by}
                for one in rules.tiers
            ],
            "per_day_max": _text_of(rules.per_day_max),
            "unapproved_per_day_max": _text_of(rules.unapproved_per_day_max),
            "allowlist": rules.allowlist,
        }
        call = Call("PUT", f"{self._path}/rules", json=body)
        return await done_or_asked(self._transport, call, TreasuryRules, self._developer)

    async def budgets(self) -> Page[TreasuryBudget]:
        """The budgets. Raises: NotFound."""
        call = Call("GET", f"{self._path}/budgets")
        return await self._transport.answer(call, Page[TreasuryBudget], self._developer)

    async def create_budget(
        self,
        name: str,
        amount: Amount,
        period: Period,
        *,
        team_id: str | None = None,
        agent_did: str | None = None,
        key: str | None = None,
    ) -> TreasuryBudget | OrganizationRequest:
        """Make a budget of a team or of an agent, as an admin. Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        body = {
            "name": name,
            "amount": amount_text(amount),
            "period": period,
            "team_id": team_id,
            "agent_did": agent_did,
        }
        call = _post(f"{self._path}/budgets", body, key)
        return await done_or_asked(self._transport, call, TreasuryBudget, self._developer)

    async def change_budget(
        self,
        budget_id: str,
        *,
        name: str | None = None,
        amount: Amount | None = None,
        period: Period | None = None,
    ) -> TreasuryBudget | OrganizationRequest:
        """Change the given members of a budget, which keeps what was spent, as an admin. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        body = {"name": name, "amount": None if amount is None else amount_text(amount), "period": period}
        call = Call("PATCH", f"{self._path}/budgets/{quote(budget_id, safe='')}", json=body)
        return await done_or_asked(self._transport, call, TreasuryBudget, self._developer)

    async def delete_budget(self, budget_id: str) -> Deletion:
        """End a budget, as an admin. Raises: Forbidden, NotFound."""
        call = Call("DELETE", f"{self._path}/budgets/{quote(budget_id, safe='')}")
        return await self._transport.answer(call, Deletion, self._developer)

    async def pay(
        self,
        receiver_did: str,
        amount: Amount,
        *,
        message: str | None = None,
        budget_id: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> OrganizationRequest:
        """Ask for a payment to an agent of any registry, as an admin, or within a budget of an own team.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {
            "kind": "payment",
            "receiver_did": receiver_did,
            "amount": amount_text(amount),
            "message": message,
            "budget_id": budget_id,
            "note": note,
        }
        return await self._asked(body, key)

    async def propose(
        self, proposal: Proposal, *, note: str | None = None, key: str | None = None
    ) -> OrganizationRequest:
        """Ask for a funded contract with a provider, as an admin. Raises: InsufficientBalance, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown."""
        contract = {name: value for name, value in proposal_body(proposal).items() if value is not None}
        return await self._asked({"kind": "contract", "contract": contract, "note": note}, key)

    async def requests(self, *, limit: int = 50, offset: int = 0) -> Page[OrganizationRequest]:
        """The requests, newest first. Raises: NotFound."""
        call = Call("GET", f"{self._path}/requests", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[OrganizationRequest], self._developer)

    async def request(self, request_id: str) -> OrganizationRequest:
        """One request. Raises: NotFound."""
        return await self._transport.answer(
            Call("GET", self._request(request_id)), OrganizationRequest, self._developer
        )

    async def approve(
        self,
        request_id: str,
        *,
        password: str | None = None,
        totp_code: str | None = None,
        key: str | None = None,
    ) -> OrganizationRequest:
        """Approve a request of another one, by a login; the last approval that it needs carries it out.

        Raises: Conflict, Forbidden, NotFound, Unauthorized, OutcomeUnknown.
        """
        return await self._act(request_id, "approve", {"password": password, "totp_code": totp_code}, key)

    async def reject(
        self, request_id: str, *, reason: str | None = None, key: str | None = None
    ) -> OrganizationRequest:
        """Reject a request, which ends it. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._act(request_id, "reject", {"reason": reason}, key)

    async def cancel(self, request_id: str, *, key: str | None = None) -> OrganizationRequest:
        """Cancel a request, as its initiator or an owner. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._act(request_id, "cancel", None, key)

    async def retry(self, request_id: str, *, key: str | None = None) -> OrganizationRequest:
        """Carry out an approved request that was not covered. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._act(request_id, "retry", None, key)

    async def _asked(self, body: dict[str, Any], key: str | None) -> OrganizationRequest:
        stated = {name: value for name, value in body.items() if value is not None}
        call = _post(f"{self._path}/requests", stated, key)
        return await self._transport.answer(call, OrganizationRequest, self._developer)

    async def _act(
        self, request_id: str, act: str, body: dict[str, Any] | None, key: str | None
    ) -> OrganizationRequest:
        call = _post(f"{self._request(request_id)}/{act}", body, key)
        return await self._transport.answer(call, OrganizationRequest, self._developer)

    def _request(self, request_id: str) -> str:
        return f"{self._path}/requests/{quote(request_id, safe='')}"


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)


def _text_of(amount: Decimal | None) -> str | None:
    return None if amount is None else amount_text(amount)
