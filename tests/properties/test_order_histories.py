"""Histories of orders that are drawn and sent several at once: no unit and no point appears or vanishes, and the journal decides them again."""

import random
from typing import Any

from hansa.rooms import auditor
from tests.exchange import market
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.registry import TestAgent, at_once
from tests.trading import Floor, floor

HISTORIES = by_tier(1, 5, 50)
ROUNDS = by_tier(12, 60, 200)
AT_ONCE = 4
EXPECTED = {200, 201, 402, 404, 409}


class History:
    """Agents that trade at random."""

    def __init__(self, at: Floor, agents: list[TestAgent], rng: random.Random) -> None:
        self.at, self.agents, self.rng = at, agents, rng
        self.orders: list[tuple[TestAgent, Any]] = []

    async def act(self) -> None:
        """One order, or one cancellation, of one agent."""
        if self.orders and self.rng.random() < 0.25:
            agent, order = self.rng.choice(self.orders)
            assert (await self.at.cancel(agent, order)).status_code in {200, 409}
            return
        agent = self.rng.choice(self.agents)
        form = self.rng.random()
        price = None if form < 0.1 else f"{self.rng.randint(150, 250) / 100:.2f}"
        more: dict[str, Any] = {}
        if form > 0.7:
            more = (
                self.rng.choice(
                    (
                        {"time_in_force": "ioc"},
                        {"time_in_force": "fok"},
                        {"post_only": True},
                        {"ttl_seconds": 60},
                    )
                )
                if price
                else {}
            )
        elif form > 0.55 and self.orders:
            more = {"replaces": self.rng.choice(self.orders)[1]["order_id"]}
        side = self.rng.choice(("buy", "sell"))
        made = await self.at.try_order(agent, side, self.rng.randint(1, 8), price, **more)
        assert made.status_code in EXPECTED, made.text
        if made.status_code == 201:
            self.orders.append((agent, made.json()))


async def test_units_and_points_are_conserved_in_every_history(
    database_farm: Any, founded_registries: FoundedRegistries, tmp_path: Any
) -> None:
    seed = printed_seed()
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path)
    registry = await registries.start(
        exchange_enabled=True, rate_limit_reads="off", genesis_grants_per_hour=1000
    )
    for number in part_of(HISTORIES):
        at = await floor(await market(registry), 40)
        history = History(at, await at.parties(4), random.Random(seed + number))
        for _ in range(ROUNDS):
            await at_once(*(history.act() for _ in range(AT_ONCE)))
            if history.rng.random() < 0.2:
                await at.pass_time(61)
            await at.require_sound()
        holders = (await at.public("holders", limit=100))["holders"]
        assert sum(one["qty"] for one in holders) == 40
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.findings["orders_of_points"]) == ("OK", [])
    bid = await at.order((await at.parties(2))[1], "buy", 2, "1")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE exchange_order SET qty = 3, remaining = 3 WHERE id = $1::text::uuid", bid["order_id"]
        )
    )
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert verdict.checks["escrow"] == "BREACH"
    assert bid["order_id"] in verdict.findings["orders_of_points"]
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE exchange_holding SET locked = locked + 1 WHERE ref = $1 AND qty > locked", at.ref
        )
    )
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert verdict.checks["shares"] == "BREACH"
    assert at.ref in {gap.split()[0] for gap in verdict.findings["points"]}
    await registries.end()
