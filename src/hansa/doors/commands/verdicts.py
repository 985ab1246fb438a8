"""Options of `hansa verify`, and the printing of its verdicts: one wording for every kind of document."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from hansa.doors.commands.execution import FAILED, USAGE_ERROR, fail, print_outcome

if TYPE_CHECKING:
    from hansa_verify import Step

AsOf = Annotated[
    str | None,
    typer.Option(help="Verify as of this time (ISO 8601), with the key history of the registry."),
]
KeysOfCard = Annotated[
    str | None,
    typer.Option(
        help="Keys of the registry: URL or file. Required if the card is a file; by default the keys of its host."
    ),
]
KeysOfAuditor = Annotated[
    str | None,
    typer.Option(help="Keys of the auditor: URL or file. Required for a file; by default those of the host."),
]


@contextmanager
def readable_sources() -> Iterator[None]:
    """A document or keys that cannot be read are an error of usage."""
    from hansa.doors.verification.cards import CannotRead

    try:
        yield
    except CannotRead as failure:
        fail(str(failure), USAGE_ERROR)


class Judged(Protocol):
    """Members that every verdict has."""

    @property
    def steps(self) -> tuple["Step", ...]: ...

    @property
    def code(self) -> str: ...

    @property
    def is_valid(self) -> bool: ...


def answer(
    verdict: Judged,
    document: dict[str, Any],
    last: Sequence[str],
    *,
    at: datetime | None = None,
    as_json: bool,
) -> NoReturn:
    """Print each step and the closing lines, or the document, and exit with the outcome."""
    code, is_valid = verdict.code, verdict.is_valid
    closing = [*lines(verdict.steps), *last, *said_of_then(code, at, is_valid=is_valid)]
    members = document | members_of_then(code, at, is_valid=is_valid)
    print_outcome("\n".join(closing), members, as_json=as_json)
    sys.exit(0 if is_valid else FAILED)


def said_of_then(code: str, at: datetime | None, *, is_valid: bool) -> list[str]:
    """The last line of a verdict as of a time."""
    return (
        [f"{then['then']} at {then['at']}"] if (then := members_of_then(code, at, is_valid=is_valid)) else []
    )


def members_of_then(code: str, at: datetime | None, *, is_valid: bool) -> dict[str, Any]:
    """The members that a verdict as of a time has for a program."""
    from hansa.doors.verification.cards import then_of

    return {} if at is None else {"at": at.isoformat(), "then": then_of(code, is_valid=is_valid)}


def lines(steps: Sequence["Step"]) -> list[str]:
    return [f"{'ok  ' if step.holds else 'FAIL'} {step.name}: {step.said}" for step in steps]


def moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        timestamp = None
    if timestamp is None or timestamp.tzinfo is None:
        fail(f"--at {text!r} is invalid: expected a time such as 2026-01-31T12:00:00Z.", USAGE_ERROR)
    return timestamp
