"""Acts that come to a process at one listing while a transaction of it is under way are the next transaction.

- Acts keep their order of arrival. Two with the same key, or the same client_order_id, never share a transaction.
- An act whose payment is governed is a transaction by itself.
"""

from collections.abc import Sequence
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import agents

from .acting import carry_out
from .judging import Act, PlaceOrder
from .records import ShownOrder
from .schemas import OrderOut

TOGETHER_MAX = 50
PAUSE_SECONDS = 0.01
"""From the beginning of a transaction at a listing to that of the next: most of its cost is the same for one act and for ten."""


class Asked(msgspec.Struct, frozen=True, eq=False):
    """An act, and the request that asks for it, where it has a key."""

    act: Act
    request: Repeatable | None = None

    @property
    def is_alone(self) -> bool:
        """Return whether it shares its transaction with no other act."""
        return isinstance(self.act, PlaceOrder) and not self.act.is_plain

    @property
    def names(self) -> set[object]:
        """Names that no other act of its transaction has."""
        names: set[object] = set() if self.request is None else {self.request.scope}
        if isinstance(self.act, PlaceOrder) and self.act.new.client_order_id is not None:
            names.add((self.act.agent.did, self.act.new.client_order_id))
        return names


class Answer(msgspec.Struct, frozen=True):
    """The order as it goes out, and whether it is a repetition."""

    text: str
    replayed: bool


Answered: TypeAlias = Answer | agents.Approval | Exception
"""An error is that of one act: others of its transaction may be durable already."""


class Acts:
    """The acts of one process at listings, which share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # A gathering lives as long as somebody waits for it: references of listings that there are not are not kept.
        self._gatherings: WeakValueDictionary[str, BatchLoader[Asked, Answered]] = WeakValueDictionary()

    async def carry_out(self, ref: str, act: Act, request: Repeatable | None) -> Answer | agents.Approval:
        """Carry out an act; durable when this returns. Raises: the refusals of `acting.carry_out`, KeyReused, KeyInProgress, Unavailable."""
        gathering = self._gatherings.get(ref)
        if gathering is None:

            async def load(asked: Sequence[Asked]) -> dict[Asked, Answered]:
                return await self._answered(ref, asked)

            gathering = self._gatherings[ref] = BatchLoader[Asked, Answered](load, PAUSE_SECONDS)
        answer = await gathering.find(Asked(act, request))
        assert answer is not None, "every act is answered"
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _answered(self, ref: str, asked: Sequence[Asked]) -> dict[Asked, Answered]:
        answers: dict[Asked, Answered] = {}
        left = list(asked)
        while left:
            try:
                answers |= await self._in_one_transaction(ref, _together(left))
            except Unavailable as error:
                return answers | dict.fromkeys(left, error)
            left = [one for one in left if one not in answers]
        return answers

    async def _in_one_transaction(self, ref: str, asked: Sequence[Asked]) -> dict[Asked, Answered]:
        settings = self._runtime.settings

        async def answered(tx: Tx) -> dict[Asked, Answered]:
            answers = await _recalled(tx, asked)
            fresh = [one for one in asked if one not in answers]
            if not fresh:
                return answers
            outcomes = await carry_out(tx, ref, [one.act for one in fresh], settings)
            made = {one: _answer(outcome) for one in fresh if (outcome := outcomes.get(one.act)) is not None}
            kept = [
                (one.request, answer.text)
                for one, answer in made.items()
                if one.request is not None and isinstance(answer, Answer)
            ]
            if kept:
                await idempotency.remember_each(tx, kept)
            return answers | made

        try:
            return await self._runtime.database.transaction(answered)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001
            if len(asked) == 1:
                return {asked[0]: error}
        # One of them is not what the database takes: each is carried out by itself.
        answers: dict[Asked, Answered] = {}
        for one in asked:
            answers |= await self._in_one_transaction(ref, [one])
        return answers


ACTS: Slot[Acts] = Slot("exchange: acts that share transactions", build=Acts)


def _together(asked: Sequence[Asked]) -> list[Asked]:
    """The first acts that may share a transaction."""
    together: list[Asked] = []
    names: set[object] = set()
    for one in asked[:TOGETHER_MAX]:
        if together and (one.is_alone or names & one.names):
            break
        together.append(one)
        names |= one.names
        if one.is_alone:
            break
    return together


async def _recalled(tx: Tx, asked: Sequence[Asked]) -> dict[Asked, Answered]:
    """The answers to repetitions, and the refusals of acts that cannot be carried out now."""
    keyed = [(one, one.request) for one in asked if one.request is not None]
    if not keyed:
        return {}
    known = await idempotency.recall_each(tx, [request for _, request in keyed])
    return {
        one: Answer(answer, replayed=True) if isinstance(answer, str) else answer
        for (one, _), answer in zip(keyed, known, strict=True)
        if answer is not None
    }


def _answer(outcome: ShownOrder | agents.Approval | Refused) -> Answered:
    if isinstance(outcome, ShownOrder):
        return Answer(OrderOut.of(outcome).model_dump_json(), replayed=False)
    return outcome
