"""Notice of a breach to the administrators of the treasury: a mail, and the webhook `supply.breach` of those who have one.

The cycle that finds a breach enqueues the notice in its own commit, once for each distinct breach. It is sent by a job: a webhook that is in use
meanwhile repeats the job, and not the cycle.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hansa.foundation.events import SupplyInvariantBreach
from hansa.foundation.plumbing.jobs import Job, Retries, TransactionalKind, enqueue
from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import notifications, people

AREA = "admin_treasury"
GOOD_FOR = timedelta(days=7)
KIND = "auditor: notice of a breach"


async def raise_alarm(tx: Tx, breach: SupplyInvariantBreach) -> None:
    """Notify the administrators of the treasury when `tx` has committed. Findings, which name accounts, are not sent."""
    payload = {
        "verdict_id": breach.verdict_id,
        "as_of_event_seq": breach.as_of_event_seq,
        "delta": breach.delta,
        "net_supply": breach.net_supply,
        "total_circulating": breach.total_circulating,
        "checks": breach.checks,
    }
    await enqueue(tx, KIND, str(breach.verdict_id), payload)


async def _notify(tx: Tx, runtime: Runtime, job: Job) -> None:
    administrators = [one for one in await people.list_administrators(tx) if AREA in one.areas]
    concerned = [one for one in administrators if not one.is_suspended]
    having = await notifications.having_webhooks(tx, [one.id for one in concerned])
    # By id: their webhooks are locked in that order.
    for one in sorted(concerned, key=lambda administrator: administrator.id):
        await enqueue_mail(tx, runtime.seal, _mail(runtime, one.email, one.name, job.payload))
        if one.id in having:
            await notifications.enqueue_webhook(
                tx, one.id, notifications.WebhookEvent.SUPPLY_BREACH, job.payload
            )


def _mail(runtime: Runtime, to: str, name: str, found: Mapping[str, Any]) -> OutgoingMail:
    settings = runtime.settings
    failed = ", ".join(
        f"{check}: {result}" for check, result in found["checks"].items() if result not in (None, "OK")
    )
    text = f"""Hello {name},

the audit of {settings.registry_name} found that the supply does not add up (verdict {found["verdict_id"]}).

Delta: {found["delta"]} {settings.settlement_currency}
Checks: {failed}

Stop all transfers, and compare the event log with the balances: {settings.base_url}/supply

The guide "Runbooks" states the steps: {settings.base_url}/guides/runbooks
"""
    return OutgoingMail(to, "Breach of the supply", text, GOOD_FOR)


NOTICE = TransactionalKind(
    KIND, _notify, retries=Retries(attempts_max=None, pause_seconds=5, pause_max_seconds=300)
)
