"""Objects on which two acts may meet, and the acts: tokens, contracts, holds, stakes and bonds.

An act is asked of a registry process; its outcome is the status of the answer, with the state or the refusal that it names.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from tests.paying import Payments
from tests.registry import TestAgent, TestRegistry
from tests.rooms.commerce.agreements import in_days
from tests.rooms.reputation.bonded import DAY, Bonded

Outcome = tuple[int, str]
Act = Callable[[TestRegistry], Awaitable[Outcome]]
WAITING = {"Prefer": "wait=20"}


@dataclass(frozen=True)
class Met:
    """One object, the acts that may meet on it, its state in the database, and the agents whose units it moves."""

    acts: dict[str, Act]
    row: tuple[str, object]
    parties: tuple[TestAgent, ...]

    async def state(self, registry: TestRegistry) -> tuple[Any, ...]:
        """The row of the object, and the units of the parties by bucket."""
        statement, key = self.row
        dids = [agent.did for agent in self.parties]
        row = await registry.database.query(lambda tx: tx.fetchrow(statement, key))
        return tuple(row), await registry.database.query(lambda tx: tx.fetch(_HELD, dids))


_HELD = "SELECT liquid, staked, escrow FROM ledger_account WHERE did = ANY ($1) ORDER BY id"
_TOKEN = "SELECT status, tx_id IS NOT NULL FROM commerce_payment_token WHERE id = $1::uuid"
_CONTRACT = "SELECT status, ended_because, amount_paid FROM commerce_contract WHERE id = $1"
_HOLD = "SELECT ending, captured, remaining FROM ledger_hold WHERE id = $1"
_STAKE = """
SELECT array_agg(p.remaining ORDER BY p.id) FROM ledger_stake_position p JOIN ledger_account a ON a.id = p.account_id
WHERE a.did = $1
"""
_BOND = "SELECT state, hold_id IS NOT NULL FROM reputation_bond WHERE agent_did = $1"


def asked(by: TestAgent, path: str, body: object = None, headers: dict[str, str] | None = None) -> Act:
    """A POST of this agent."""

    async def ask(via: TestRegistry) -> Outcome:
        return said(await via.post(path, json=body, headers={**by.headers, **(headers or {})}))

    return ask


def said(answer: httpx2.Response) -> Outcome:
    """The outcome that an answer declares."""
    body = answer.json()
    if answer.status_code >= 400:
        return answer.status_code, body["error"]["code"]
    return answer.status_code, str(body.get("status") or body.get("state"))


class Objects:
    """New objects between the same agents."""

    def __init__(self, bonds: Bonded, caller: TestAgent, service: TestAgent) -> None:
        self._bonds = bonds
        self._caller, self._service = caller, service
        self._payments = Payments(bonds.registry, caller, service)

    @classmethod
    async def of(cls, bonds: Bonded) -> "Objects":
        agreements = bonds.agreements
        service = await agreements.provider()
        await agreements.purses.grant(service, "1000")
        return cls(bonds, await agreements.contractor(), service)

    async def token(self, *, is_verified: bool = False, **kind: Any) -> Met:
        """A payment token: settled by either party, released by either route."""
        made = await self._payments.authorized("1", **kind)
        if is_verified:
            await self._payments.verify(made["token"])
        token, settler = {"token": made["token"]}, self._caller
        if kind.get("capture_by") == "payee":
            settler = self._service
        acts = {
            "settle": asked(settler, "/a2a-payment/settle", token, WAITING),
            "settle unpaid": asked(settler, "/a2a-payment/settle", {**token, "success": False}, WAITING),
            "settle many": self._settled_among_many(settler, token),
            "release": asked(self._caller, "/a2a-payment/release", token),
            "release by the settler": asked(settler, "/a2a-payment/release", token),
            "release by id": asked(self._caller, f"/a2a-payment/release-by-id/{made['token_id']}"),
            "verify": asked(self._service, "/a2a-payment/verify", token),
        }
        return Met(acts, (_TOKEN, made["token_id"]), (self._caller, self._service))

    def _settled_among_many(self, settler: TestAgent, token: dict[str, str]) -> Act:
        async def ask(via: TestRegistry) -> Outcome:
            headers = {**settler.headers, **WAITING}
            answer = await via.post("/a2a-payment/settle-many", json={"tokens": [token]}, headers=headers)
            [line] = answer.json()["items"]
            return answer.status_code, (line["error"] or {}).get("code") or line["answer"]["status"]

        return ask

    async def contract(self, *, funded: bool) -> Met:
        """A contract whose work is submitted."""
        agreements = self._bonds.agreements
        terms = {"amount": "1", "funded": funded, "submit_by": in_days(2), "review_by": in_days(4)}
        made = await agreements.submitted(self._caller, self._service, **terms)
        route = f"/contracts/{made['id']}"
        complaint = {
            "defendant_did": self._service.did,
            "reason_code": "OTHER",
            "description": "No.",
            "contract_id": made["id"],
        }
        acts = {
            "approve": asked(self._caller, f"{route}/approve-completion", {}),
            "request changes": asked(self._caller, f"{route}/request-changes", {}),
            "mark as failed": asked(self._caller, f"{route}/mark-failed", {}),
            "complain": asked(self._caller, "/disputes/", complaint),
        }
        return Met(acts, (_CONTRACT, made["id"]), (self._caller, self._service))

    async def contract_with_token(self) -> Met:
        """A contract whose work is submitted, and a token that may pay it or be given back."""
        agreements = self._bonds.agreements
        made = await agreements.submitted(self._caller, self._service, amount="1")
        token = (await self._payments.authorized("1"))["token"]
        route = f"/contracts/{made['id']}"
        acts = {
            "approve": asked(self._caller, f"{route}/approve-completion", {}),
            "approve with the token": asked(
                self._caller, f"{route}/approve-completion", {"payment_token": token}
            ),
            "settle": asked(self._caller, "/a2a-payment/settle", {"token": token}, WAITING),
            "release": asked(self._caller, "/a2a-payment/release", {"token": token}),
        }
        return Met(acts, (_CONTRACT, made["id"]), (self._caller, self._service))

    async def hold(self) -> Met:
        """Units of the caller that are held for the service."""
        registry = self._bonds.registry
        book = ledger.Book.of(registry.settings)
        ends = datetime.now(UTC) + timedelta(hours=1)
        held_for = ledger.NewHold("test", str(uuid4()), self._service.did, ends)
        order = ledger.HoldOrder(self._caller.did, parse_amount("1"), held_for)
        opened = await registry.database.transaction(lambda tx: ledger.open_hold(tx, order, book))
        assert opened.hold_id is not None
        orders = {
            "capture": ledger.orders.capture(opened.hold_id, parse_amount("1"), final=True),
            "capture a part": ledger.orders.capture(opened.hold_id, parse_amount("0.6")),
            "award": ledger.orders.award(opened.hold_id, parse_amount("0.5")),
            "release": ledger.orders.release(opened.hold_id),
            "expire": ledger.orders.expire(opened.hold_id),
        }
        acts = {name: self._ordered(order) for name, order in orders.items()}
        return Met(acts, (_HOLD, opened.hold_id), (self._caller, self._service))

    def _ordered(self, order: ledger.Order) -> Act:
        async def ask(via: TestRegistry) -> Outcome:
            try:
                await ledger.GROUP_COMMIT.of(via.runtime).carry_out([order])
            except Refused as refusal:
                return refusal.status, refusal.code
            return 200, "carried out"

        return ask

    async def stake(self) -> Met:
        """Ten units of a new agent that are staked without a lock."""
        agent = await self._bonds.agreements.contractor("20")
        answer = await self._bonds.registry.post(
            "/staking/stake", json={"amount": "10"}, headers=agent.headers
        )
        assert answer.status_code == 200, answer.text
        acts = {
            "unstake all": asked(agent, "/staking/unstake", {"amount": "10"}),
            "unstake a part": asked(agent, "/staking/unstake", {"amount": "6"}),
            "stake more": asked(agent, "/staking/stake", {"amount": "4"}),
            "pay": asked(agent, "/teg/transfer", {"receiver_agent_id": self._service.did, "amount": "9.9"}),
        }
        return Met(acts, (_STAKE, agent.did), (agent, self._service))

    async def bond(self, *, is_mature: bool) -> Met:
        """A bond of a new agent, active or ready to be unlocked."""
        agent = await self._bonds.agreements.contractor("300")
        await self._bonds.act(agent, "deposit", amount="100")
        if is_mature:
            await self._bonds.act(agent, "release")
            await self._bonds.elapse(agent, 15 * DAY)
        route = f"/agents/{agent.did}/reputation-bond"
        acts = {
            "deposit": asked(agent, f"{route}/deposit", {"amount": "150"}),
            "release": asked(agent, f"{route}/release"),
            "unlock": asked(agent, f"{route}/unlock"),
            "pay": asked(agent, "/teg/transfer", {"receiver_agent_id": self._service.did, "amount": "150"}),
        }
        return Met(acts, (_BOND, agent.did), (agent, self._service))


MAKERS: dict[str, Callable[[Objects], Awaitable[Met]]] = {
    "a token": Objects.token,
    "a token in use": lambda objects: objects.token(is_verified=True),
    "a reserved token": lambda objects: objects.token(reserve=True),
    "a token of its payee": lambda objects: objects.token(capture_by="payee"),
    "a contract": lambda objects: objects.contract(funded=False),
    "a funded contract": lambda objects: objects.contract(funded=True),
    "a contract and a token": Objects.contract_with_token,
    "a hold": Objects.hold,
    "a stake": Objects.stake,
    "a bond": lambda objects: objects.bond(is_mature=False),
    "a bond to be unlocked": lambda objects: objects.bond(is_mature=True),
}
