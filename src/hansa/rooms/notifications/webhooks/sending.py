"""Sending deliveries: claim one, call its receiver, write how that ended. Three steps, of which the call is alone.

Whoever sends, in whichever process, holds the webhook's lease meanwhile. A process that dies leaves it to end.
"""

import asyncio
import random
from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

import structlog

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import webhook_tries_total
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.seal import BadSeal, Seal
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import people

from . import rules, store
from .deliveries import enqueue_webhook
from .mails import webhook_stopped
from .records import Errand
from .rules import Outcome
from .signature import signed_headers
from .subscribing import purpose_of

SENT_AT_ONCE = 16
LOOK_AGAIN_SECONDS = 1.0
RECORDING_SECONDS = 1.0
LIMITS = CallLimits(seconds=5.0, body_bytes=0)

UnderWay: TypeAlias = dict["asyncio.Task[None]", str]
"""The calls of this process, each with the place that it goes to."""

_log = structlog.get_logger()


async def send_due(runtime: Runtime) -> int:
    """Send until nothing is due and nothing under way, several at once, one to a host; returns how many attempts were made."""
    under_way: UnderWay = {}
    count = 0
    # Nothing is written while there is nothing to do.
    if not await runtime.database.look(store.is_due):
        return count
    try:
        while True:
            errand = await _next_errand(runtime, under_way)
            if errand:
                count += 1
                under_way[asyncio.create_task(send(runtime, errand))] = errand.place
            elif under_way:
                await asyncio.wait(under_way, timeout=LOOK_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            else:
                return count
            _forget_ended(under_way)
    finally:
        await _let_end(under_way)


async def _next_errand(runtime: Runtime, under_way: UnderWay) -> Errand | None:
    busy = list(under_way.values())
    return await runtime.database.act(lambda tx: claim(tx, busy)) if len(busy) < SENT_AT_ONCE else None


def _forget_ended(under_way: UnderWay) -> None:
    for task in [task for task in under_way if task.done()]:
        del under_way[task]
        # What it was about will be sent again when its lease ends; the others go on.
        trouble = task.exception()
        if isinstance(trouble, Unavailable):
            _log.warning("the result of a delivery was not written", reason=trouble.detail)
        elif trouble:
            _log.error("delivery failed with an internal error", exc_info=trouble)


async def _let_end(under_way: UnderWay) -> None:
    """What is broken off would be sent twice."""
    if under_way:
        await asyncio.wait(under_way, timeout=LIMITS.seconds + RECORDING_SECONDS)
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


async def claim(tx: Tx, busy_places: Sequence[str]) -> Errand | None:
    """The next delivery to send, with its webhook leased; None when nothing is due but for busy hosts."""
    while lease := await store.claim(tx, busy_places):
        errand = await store.errand_of(tx, lease.webhook_id)
        if errand:
            return errand
        # Its queue was emptied, or put off, since it was found to be due.
        locked = await store.lock_for_outcome(tx, lease.webhook_id)
        assert locked is not None
        await store.release(tx, lease.webhook_id, consecutive_failures=locked.consecutive_failures)
    return None


async def send(runtime: Runtime, errand: Errand) -> None:
    """Call the receiver once and write how it ended."""
    outcome = await _call(runtime, errand)
    webhook_tries_total.labels("taken" if outcome.is_taken else "failed").inc()
    stopped = await runtime.database.act(lambda tx: record(tx, runtime.seal, errand, outcome))
    if stopped:
        _log.info("webhook stopped", webhook=errand.webhook_id, by=stopped)


async def record(tx: Tx, seal: Seal, errand: Errand, outcome: Outcome) -> rules.StoppedBy | None:
    """Write how a try ended, and give up the lease; returns what has stopped the webhook, if that did."""
    webhook = await store.lock_for_outcome(tx, errand.webhook_id)
    if webhook is None:
        return None
    holds_lease = webhook.lease == errand.lease
    if outcome.is_taken:
        await store.end_attempt(tx, errand.delivery_id, "delivered", response_status=outcome.status)
        if holds_lease:
            await store.release(tx, errand.webhook_id, consecutive_failures=0)
        return None
    if not holds_lease:
        # Another process has sent it since; how that ended counts.
        return None
    attempts, failures = errand.attempts + 1, webhook.consecutive_failures + 1
    pause = rules.pause_after(errand.event_type, attempts, random.uniform(-1, 1))  # noqa: S311
    await store.end_attempt(
        tx,
        errand.delivery_id,
        "failed" if pause is None else "pending",
        response_status=outcome.status,
        error=outcome.error,
        pause_seconds=pause,
    )
    stopped = rules.stopped_by(outcome, failures) if webhook.is_active else None
    await store.release(
        tx,
        errand.webhook_id,
        consecutive_failures=failures,
        stopped_by=stopped,
        pause_seconds=rules.webhook_pause_after(failures),
    )
    if stopped:
        payload = {"webhook_id": errand.webhook_id, "stopped_by": stopped, "consecutive_failures": failures}
        await enqueue_webhook(tx, webhook.developer_id, rules.WebhookEvent.RETRY_EXHAUSTED, payload)
        await people.notify(
            tx, seal, webhook.developer_id, partial(webhook_stopped, errand=errand, stopped=stopped)
        )
    return stopped


async def _call(runtime: Runtime, errand: Errand) -> Outcome:
    body = errand.payload.encode()
    try:
        purpose = purpose_of(errand.webhook_id)
        keys = [runtime.seal.open(sealed, purpose).decode() for sealed in errand.sealed_secrets]
    except BadSeal:
        _log.error("webhook secret cannot be decrypted", webhook=errand.webhook_id)
        return Outcome(None, "secret_unreadable")
    headers = {
        "Content-Type": "application/json",
        **signed_headers(errand.delivery_id, errand.moment, body, keys),
    }
    try:
        answer = await runtime.outgoing.post(errand.url, body, headers=headers, limits=LIMITS)
    except OutgoingTrouble as trouble:
        return Outcome(None, trouble.reason)
    return Outcome(answer.status)
