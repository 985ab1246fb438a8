"""The registry and the model are given the same orders and must never differ."""

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.properties.book_under_test import BookUnderTest, Order
from tests.properties.model import Model, plain
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
SUPPLIES = [Decimal(150), Decimal(10) ** 6, 9 * Decimal(10) ** 10]
NOT_AMOUNTS = [
    *(
        "NaN",
        "sNaN",
        "Infinity",
        "-0",
        "0",
        "0.00000000",
        "-1",
        "1e400",
        "1E5",
        "0x10",
        "+5",
        "１２",
        "1_000",
        " 5",
        "5 ",
    ),
    *("5.", ".5", "", "5\n", "1,5", "0.000000001", "10000000000.00000001", "10000000001", "9" * 30, "9" * 60),
    *("1." + "1" * 19, None, True, 5, 5.5, 0, [], ["5"], {}, {"amount": "5"}),
]
EDGES = ["0.00000001", "0.00000099", "0.000001", "0.00000101", "0.000003", "0.1", "100", "10000000000"]


def amounts_up_to(units: int) -> st.SearchStrategy[str]:
    return st.integers(1, units * 10**8).map(lambda minor: plain(Decimal(minor).scaleb(-8)))


AMOUNTS = st.sampled_from(EDGES) | amounts_up_to(1) | amounts_up_to(150) | amounts_up_to(10**10)
KEYS = st.none() | st.sampled_from(["first", "second", "third"])
MESSAGES = st.none() | st.sampled_from(["", "for the translation", "ü" * 256, "m" * 257, "👾" * 256])


