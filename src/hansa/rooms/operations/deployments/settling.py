"""Write the end of a deployment: the address of the card, the version, the state and the event in one commit."""

from hansa.foundation.events import AgentDeployed, AgentDeploymentFailed
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict, Invalid, NotFound
from hansa.rooms import agents, catalogue, journal
from hansa.rooms.operations.logs.rules import new_entry
from hansa.rooms.operations.logs.writing import write_of_registry
from hansa.rooms.operations.releases import make_active

from . import store
from .records import Deployment

_ENDED = catalogue.Unfit("agent_ended", "The agent is permanently revoked.")


async def settle(
    tx: Tx, deployment: Deployment, unfit: catalogue.Unfit | None, job: Job | None = None
) -> None:
    """End an open deployment by the result of its check; one that has ended already, or whose job was taken over, is left as it is.

    Locks: the agent, the deployment, the card, then the log of the agent.
    """
    status = await agents.lock_status(tx, deployment.agent_did)
    if await store.lock_open(tx, deployment.id) is None or (job and not await jobs.is_held(tx, job)):
        return
    if status == "revoked":
        unfit = _ENDED
    former_url = None
    if unfit is None:
        try:
            former_url = await catalogue.move_card(
                tx, deployment.agent_did, deployment.card_version, deployment.url
            )
        except (Conflict, Invalid, NotFound) as error:
            unfit = catalogue.Unfit(error.code.lower(), error.detail)
    if former_url is None:
        assert unfit is not None
        await _fail(tx, deployment, unfit)
    else:
        await _activate(tx, deployment, former_url)


async def _activate(tx: Tx, deployment: Deployment, former_url: str) -> None:
    await make_active(tx, deployment.agent_did, deployment.release_id)
    await store.activate(tx, deployment, former_url)
    await journal.append(tx, AgentDeployed(**_members(deployment), former_url=former_url))
    entry = new_entry("INFO", "A version was deployed.", {**_members(deployment), "former_url": former_url})
    await write_of_registry(tx, deployment.agent_did, entry)


async def _fail(tx: Tx, deployment: Deployment, unfit: catalogue.Unfit) -> None:
    await store.fail(tx, deployment.id, unfit)
    await journal.append(tx, AgentDeploymentFailed(**_members(deployment), reason=unfit.reason))
    members = {**_members(deployment), "reason": unfit.reason, "detail": unfit.sentence}
    entry = new_entry("ERROR", "A deployment failed; the address of the agent is as before.", members)
    await write_of_registry(tx, deployment.agent_did, entry)


def _members(deployment: Deployment) -> dict[str, str]:
    return {
        "did": deployment.agent_did,
        "deployment_id": str(deployment.id),
        "version_id": str(deployment.release_id),
        "version": deployment.version,
        "url": deployment.url,
    }
