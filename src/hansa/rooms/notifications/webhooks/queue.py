"""The job of a webhook: it is due when the first of its deliveries is.

Whoever changes that holds the lock of the webhook, so that the end of a run sees it.

Retention of webhooks: rows that are deleted, and deliveries that are no longer sent.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, NewJob
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store

KIND = "webhook"


async def schedule(tx: Tx, webhook_ids: Sequence[str]) -> None:
    """Schedule the waiting deliveries of these locked webhooks, no later than they are due. One host is called once at a time."""
    due = await store.due(tx, webhook_ids)
    await jobs.enqueue_many(tx, KIND, [NewJob(one.webhook_id, one.due_at, one.place) for one in due])


async def unschedule(tx: Tx, webhook_ids: Sequence[str]) -> None:
    """Send nothing more to these webhooks."""
    await jobs.withdraw(tx, KIND, webhook_ids)


async def conclude(tx: Tx, job: Job) -> None:
    """End a run of a locked webhook, unless the lease was lost; the next one is when more is due."""
    due = await store.due(tx, [job.key])
    if due:
        await jobs.conclude(tx, job, due_at=due[0].due_at, concurrency_key=due[0].place)
    else:
        await jobs.conclude(tx, job)


async def forget_old_deliveries(tx: Tx) -> None:
    """Delete the deliveries of more than 30 days ago, and webhooks whose deletion can no longer be undone."""
    await store.forget_deleted(tx)
    await store.forget_old(tx, rules.DELIVERIES_KEPT_DAYS)


async def withhold_deliveries(tx: Tx) -> int:
    """Withhold every waiting delivery in a restored copy: the registry it was copied from may have sent it since."""
    await jobs.withdraw(tx, KIND)
    return await store.withhold_pending(tx, "withheld: the registry was restored from a backup")