class LedgerMachine(RuleBasedStateMachine):
    """One history. The registry is shared by all histories; each begins with an empty book."""

    registry: ClassVar[BookUnderTest]
    agents = Bundle("agents")

    @initialize(target=agents, supply=st.sampled_from(SUPPLIES))
    def initialize_ledger(self, supply: Decimal) -> object:
        self.model = Model(supply)
        self.registry.found(supply)
        self.waiting = list(self.registry.agents)
        self.last_order: tuple[object, ...] | None = None
        opened = [self.next_agent() for _ in range(3)]
        self.both_grant(opened[0], Decimal(100))
        return multiple(*opened)

    @rule(target=agents)
    def open_agent(self) -> object:
        return self.next_agent() if self.waiting else multiple()

    @rule(payee=agents, amount=AMOUNTS)
    def grant(self, payee: str, amount: str) -> None:
        self.both_grant(payee, Decimal(amount))

    @rule(payer=agents, payee=agents, amount=AMOUNTS, message=MESSAGES, key=KEYS)
    def transfer(self, payer: str, payee: str, amount: str, message: str | None, key: str | None) -> None:
        self.both_transfer(payer, payee, amount, message, key)

    @rule(payer=agents, payee=agents, percent=st.integers(1, 110), key=KEYS)
    def transfer_a_share_of_what_is_held(self, payer: str, payee: str, percent: int, key: str | None) -> None:
        share = self.model.agents[payer].balance * percent / 100
        self.both_transfer(payer, payee, plain(share.quantize(Decimal("0.00000001"))), None, key)

    @rule(payer=agents, payee=agents, key=KEYS)
    def transfer_everything_that_the_fee_leaves(self, payer: str, payee: str, key: str | None) -> None:
        everything = self.model.agents[payer].balance / Decimal("1.005")
        self.both_transfer(payer, payee, plain(everything.quantize(Decimal("0.00000001"))), None, key)

    @rule(payer=agents, payee=agents, amount=st.sampled_from(NOT_AMOUNTS), key=KEYS)
    def transfer_what_is_no_amount(self, payer: str, payee: str, amount: object, key: str | None) -> None:
        self.both_transfer(payer, payee, amount, None, key)

    @rule(payer=agents, amount=AMOUNTS, key=KEYS, which=st.sampled_from(["treasury", "fees", "nobody"]))
    def transfer_to_whom_takes_none(self, payer: str, amount: str, key: str | None, which: str) -> None:
        payees = {"treasury": self.registry.treasury, "fees": self.registry.fee_collector, "nobody": NOBODY}
        self.both_transfer(payer, payees[which], amount, None, key)

    @rule(payer=agents, payee=agents, percent=st.integers(50, 90), times=st.integers(2, 5))
    def pass_units_back_and_forth(self, payer: str, payee: str, percent: int, times: int) -> None:
        for _ in range(times):
            self.transfer_a_share_of_what_is_held(payer, payee, percent, None)
            self.transfer_a_share_of_what_is_held(payee, payer, percent, None)

    @rule(orders=st.lists(st.tuples(agents, agents, AMOUNTS, KEYS), min_size=2, max_size=8))
    def transfer_in_one_batch(self, orders: list[Order]) -> None:
        distinct = {
            (payer, key or number): order
            for number, order in enumerate(orders)
            for payer, _, _, key in [order]
        }
        answered = self.registry.transfer_in_one_batch(list(distinct.values()))
        assert answered == [
            self.model.transfer(payer, payee, amount, None, key)
            for payer, payee, amount, key in distinct.values()
        ]

    @rule()
    def say_the_last_order_again(self) -> None:
        if self.last_order is not None:
            self.both_transfer(*self.last_order)

    @rule(amount=AMOUNTS)
    def say_the_last_order_again_with_another_amount(self, amount: str) -> None:
        if self.last_order is not None:
            payer, payee, _, message, key = self.last_order
            self.both_transfer(payer, payee, amount, message, key)

    @rule(agent=agents, suspended=st.sampled_from([False, False, True]))
    def suspend_or_reinstate(self, agent: str, suspended: bool) -> None:
        self.model.suspend(agent, suspended=suspended)
        self.registry.suspend(agent, suspended=suspended)

    @rule(minutes=st.sampled_from([10, 20, 60, 25 * 60, 0]))
    def time_passes_or_the_registry_restarts(self, minutes: int) -> None:
        if minutes == 0:
            self.registry.restart()
        else:
            self.model.elapse(minutes)
            self.registry.elapse(minutes)

    @invariant()
    def everybody_holds_what_the_model_says(self) -> None:
        held = self.registry.balances()
        expected = {did: plain(holder.balance) for did, holder in self.model.agents.items()}
        expected |= dict.fromkeys(self.waiting, "0")
        expected |= {
            self.registry.treasury: plain(self.model.treasury),
            self.registry.fee_collector: plain(self.model.fees),
            self.registry.shortfall: "0",
        }
        assert held == expected

    @invariant()
    def the_book_is_sound(self) -> None:
        self.registry.prove()

    def next_agent(self) -> str:
        did = self.waiting.pop()
        self.model.open(did)
        return did

    def both_grant(self, payee: str, amount: Decimal) -> None:
        assert self.registry.grant(payee, amount) == self.model.grant(payee, amount)

    def both_transfer(
        self, payer: str, payee: str, amount: object, message: str | None, key: str | None
    ) -> None:
        self.last_order = (payer, payee, amount, message, key)
        answered = self.registry.transfer(payer, payee, amount, message, key)
        assert answered == self.model.transfer(payer, payee, amount, message, key)
        assert self.registry.balance(payer) == plain(self.model.agents[payer].balance)


@pytest.fixture
def book_under_test(database_farm: DatabaseFarm, tmp_path: Path) -> Iterator[BookUnderTest]:
    loop = asyncio.new_event_loop()
    book = BookUnderTest(loop, loop.run_until_complete(database_farm.fresh()), tmp_path)
    book.start()
    yield book
    book.stop()
    loop.close()


def test_the_registry_and_the_model_answer_every_history_alike(book_under_test: BookUnderTest) -> None:
    LedgerMachine.registry = book_under_test
    histories, steps = by_tier((15, 30), (2_000, 50), (20_000, 50))
    run_state_machine_as_test(
        seed(printed_seed())(LedgerMachine),
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
