"""Payments under policies, approvals and capabilities that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.idempotency import Answer
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.foundation.values.roles import permissions_of
from hansa.foundation.values.secrets import fingerprint, new_name
from hansa.rooms import agents, ledger
from hansa.rooms.agents.authz.roles import NewAuthz, replace_authz
from hansa.rooms.agents.capabilities.issue import IssuedCapability, Recipient, attenuate, issue, revoke
from hansa.rooms.agents.capabilities.rules import Narrowing, Terms
from hansa.rooms.agents.capabilities.use import Presenter
from hansa.rooms.agents.spending import SpendPolicy, put_policy
from hansa.rooms.agents.spending.approvals import decide
from hansa.rooms.transfers.governed import GovernedTransfer, transfer_governed
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

ORDERS = by_tier(15, 1000, 10_000)
OWNER = 77
ROLES = ("trader",)
NO_NARROWING = Narrowing(None, None, None, None, None, False, None, None, None)

_OPEN_AGENT = """
INSERT INTO agents_agent (did, developer_id, client_id, client_secret_sha256, name, roles)
VALUES ($1, $2, $3, $4, 'Agent', $5)
"""


@dataclass(frozen=True)
class Scene:
    """A payer with 100 units and a payee, both of one owner."""

    settings: Settings
    payer: str
    payee: str
    approval: UUID | None
    capability: IssuedCapability

    @property
    def owner(self) -> Developer:
        return Developer(OWNER, "owner@example.org", "session", True, frozenset(), False)

    def pay(
        self, amount: str, *, approval: UUID | None = None, capability: IssuedCapability | None = None
    ) -> UseCase:
        order = ledger.TransferOrder(self.payer, self.payee, parse_amount(amount))
        payment = agents.Payment(
            self.payee,
            order.amount,
            "AVT",
            "teg.transfer",
            "teg.transfer",
            approval,
            capability.token if capability else None,
        )
        payer = Agent(self.payer, OWNER, ROLES, permissions_of(ROLES), is_governed=True)
        asked = GovernedTransfer(order, payment, None, lambda receipt: format_amount(receipt.amount))
        return lambda tx: transfer_governed(tx, payer, asked, self.settings)

    def put(self, policy: SpendPolicy | None) -> UseCase:
        return lambda tx: replace_authz(tx, self.owner, self.payer, NewAuthz(None, policy, sets_policy=True))

    def decide(self, *, is_approved: bool) -> UseCase:
        assert self.approval
        approval = self.approval
        return lambda tx: decide(tx, self.owner, self.payer, approval, is_approved=is_approved)

    def draw(self) -> UseCase:
        named, presenter, whom = self.capability.chain.leaf.id, Presenter(self.payer), Recipient(None, 600)
        return lambda tx: attenuate(tx, named, presenter, NO_NARROWING, whom)

    def revoke(self) -> UseCase:
        return lambda tx: revoke(tx, self.capability.chain.leaf.id, self.payer)


def bounded(**limits: str) -> SpendPolicy:
    none = dict.fromkeys(("per_tx_max", "per_day_max", "allowlist", "approval_over"))
    return SpendPolicy(**{**none, **{name: parse_amount(limit) for name, limit in limits.items()}})


def paid(outcomes: list[Any]) -> int:
    return sum(isinstance(outcome, Answer) for outcome in outcomes)


def names(outcomes: list[Any]) -> set[str]:
    return {type(outcome).__name__ for outcome in outcomes}


@dataclass(frozen=True)
class Meeting:
    """Two or three acts; then whether their outcomes, the payee's receipts and the counts are right."""

    policy: SpendPolicy | None
    sides: Callable[[Scene], list[UseCase]]
    is_right: Callable[[list[Any], str], bool]
    is_approved: bool = False


