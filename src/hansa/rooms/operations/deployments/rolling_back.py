"""Roll a deployment back within one request: the row, the check and the end."""

from uuid import UUID

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.idempotency import Repeatable, recall, remember
from hansa.rooms import catalogue

from .reading import deployment_of
from .records import Deployment
from .requesting import request_rollback
from .verifying import check_now, enqueue_check


async def roll_back(
    runtime: Runtime, caller: Developer | Agent, did: str, deployment_id: UUID, sent: Repeatable | None
) -> tuple[Deployment, bool]:
    """Deploy the one before again; returns its end, and whether the request was a repetition.

    Raises: as request_rollback; CardChanged where the card was changed during the check.
    """

    async def begun(tx: Tx) -> tuple[Deployment, bool]:
        if sent is not None and (known := await recall(tx, sent)) is not None:
            return await deployment_of(tx, did, UUID(known)), True
        deployment = await request_rollback(tx, caller, did, deployment_id)
        await enqueue_check(tx, deployment, is_checked_here=True)
        if sent is not None:
            await remember(tx, sent, str(deployment.id))
        return deployment, False

    deployment, is_repeated = await runtime.database.transaction(begun)
    if deployment.is_open:
        await check_now(runtime, deployment)
    ended = await runtime.database.query(lambda tx: deployment_of(tx, did, deployment.id))
    if ended.reason == catalogue.CardChanged.code.lower():
        raise catalogue.CardChanged
    return ended, is_repeated
