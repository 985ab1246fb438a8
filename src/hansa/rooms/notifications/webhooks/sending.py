"""Sending deliveries: look which is next, call its receiver, write how that ended. No transaction is open during the call.

The process that sends holds the lease of the webhook's job meanwhile. A process that dies leaves it to end.

The mail to an owner whose webhook was stopped.
"""

import random
from contextlib import suppress
from datetime import timedelta
from functools import partial

import structlog

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind
from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.outgoing import CallLimits, NamedBy, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, webhook_tries_total
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import agents, operations, people
from hansa.rooms.people import NOTICE_DAYS

from . import rules, store
from .deliveries import enqueue_webhook
from .queue import KIND, conclude
from .records import Locked, PendingDelivery
from .rules import FAILURES_UNTIL_STOPPED, Outcome, StoppedBy
from .subscribing import purpose_of, signed_headers

SENT_AT_ONCE = 16
AGENTS_NOTED = 100
LIMITS = CallLimits(seconds=5.0, body_bytes=0)
_log = structlog.get_logger()
begin(webhook_tries_total, ("taken", "failed"))

WHY: dict[StoppedBy, str] = {
    "failures": f"{FAILURES_UNTIL_STOPPED} tries in a row have failed",
    "gone": "the receiver answered that it is gone for good (410)",
}


async def send_next(runtime: Runtime, job: Job) -> None:
    """Send the next delivery of the job's webhook; the job is due again when there are more."""
    delivery = await runtime.database.query(lambda tx: store.pending_delivery_of(tx, job.key))
    if delivery is None:
        await runtime.database.transaction(lambda tx: _wait(tx, job))
    else:
        await send(runtime, job, delivery)


async def send(runtime: Runtime, job: Job, delivery: PendingDelivery) -> None:
    """Call the receiver once and write how it ended."""
    outcome = await _call(runtime, delivery)
    webhook_tries_total.labels("taken" if outcome.is_taken else "failed").inc()
    stopped = await runtime.database.transaction(lambda tx: record(tx, runtime.seal, job, delivery, outcome))
    if stopped:
        _log.info("webhook stopped", webhook=delivery.webhook_id, by=stopped)
        await _note_in_logs(runtime, delivery.webhook_id, stopped)


async def _note_in_logs(runtime: Runtime, webhook_id: str, stopped: StoppedBy) -> None:
    """Note in the logs of the owner's agents that events of them are sent no more."""

    async def agents_of_owner(tx: Tx) -> list[str]:
        developer_id = await store.developer_of(tx, webhook_id)
        return [] if developer_id is None else await agents.active_dids_of(tx, developer_id, AGENTS_NOTED)

    with suppress(Unavailable):
        for did in await runtime.database.query(agents_of_owner):
            operations.note_stopped_webhook(runtime, did, webhook_id, f"{WHY[stopped].capitalize()}.")


async def _wait(tx: Tx, job: Job) -> None:
    """Put the job off until something is due; it ends when nothing waits."""
    await store.lock_for_outcome(tx, job.key)
    await conclude(tx, job)


async def record(
    tx: Tx, seal: Seal, job: Job, delivery: PendingDelivery, outcome: Outcome
) -> rules.StoppedBy | None:
    """Write how an attempt ended and conclude the job; returns the reason that stopped the webhook, if the attempt did."""
    webhook = await store.lock_for_outcome(tx, delivery.webhook_id)
    if webhook is None:
        return None
    holds_lease = await jobs.is_held(tx, job)
    stopped = None
    if outcome.is_taken:
        await store.end_attempt(tx, delivery.delivery_id, "delivered", response_status=outcome.status)
        if holds_lease:
            await store.end_run(tx, delivery.webhook_id, consecutive_failures=0)
    elif holds_lease:
        stopped = await _record_failure(tx, seal, webhook, delivery, outcome)
    # Without the lease another process has sent it since; how that ended counts.
    if holds_lease:
        await conclude(tx, job)
    return stopped


async def _record_failure(
    tx: Tx, seal: Seal, webhook: Locked, delivery: PendingDelivery, outcome: Outcome
) -> rules.StoppedBy | None:
    attempts, failures = delivery.attempts + 1, webhook.consecutive_failures + 1
    pause = rules.pause_after(delivery.event_type, attempts, random.uniform(-1, 1))  # noqa: S311
    await store.end_attempt(
        tx,
        delivery.delivery_id,
        "failed" if pause is None else "pending",
        response_status=outcome.status,
        error=outcome.error,
        pause_seconds=pause,
    )
    stopped = rules.stopped_by(outcome, failures) if webhook.is_active else None
    await store.end_run(
        tx,
        delivery.webhook_id,
        consecutive_failures=failures,
        stopped_by=stopped,
        pause_seconds=rules.webhook_pause_after(failures),
    )
    if stopped:
        payload = {"webhook_id": delivery.webhook_id, "stopped_by": stopped, "consecutive_failures": failures}
        await enqueue_webhook(tx, webhook.developer_id, rules.WebhookEvent.RETRY_EXHAUSTED, payload)
        await people.notify(
            tx, seal, webhook.developer_id, partial(webhook_stopped, delivery=delivery, stopped=stopped)
        )
    return stopped


async def _call(runtime: Runtime, delivery: PendingDelivery) -> Outcome:
    body = delivery.payload.encode()
    try:
        purpose = purpose_of(delivery.webhook_id)
        keys = [runtime.seal.open(sealed, purpose).decode() for sealed in delivery.sealed_secrets]
    except BadSeal:
        _log.error("webhook secret cannot be decrypted", webhook=delivery.webhook_id)
        return Outcome(None, "secret_unreadable")
    headers = {
        "Content-Type": "application/json",
        **signed_headers(delivery.delivery_id, delivery.moment, body, keys),
    }
    try:
        answer = await runtime.outgoing.post(
            delivery.url, body, named_by=NamedBy.USER, headers=headers, limits=LIMITS
        )
    except OutgoingTrouble as failure:
        return Outcome(None, failure.reason)
    return Outcome(answer.status)


def webhook_stopped(*, to: str, name: str, delivery: PendingDelivery, stopped: StoppedBy) -> OutgoingMail:
    """Sent when the registry stops a webhook; of its address only the host, for the rest may be a secret of the receiver."""
    text = f"""Hello {name},

your webhook {delivery.webhook_id} at {delivery.place} has been stopped: {WHY[stopped]}.

Later events are not sent to it. What was waiting for it stays, for up to 30 days. When the receiver works
again, activate the webhook with PUT /api/v1/developers/webhooks/{delivery.webhook_id}.
"""
    return OutgoingMail(to, "Your webhook has been stopped", text, timedelta(days=NOTICE_DAYS))


WEBHOOKS = LeasedKind(KIND, send_next, at_once=SENT_AT_ONCE, concludes=True)
"""The jobs that send deliveries: one for each webhook for which something waits."""
