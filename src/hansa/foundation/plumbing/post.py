"""Letters on their way to the mail server.

- A letter is written in the transaction of the act that it tells of, so it is neither lost nor sent for nothing.
- It is handed over in the background: at least once, again and again at growing intervals, until it is of no use.
- What it says is sealed while it waits: it may hold a link that opens an account.
"""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import timedelta
from operator import itemgetter

import structlog

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.job_health import Waiting
from hansa.foundation.plumbing.metrics import letters_total
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.seal import BadSeal, Seal

TAKEN_AT_ONCE = 5
# Below the shortest interval: a letter under way is nobody else's.
HAND_OVER_SECONDS = 30
INTERVAL_MIN = timedelta(minutes=1)
INTERVAL_MAX = timedelta(hours=1)
PURPOSE = "letter"

_log = structlog.get_logger()


@dataclass(frozen=True)
class Letter:
    """A mail in plain text; `good_for` is how long it makes sense to deliver it."""

    to: str
    subject: str
    text: str = field(repr=False)
    good_for: timedelta


@dataclass(frozen=True)
class _Due:
    id: int
    recipient: str
    sealed_content: bytes
    tries: int
    is_stale: bool


async def write_letter(tx: Tx, seal: Seal, letter: Letter) -> None:
    """Put the letter among those to be handed over."""
    content = json.dumps({"subject": letter.subject, "text": letter.text})
    await tx.execute(
        "INSERT INTO plumbing_letter (recipient, sealed_content, good_until) VALUES ($1, $2, now() + $3::interval)",
        letter.to,
        seal.close(content.encode(), PURPOSE),
        letter.good_for,
    )


async def forget_letters(tx: Tx, recipient: str) -> None:
    """Let nothing reach this address any more."""
    await tx.execute("DELETE FROM plumbing_letter WHERE lower(recipient) = lower($1)", recipient)


async def waiting_mail(tx: Tx) -> Waiting:
    """The mail that the mail server has not taken yet."""
    row = await tx.fetchrow(
        "SELECT count(*) AS count, extract(epoch FROM now() - min(written_at))::float8 AS oldest_seconds"
        " FROM plumbing_letter"
    )
    assert row is not None
    return Waiting(**row)


async def forget_all_letters(tx: Tx) -> int:
    """Delete every e-mail that waits; returns how many there were."""
    return int((await tx.execute("DELETE FROM plumbing_letter")).removeprefix("DELETE "))


async def hand_over(runtime: Runtime) -> None:
    """Hand the letters that are due to the mail server."""
    while due := await runtime.database.act(_claim):
        await asyncio.gather(*(_settle(runtime, letter) for letter in due))


async def _claim(tx: Tx) -> list[_Due]:
    """Letters that are due, and due again only after an interval; two processes never get the same."""
    rows = await tx.fetch(
        "UPDATE plumbing_letter SET tries = tries + 1, next_try_at = now() + least($2::interval * 2 ^ least(tries, 10), $3::interval)"
        " WHERE id IN (SELECT id FROM plumbing_letter WHERE next_try_at <= now()"
        " ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED)"
        " RETURNING id, recipient, sealed_content, tries, good_until <= now() AS is_stale",
        TAKEN_AT_ONCE,
        INTERVAL_MIN,
        INTERVAL_MAX,
    )
    return [_Due(**row) for row in sorted(rows, key=itemgetter("id"))]


async def _settle(runtime: Runtime, letter: _Due) -> None:
    if letter.is_stale:
        _give_up(letter, "the mail server did not take it in time")
    else:
        try:
            await _send(runtime, letter)
        except BadSeal as trouble:
            _give_up(letter, str(trouble))
        except Exception as trouble:  # noqa: BLE001
            # Whatever the mail client raises is a try that failed: the mail waits for the next one.
            letters_total.labels("put off").inc()
            _log.warning("letter not taken", letter=letter.id, tries=letter.tries, trouble=_told(trouble))
            return
        else:
            letters_total.labels("sent").inc()
    await runtime.database.act(lambda tx: _forget(tx, letter.id))


async def _send(runtime: Runtime, letter: _Due) -> None:
    content = json.loads(runtime.seal.open(letter.sealed_content, PURPOSE))
    async with asyncio.timeout(HAND_OVER_SECONDS):
        await runtime.mail.send(to=letter.recipient, subject=content["subject"], text=content["text"])


def _give_up(letter: _Due, reason: str) -> None:
    letters_total.labels("given up").inc()
    _log.error("letter given up", letter=letter.id, tries=letter.tries, reason=reason)


def _told(trouble: Exception) -> str:
    """What an operator needs to know; what servers say may repeat the address."""
    code = getattr(trouble, "code", None)
    return f"{type(trouble).__name__} {code}" if isinstance(code, int) else type(trouble).__name__


async def _forget(tx: Tx, letter_id: int) -> None:
    await tx.execute("DELETE FROM plumbing_letter WHERE id = $1", letter_id)
