"""A slash across registries of different currencies: amounts are in the defendant's unit, the pool's rate compensates (6 W 19)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from tests.conversations.test_slash_settlements import Court
from tests.neighbours.crossing_scene import across, refusal, run
from tests.neighbours.pool_scene import Currencies, currencies
from tests.registry import DatabaseFarm, TestAgent

UNIT = 10**8


@dataclass(frozen=True)
class Scene:
    """ARA is the currency of `a`, where disputes are ruled, BOB that of `b`, where the defendant is."""

    money: Currencies
    court: Court

    async def parties(self) -> tuple[TestAgent, TestAgent, str]:
        """A payer at `a` of 20 ARA, the agent at `b` that received BOB for it, and the transaction."""
        alice, bob = await self.money.a.registry.agent(), await self.money.b.registry.agent()
        assert (await across(alice, bob.did, "20")).status_code == 200
        await self.money.settle()
        lines = await alice.registry.get("/teg/transactions", headers=alice.headers)
        return alice, bob, lines.json()["items"][0]["transaction_id"]

    async def worth(self, bob: str) -> Fraction:
        """So many BOB in ARA, at the reserves of now."""
        own, foreign = await self.money.reserves()
        return Fraction(bob) * Fraction(own) / Fraction(foreign)

    async def filed(self, alice: TestAgent, bob: TestAgent, tx_id: str) -> int:
        body = {
            "defendant_did": bob.did,
            "reason_code": "POOR_QUALITY",
            "description": "No.",
            "transaction_id": tx_id,
        }
        filed = await alice.registry.post("/disputes/", json=body, headers=alice.headers)
        assert filed.status_code == 201, filed.text
        dispute: int = filed.json()["id"]
        return dispute

    async def settled(self, opened: dict[str, Any]) -> dict[str, Any]:
        await self.court.what_is_due_happens()
        held = await self.court.incoming(opened)
        assert (await self.court.decide(held, "approve")).status_code == 200
        await self.court.what_is_due_happens(self.money.b)
        return await self.court.outgoing(opened)


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with currencies(database_farm, tmp_path_factory.mktemp("slashes")) as money:
        await money.open_pool("10000", "20000")
        one, other = [await each.registry.administrator("admin_enforcement") for each in (money.a, money.b)]
        yield Scene(money, Court(money.pair, one, other))
        await money.prove()


def shown(amount: Fraction) -> str:
    minor = amount * UNIT // 1
    return f"{minor // UNIT}.{minor % UNIT:08d}".rstrip("0").rstrip(".")


async def test_the_compensation_is_at_most_what_the_slash_is_worth_at_the_pools_rate_of_the_ruling(
    scene: Scene,
):
    alice, bob, tx_id = await scene.parties()
    value, held = await scene.worth("10"), Fraction(await bob.balance())
    dispute = await scene.filed(alice, bob, tx_id)
    answer = await scene.court.rule(dispute, "10", shown(value + Fraction(1, UNIT)))
    assert await refusal(answer) == (422, "RULING_INVALID")
    assert shown(value) in answer.json()["error"]["detail"]
    ruled = await scene.court.rule_again(dispute, "10", shown(value))
    assert ruled.status_code == 200, ruled.text
    (opened,) = [one for one in await scene.court.list(scene.money.a) if one["dispute_id"] == dispute]
    assert (opened["amount"], opened["status"]) == ("10", "PENDING_SLASH")
    # The price moves before the peer confirms: the rate is that of the ruling.
    await scene.parties()
    settled = await scene.settled(opened)
    assert (settled["status"], settled["slashed_amount"]) == ("SETTLED", "10")
    assert settled["compensated_amount"] == shown(value)
    assert await alice.balance() == shown(80 + Fraction(shown(value)))
    assert Fraction(await bob.balance()) == held - 10


async def test_a_slash_that_destroys_less_compensates_by_what_it_destroyed_rounded_down(scene: Scene):
    alice, bob, tx_id = await scene.parties()
    carol = await scene.money.b.registry.agent()
    left = Fraction("3.1")
    assert (await bob.transfer(carol, shown(Fraction(await bob.balance()) - left - 1))).status_code == 200
    remaining = await bob.balance()
    value = await scene.worth(remaining)
    opened = await scene.court.ruled(alice, bob, tx_id, slash="10", compensation="5")
    settled = await scene.settled(opened)
    assert (settled["slashed_amount"], settled["compensated_amount"]) == (remaining, shown(value))


async def test_the_slash_is_bound_by_what_the_payment_is_worth_in_the_defendants_unit(scene: Scene):
    alice, bob, tx_id = await scene.parties()
    per_bob = await scene.worth("1")
    too_much = shown(20 / per_bob + Fraction(1, 1000))
    dispute = await scene.filed(alice, bob, tx_id)
    assert await refusal(await scene.court.rule(dispute, too_much, "0")) == (422, "RULING_INVALID")
    within = await scene.court.rule_again(dispute, shown(20 / per_bob - Fraction(1, 1000)), "0")
    assert within.status_code == 200, within.text


async def test_without_a_price_of_the_pool_nothing_is_compensated(scene: Scene):
    alice, bob, tx_id = await scene.parties()
    await run(scene.money.a, "UPDATE transfers_pool SET mode = 'fixed', rate = NULL")
    try:
        dispute = await scene.filed(alice, bob, tx_id)
        answer = await scene.court.rule(dispute, "10", "1")
        assert await refusal(answer) == (422, "RULING_INVALID")
        assert "no pool with it states a rate" in answer.json()["error"]["detail"]
        assert (await scene.court.rule_again(dispute, "10", "0")).status_code == 200
    finally:
        await run(scene.money.a, "UPDATE transfers_pool SET mode = 'pool'")


async def test_where_the_complainant_paid_by_a_swap_a_slash_within_the_bounds_is_approved_by_itself(
    scene: Scene,
):
    await scene.court.slashes_at(scene.money.b, enabled=True, most=10)
    opened = await scene.court.ruled(*await scene.court.payer_of_a_call(), slash="2")
    await scene.court.what_is_due_happens()
    assert (await scene.court.incoming(opened))["auto_approved"] is True
    assert (await scene.court.outgoing(opened))["status"] == "SETTLED"
