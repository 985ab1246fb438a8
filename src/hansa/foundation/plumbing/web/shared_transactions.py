"""Acts that come to a process at the same moment share a transaction, each under its Idempotency-Key if it has one.

- Acts keep their order of arrival. Two with the same key or the same name never share a transaction: the second gets the answer of
  the first, or its refusal.
- An act that is refused leaves nothing, and does not keep the others from being carried out.
- Where the database does not take a transaction of several, each is carried out by itself, which gives the reason.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec

from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable, Transactions
from hansa.foundation.values.errors import Unavailable

Act = TypeVar("Act", bound=Hashable)
Other = TypeVar("Other")


class _Asked(msgspec.Struct, Generic[Act], frozen=True, eq=False):
    act: Act
    request: Repeatable | None


CarryOut: TypeAlias = Callable[[Tx, Sequence[Act]], Awaitable[Mapping[Act, str | Other | Exception]]]
"""Carries out acts in their order. The text of an answer is kept under the key of its act; another outcome, such as a refusal, is not.

Absent acts are carried out by another transaction; one at least is present.
"""


class SharedTransactions(Generic[Act, Other]):
    """The acts of one process that share transactions of up to `most` acts.

    `names_of` are names that no other act of a transaction has, None for an act that has its transaction to itself. A transaction begins at
    least `pause_seconds` after the one before.
    """

    def __init__(
        self,
        database: Transactions,
        carry_out: CarryOut[Act, Other],
        most: int,
        *,
        names_of: Callable[[Act], frozenset[Hashable] | None] = lambda _: frozenset(),
        pause_seconds: float = 0.0,
    ) -> None:
        self._database, self._carry_out = database, carry_out
        self._most, self._names_of = most, names_of
        self._gathered = BatchLoader["_Asked[Act]", "Answer | Other | Exception"](self._load, pause_seconds)

    async def carry_out(self, act: Act, request: Repeatable | None) -> "Answer | Other":
        """Carry out an act; durable when this returns. Raises: the refusal of the act, KeyReused, KeyInProgress, Unavailable."""
        outcome = await self._gathered.find(_Asked(act, request))
        assert outcome is not None, "every act has an outcome"
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _load(self, asked: "Sequence[_Asked[Act]]") -> "dict[_Asked[Act], Answer | Other | Exception]":
        outcomes: dict[_Asked[Act], Answer | Other | Exception] = {}
        left = list(asked)
        while left:
            try:
                outcomes |= await self._in_one_transaction(self._together(left))
            except Unavailable as error:
                # Others of these may be durable already.
                return outcomes | dict.fromkeys(left, error)
            left = [one for one in left if one not in outcomes]
        return outcomes

    def _together(self, asked: "Sequence[_Asked[Act]]") -> "list[_Asked[Act]]":
        """The first acts that may share a transaction."""
        together: list[_Asked[Act]] = []
        taken: set[Hashable] = set()
        for one in asked[: self._most]:
            names = self._names_of(one.act)
            own = set(names or ()) | ({one.request.scope} if one.request else set())
            if together and (names is None or taken & own):
                break
            together.append(one)
            taken |= own
            if names is None:
                break
        return together

    async def _in_one_transaction(
        self, asked: "Sequence[_Asked[Act]]"
    ) -> "dict[_Asked[Act], Answer | Other | Exception]":
        try:
            return await self._database.transaction(lambda tx: self._answered(tx, asked))
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001
            if len(asked) == 1:
                return {asked[0]: error}
        outcomes: dict[_Asked[Act], Answer | Other | Exception] = {}
        for one in asked:
            outcomes |= await self._in_one_transaction([one])
        return outcomes

    async def _answered(
        self, tx: Tx, asked: "Sequence[_Asked[Act]]"
    ) -> "dict[_Asked[Act], Answer | Other | Exception]":
        keyed = [(one, one.request) for one in asked if one.request is not None]
        known = await idempotency.recall_each(tx, [request for _, request in keyed]) if keyed else []
        outcomes: dict[_Asked[Act], Answer | Other | Exception] = {
            one: Answer(found, replayed=True) if isinstance(found, str) else found
            for (one, _), found in zip(keyed, known, strict=True)
            if found is not None
        }
        fresh = [one for one in asked if one not in outcomes]
        if not fresh:
            return outcomes
        made = await self._carry_out(tx, [one.act for one in fresh])
        kept = []
        for one in fresh:
            if one.act not in made:
                continue
            outcome = made[one.act]
            outcomes[one] = Answer(outcome, replayed=False) if isinstance(outcome, str) else outcome
            if isinstance(outcome, str) and one.request is not None:
                kept.append((one.request, outcome))
        if kept:
            await idempotency.remember_each(tx, kept)
        return outcomes
