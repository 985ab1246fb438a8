"""A form that is sent twice, by a double click, a reload or the back button, is carried out once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast

import msgspec
from fastapi import Request
from pydantic import BaseModel

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, Repeatable
from hansa.foundation.plumbing.web.sealed_answers import recall_sealed, remember_sealed

from .forms import KEY_FIELD
from .policy import Acting, Visiting

SEALED_FOR = "outcome of a console form"
# The second of two clicks waits for the first: 12 seconds in all.
PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)

Outcome = TypeVar("Outcome", bound=BaseModel)
Result = TypeVar("Result")


class Acts(Protocol):
    """Runner of a use case in one transaction: the database, `AtOneMoment`, or `catalogue.CardWrites`."""

    async def transaction(self, use_case: Callable[[Tx], Awaitable[Result]]) -> Result: ...


class AtOneMoment(msgspec.Struct, frozen=True):
    """Carries out a use case whose statements all see the same moment."""

    database: Database

    async def transaction(self, use_case: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run a use case in one transaction, like `Database.transaction`, with one snapshot."""
        return await self.database.transaction(use_case, one_snapshot=True)


async def act_once(
    request: Request,
    sender: Acting | Visiting,
    model: type[Outcome],
    use_case: Callable[[Tx], Awaitable[Outcome]],
    *,
    database: Acts | None = None,
) -> Outcome:
    """Carry out `use_case` in one transaction, or return its earlier outcome for the same form.

    `database` carries it out where more than the database is needed, as for changes of cards.

    The outcome is kept for a day, sealed under the key of the form: secrets that are shown once can be shown again to
    the sender of the same form, and cannot be read from the database.

    Raises: KeyReused when the form was changed after it was sent, KeyInProgress, and the errors of the use case.
    """
    outcome = await try_once(request, sender, model, use_case, database=database)
    assert outcome is not None
    return outcome


async def try_once(
    request: Request,
    sender: Acting | Visiting,
    model: type[Outcome],
    use_case: Callable[[Tx], Awaitable[Outcome | None]],
    *,
    database: Acts | None = None,
) -> Outcome | None:
    """Carry out, like `act_once`, a use case that may fail and commit, as a wrong code does: it returns None, which is not kept."""
    runtime = runtime_of(request)
    repeatable = Repeatable(
        f"browser:{sender.person.developer.id}" if isinstance(sender, Acting) else "browser",
        request.url.path,
        sender.key,
        [pair for pair in sender.form.kept if pair[0] != KEY_FIELD],
    )

    async def recalled_or_done(tx: Tx) -> Outcome | None:
        if (known := await recall_sealed(tx, repeatable, runtime.seal, SEALED_FOR)) is not None:
            return model.model_validate_json(known)
        outcome = await use_case(tx)
        if outcome is not None:
            await remember_sealed(tx, repeatable, runtime.seal, outcome.model_dump_json(), SEALED_FOR)
        return outcome

    acts = database or runtime.database
    for pause in PAUSES_SECONDS:
        try:
            return await acts.transaction(recalled_or_done)
        except KeyInProgress:
            await asyncio.sleep(pause)
    return await acts.transaction(recalled_or_done)


class _TakenBack(Exception):
    """Ends the transaction of a preview; it carries the outcome."""

    def __init__(self, outcome: object) -> None:
        super().__init__()
        self.outcome = outcome


async def tried(db: Database, act: Callable[[Tx], Awaitable[Result]]) -> Result:
    """The outcome of an act in a transaction that is taken back: the preview of the act. Raises: the errors of the act."""

    async def taken_back(tx: Tx) -> None:
        raise _TakenBack(await act(tx))

    try:
        await db.transaction(taken_back)
    except _TakenBack as ended:
        return cast("Result", ended.outcome)
    raise AssertionError("a preview is kept")
