"""Acts of the same moment share a transaction; each has its own outcome."""

import asyncio
from collections.abc import Hashable, Sequence

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer, KeyReused, Repeatable
from hansa.foundation.plumbing.web.shared_transactions import SharedTransactions
from hansa.foundation.values.errors import Conflict
from tests.registry import TestRegistry

MOST = 5


class Desk:
    """Answers with the act in capitals. "no" is refused, "later" needs a transaction that it begins, the database takes no "broken"."""

    def __init__(self, registry: TestRegistry) -> None:
        self.transactions: list[list[str]] = []
        self.shared = SharedTransactions[str, int](
            registry.runtime.database, self._carry_out, MOST, names_of=self._names_of
        )

    def _names_of(self, act: str) -> frozenset[Hashable] | None:
        return None if act == "alone" else frozenset({act})

    async def _carry_out(self, tx: Tx, acts: Sequence[str]) -> dict[str, str | int | Exception]:
        self.transactions.append(list(acts))
        if "broken" in acts:
            await tx.execute("SELECT 1 / 0")
        outcomes: dict[str, str | int | Exception] = {}
        for place, act in enumerate(acts):
            if act == "no":
                outcomes[act] = Conflict("No.")
            elif act == "number":
                outcomes[act] = 7
            elif act != "later" or not place:
                outcomes[act] = act.upper()
        return outcomes

    async def all(self, *acts: str, keys: Sequence[str | None] = ()) -> list[object]:
        keys = [*keys, *[None] * (len(acts) - len(keys))]
        requests = [None if key is None else Repeatable("desk", "POST /acts", key, key) for key in keys]
        asked = [self.shared.carry_out(act, request) for act, request in zip(acts, requests, strict=True)]
        return await asyncio.gather(*asked, return_exceptions=True)


@pytest.fixture
def desk(registry: TestRegistry) -> Desk:
    return Desk(registry)


def texts(outcomes: Sequence[object]) -> list[object]:
    return [
        (one.text, one.replayed) if isinstance(one, Answer) else one if isinstance(one, int) else type(one)
        for one in outcomes
    ]


async def test_acts_of_the_same_moment_share_a_transaction_and_a_refusal_is_that_of_its_act(desk: Desk):
    assert texts(await desk.all("a", "no", "number", "b")) == [("A", False), Conflict, 7, ("B", False)]
    assert desk.transactions == [["a", "no", "number", "b"]]


async def test_an_act_that_is_absent_from_the_outcomes_is_carried_out_by_the_next_transaction(desk: Desk):
    assert texts(await desk.all("a", "later")) == [("A", False), ("LATER", False)]
    assert desk.transactions == [["a", "later"], ["later"]]


async def test_two_with_the_same_name_or_key_and_one_that_is_alone_share_no_transaction(desk: Desk):
    assert texts(await desk.all("a", "a", "alone", "b")) == [("A", False)] * 2 + [
        ("ALONE", False),
        ("B", False),
    ]
    assert desk.transactions == [["a"], ["a"], ["alone"], ["b"]]
    assert texts(await desk.all("c", "d", keys=["k", "k"])) == [("C", False), ("C", True)]
    assert desk.transactions[4:] == [["c"]]


async def test_a_repetition_gets_the_first_answer_and_a_refusal_leaves_its_key_free(desk: Desk):
    assert texts(await desk.all("no", "a", keys=["one", "two"])) == [Conflict, ("A", False)]
    assert texts(await desk.all("b", "c", keys=["one", "two"])) == [("B", False), ("A", True)]
    assert desk.transactions == [["no", "a"], ["b"]]
    other = await asyncio.gather(
        desk.shared.carry_out("d", Repeatable("desk", "POST /acts", "two", "another body")),
        desk.shared.carry_out("e", None),
        return_exceptions=True,
    )
    assert texts(other) == [KeyReused, ("E", False)]


async def test_where_the_database_takes_not_all_each_is_carried_out_by_itself(desk: Desk):
    a, broken, b = texts(await desk.all("a", "broken", "b"))
    assert (a, b) == (("A", False), ("B", False))
    assert isinstance(broken, type)
    assert issubclass(broken, Exception)
    assert desk.transactions == [["a", "broken", "b"], ["a"], ["broken"], ["b"]]


async def test_a_transaction_has_as_many_acts_as_it_may(desk: Desk):
    await desk.all(*"abcdefg")
    assert desk.transactions == [list("abcde"), list("fg")]
