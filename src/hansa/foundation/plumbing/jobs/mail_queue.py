"""The mail queue: each mail is a row, sent by a job of its own.

- A mail is written in the transaction of its cause: it is neither lost nor sent for an act that was undone.
- It is sent in the background, at least once, and retried at growing intervals until it is of no use.
- Its content is sealed while it waits: it may hold a link that opens an account.
"""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import GiveUp, Job, LeasedKind, PutOff, Question, Retries, enqueue
from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.job_health import Waiting
from hansa.foundation.plumbing.telemetry.metrics import begin, mails_total

SENT_AT_ONCE = 5
SEND_SECONDS = 30
RETRIES = Retries(attempts_max=None, pause_seconds=60, pause_max_seconds=3600)
PURPOSE = "letter"
SEALED_MAILS = SealedColumn("plumbing_letter", "id", "sealed_content", lambda _: PURPOSE)
KIND = "mail"

_ADD = """
INSERT INTO plumbing_letter (recipient, sealed_content, good_until, job_id, next_try_at)
VALUES ($1, $2, now() + $3::interval, $4, 'infinity')
"""

# An older version that runs beside this one sends the mails that it wrote; what is due for it may be taken over.
_WITHOUT_JOB = "SELECT id FROM plumbing_letter WHERE job_id IS NULL AND next_try_at <= now()"

HAS_MAIL_WITHOUT_JOB = Question(f"SELECT EXISTS ({_WITHOUT_JOB})")
"""Whether a process of an older version left mail that is due."""

_log = structlog.get_logger()
begin(mails_total, ("sent", "put off", "given up"))


@dataclass(frozen=True)
class OutgoingMail:
    """A mail in plain text; `good_for` is how long it makes sense to deliver it."""

    to: str
    subject: str
    text: str = field(repr=False)
    good_for: timedelta


class _Mail(msgspec.Struct, frozen=True):
    recipient: str
    sealed_content: bytes
    is_stale: bool


async def enqueue_mail(tx: Tx, seal: Seal, outgoing: OutgoingMail) -> None:
    """Send the mail when `tx` has committed."""
    content = json.dumps({"subject": outgoing.subject, "text": outgoing.text})
    job_id = await enqueue(tx, KIND, uuid4().hex)
    await tx.execute(_ADD, outgoing.to, seal.close(content.encode(), PURPOSE), outgoing.good_for, job_id)


async def delete_mails_to(tx: Tx, recipient: str) -> None:
    """Delete the mail that waits for this address."""
    await tx.execute(
        "DELETE FROM plumbing_job WHERE id IN (SELECT job_id FROM plumbing_letter WHERE lower(recipient) = lower($1))",
        recipient,
    )
    await tx.execute("DELETE FROM plumbing_letter WHERE lower(recipient) = lower($1)", recipient)


async def waiting_mail(tx: Tx) -> Waiting:
    """The mail that the mail server has not accepted yet."""
    row = await tx.fetchrow(
        "SELECT count(*) AS count, extract(epoch FROM now() - min(written_at))::float8 AS oldest_seconds"
        " FROM plumbing_letter l LEFT JOIN plumbing_job j ON j.id = l.job_id WHERE j.state IS DISTINCT FROM 'dead'"
    )
    assert row is not None
    return Waiting(**row)


async def delete_all_mails(tx: Tx) -> int:
    """Delete every e-mail that waits; returns how many there were."""
    deleted = await tx.execute("DELETE FROM plumbing_letter")
    await tx.execute("DELETE FROM plumbing_job WHERE kind = $1", KIND)
    return int(deleted.removeprefix("DELETE "))


async def enqueue_mails_without_job(tx: Tx) -> None:
    """Take over the mail that a process of an older version wrote."""
    for row in await tx.fetch(f"{_WITHOUT_JOB} FOR UPDATE SKIP LOCKED"):
        job_id = await enqueue(tx, KIND, uuid4().hex)
        await tx.execute(
            "UPDATE plumbing_letter SET job_id = $2, next_try_at = 'infinity' WHERE id = $1",
            row["id"],
            job_id,
        )


async def _send_mail(runtime: Runtime, job: Job) -> None:
    mail = await runtime.database.query(lambda tx: _find(tx, job.id))
    if mail is None:
        return
    if mail.is_stale:
        _give_up(job, "the mail server did not take it in time")
        return
    try:
        await _send(runtime, mail)
    except BadSeal as error:
        _give_up(job, str(error))
        raise GiveUp(str(error)) from error
    except Exception as error:
        # Whatever the mail client raises is an attempt that failed.
        mails_total.labels("put off").inc()
        _log.warning(
            "e-mail not accepted, will retry", job=job.id, tries=job.attempts, trouble=_error_name(error)
        )
        raise PutOff(_error_name(error)) from error
    mails_total.labels("sent").inc()


async def _find(tx: Tx, job_id: int) -> _Mail | None:
    row = await tx.fetchrow(
        "SELECT recipient, sealed_content, good_until <= now() AS is_stale FROM plumbing_letter WHERE job_id = $1",
        job_id,
    )
    return None if row is None else _Mail(**row)


async def _send(runtime: Runtime, mail: _Mail) -> None:
    content = json.loads(runtime.seal.open(mail.sealed_content, PURPOSE))
    async with asyncio.timeout(SEND_SECONDS):
        await runtime.mail.send(to=mail.recipient, subject=content["subject"], text=content["text"])


def _give_up(job: Job, reason: str) -> None:
    mails_total.labels("given up").inc()
    _log.error("e-mail dropped, all attempts failed", job=job.id, tries=job.attempts, reason=reason)


def _error_name(error: Exception) -> str:
    """Return the name of an error for the operator; the messages of servers may repeat the address."""
    code = getattr(error, "code", None)
    return f"{type(error).__name__} {code}" if isinstance(code, int) else type(error).__name__


MAIL = LeasedKind(KIND, _send_mail, at_once=SENT_AT_ONCE, retries=RETRIES, is_droppable=True)
"""The jobs that send mail; a mail that was sent, or has become useless, is deleted with its job."""
