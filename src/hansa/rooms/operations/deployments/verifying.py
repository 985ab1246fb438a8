"""The job that checks an agent at its new address: leased, harmless to repeat, without an end of its own attempts.

A process that dies leaves the deployment as it is; another one takes the job when the lease ends and checks again.
"""

from datetime import timedelta
from uuid import UUID

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue
from hansa.rooms.catalogue import Interface

from . import store
from .records import Deployment
from .settling import settle

KIND = "deployment check"
AT_ONCE = 16
LEASE_SECONDS = 120.0
# After an internal error; a host that fails is a result.
RETRIES = Retries(None, pause_seconds=5.0, pause_max_seconds=300.0)
# A request checks by itself; the job goes on with a check whose process has died.
LATER = timedelta(seconds=150)


async def enqueue_check(tx: Tx, deployment: Deployment, *, is_checked_here: bool = False) -> None:
    """Let the job check a deployment, at once or, where the request does so itself, when that has taken too long."""
    due_at = await clock.now(tx) + LATER if is_checked_here else None
    await jobs.enqueue(tx, KIND, str(deployment.id), due_at=due_at)


async def check_now(runtime: Runtime, deployment: Deployment) -> None:
    """Check a deployment and write its end, within a request."""
    unfit = await _check(runtime, deployment)

    async def ended(tx: Tx) -> None:
        await settle(tx, deployment, unfit)
        await jobs.withdraw(tx, KIND, [str(deployment.id)])

    await runtime.database.transaction(ended)


async def _verify(runtime: Runtime, job: Job) -> None:
    deployment_id = UUID(job.key)

    async def begun(tx: Tx) -> Deployment | None:
        return await store.find_open(tx, deployment_id) if await store.begin(tx, deployment_id) else None

    deployment = await runtime.database.transaction(begun)
    if deployment is None:
        return
    unfit = await _check(runtime, deployment)
    await runtime.database.transaction(lambda tx: settle(tx, deployment, unfit, job))


async def _check(runtime: Runtime, deployment: Deployment) -> catalogue.Unfit | None:
    interface = Interface(deployment.url, deployment.binding, deployment.protocol_version)
    return await catalogue.check_address(
        runtime, deployment.agent_did, interface, must_be_signed=deployment.must_be_signed
    )


DEPLOYMENT_CHECKS = LeasedKind(KIND, _verify, AT_ONCE, LEASE_SECONDS, RETRIES)