MEETINGS = {
    "two payments that a day cannot hold: one is refused": Meeting(
        bounded(per_day_max="10"),
        lambda s: [s.pay("6"), s.pay("7")],
        lambda outcomes, got: names(outcomes) == {"Answer", "OverDayLimit"} and got in {"6", "7"},
    ),
    "a payment is judged by the old policy or by the new one": Meeting(
        bounded(per_tx_max="10"),
        lambda s: [s.pay("6"), s.put(bounded(per_tx_max="5"))],
        lambda outcomes, got: names(outcomes) in ({"Answer", "Authz"}, {"OverPaymentLimit", "Authz"}),
    ),
    "a policy that is taken away meets a payment": Meeting(
        bounded(per_tx_max="5"),
        lambda s: [s.pay("6"), s.put(None)],
        lambda outcomes, got: names(outcomes) in ({"Answer", "Authz"}, {"OverPaymentLimit", "Authz"}),
    ),
    "an approval is decided once": Meeting(
        bounded(approval_over="5"),
        lambda s: [s.decide(is_approved=True), s.decide(is_approved=False)],
        lambda outcomes, got: names(outcomes) == {"Approval", "ApprovalDecided"},
    ),
    "an approval pays once": Meeting(
        bounded(approval_over="5"),
        lambda s: [s.pay("6", approval=s.approval), s.pay("6", approval=s.approval)],
        lambda outcomes, got: names(outcomes) == {"Answer", "ApprovalUnusable"} and got == "6",
        is_approved=True,
    ),
    "an approval is used only after it was given": Meeting(
        bounded(approval_over="5"),
        lambda s: [s.pay("6", approval=s.approval), s.decide(is_approved=True)],
        lambda outcomes, got: got == ("6" if paid(outcomes) else "0"),
    ),
    "the same question is asked once": Meeting(
        bounded(approval_over="5"),
        lambda s: [s.pay("8"), s.pay("8")],
        lambda outcomes, got: len({outcome.id for outcome in outcomes}) == 1 and got == "0",
    ),
    "two payments that one budget cannot hold: one is refused": Meeting(
        None,
        lambda s: [s.pay("6", capability=s.capability), s.pay("7", capability=s.capability)],
        lambda outcomes, got: names(outcomes) == {"Answer", "CapabilityBudgetSpent"} and got in {"6", "7"},
    ),
    "what is drawn while the capability is revoked is revoked with it, or never drawn": Meeting(
        None,
        lambda s: [s.draw(), s.revoke()],
        lambda outcomes, got: (
            (names(outcomes), outcomes[1].count)
            in [({"IssuedCapability", "Revoked"}, 2), ({"CapabilityEnded", "Revoked"}, 1)]
        ),
    ),
    "a payment under a capability that is revoked": Meeting(
        None,
        lambda s: [s.pay("6", capability=s.capability), s.revoke()],
        lambda outcomes, got: got == ("6" if paid(outcomes) else "0"),
    ),
    "a policy and a budget both hold": Meeting(
        bounded(per_day_max="9"),
        lambda s: [s.pay("5", capability=s.capability), s.pay("5"), s.put(bounded(per_day_max="5"))],
        lambda outcomes, got: paid(outcomes) == 1 and got == "5",
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        # Each order of each meeting has a payer with a hundred units of its own.
        open_copy(database_farm, tmp_path_factory.mktemp("rights"), genesis_supply="1000000000") as registry,
        directing(registry.database.dsn, 3) as director,
    ):
        yield registry, director


async def set_scene(registry: TestRegistry, meeting: Meeting) -> Scene:
    settings = registry.settings
    payer, payee = [f"did:hansa:hansa.local:{uuid4()}" for _ in range(2)]
    acting = Agent(payer, OWNER, ROLES, permissions_of(ROLES), is_governed=False)
    terms = Terms(("teg.transfer",), None, None, None, None, False, "AVT", parse_amount("10"), None)
    payment = agents.Payment(payee, parse_amount("6"), "AVT", "teg.transfer", "teg.transfer")

    async def set_up(tx: Tx) -> Scene:
        for did in (payer, payee):
            await tx.execute(_OPEN_AGENT, did, OWNER, new_name("agent-"), fingerprint(did), list(ROLES))
            await ledger.open_account(tx, did)
        book = ledger.Book.of(settings)
        await ledger.grant(tx, payee=payer, amount=parse_amount("100"), ref="test grant", book=book)
        capability = await issue(tx, acting, terms, Recipient(None, 600), settings)
        approval = None
        if meeting.policy:
            await put_policy(tx, payer, meeting.policy)
            approval = (await agents.ask_owner(tx, acting, payment)).id
        scene = Scene(settings, payer, payee, approval, capability)
        if meeting.is_approved:
            await scene.decide(is_approved=True)(tx)
        return scene

    return await registry.database.transaction(set_up)


async def received(registry: TestRegistry, scene: Scene) -> str:
    """Return the units of the payee; the policy and the capability must have counted just that."""
    held = (await registry.database.read(lambda tx: ledger.balance_of(tx, scene.payee))).liquid
    spent = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT coalesce(sum(spent), 0)::bigint FROM agents_spending s JOIN agents_agent a ON a.id = s.agent_id"
            " WHERE a.did = $1",
            scene.payer,
        )
    )
    budget = await registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT spent, budget_total FROM agents_capability WHERE id = $1", scene.capability.chain.leaf.id
        )
    )
    assert spent in {0, held}
    assert budget["spent"] in {0, held}
    assert budget["spent"] <= budget["budget_total"]
    return format_amount(held)


@pytest.mark.parametrize("name", MEETINGS)
async def test_in_many_orders_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    registry, director = stage
    meeting = MEETINGS[name]

    async def play(choose: Choose) -> None:
        scene = await set_scene(registry, meeting)
        outcomes = await director.play(meeting.sides(scene), choose)
        got = await received(registry, scene)
        assert meeting.is_right(outcomes, got), (outcomes, got)

    await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await registry.database.read(prove_book)
