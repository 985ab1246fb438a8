"""Save, read and delete pipelines."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from . import store
from .definition import Definition, require_sound
from .errors import PipelineQuota, PipelineRunning, PipelineUnknown
from .records import Pipeline

PIPELINES_MAX = 20


async def create(tx: Tx, caller: Developer | Agent, did: str, definition: Definition) -> Pipeline:
    """Create a pipeline. Raises: AgentUnknown, OrgRoleRequired, DefinitionInvalid, PipelineQuota."""
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    return await add(tx, did, definition)


async def add(tx: Tx, did: str, definition: Definition) -> Pipeline:
    """Write a new pipeline of the agent. Raises: DefinitionInvalid, PipelineQuota."""
    require_sound(definition, did)
    await store.lock_agent(tx, did)
    if await store.count_pipelines(tx, did) >= PIPELINES_MAX:
        raise PipelineQuota(f"An agent has at most {PIPELINES_MAX} pipelines; delete one first.")
    pipeline_id = uuid4()
    await store.insert(tx, pipeline_id, did, definition)
    return await found(tx, did, pipeline_id)


async def replace(
    tx: Tx, caller: Developer | Agent, did: str, pipeline_id: UUID, definition: Definition
) -> Pipeline:
    """Write a new revision; runs keep theirs. Raises: AgentUnknown, OrgRoleRequired, PipelineUnknown, DefinitionInvalid."""
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    revision = await store.lock(tx, did, pipeline_id)
    if revision is None:
        raise PipelineUnknown
    require_sound(definition, did)
    await store.add_revision(tx, pipeline_id, revision + 1, definition)
    return await found(tx, did, pipeline_id)


async def delete(tx: Tx, caller: Developer | Agent, did: str, pipeline_id: UUID) -> None:
    """Delete a pipeline of which no run lives. Raises: AgentUnknown, OrgRoleRequired, PipelineUnknown, PipelineRunning."""
    await agents.require_caller(tx, caller, did, Right.OPERATE)
    if await store.lock(tx, did, pipeline_id) is None:
        raise PipelineUnknown
    if not await store.delete(tx, pipeline_id):
        raise PipelineRunning


async def read(tx: Tx, caller: Developer | Agent, did: str, pipeline_id: UUID) -> Pipeline:
    """A pipeline of the agent. Raises: AgentUnknown, PipelineUnknown."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await found(tx, did, pipeline_id)


async def page(
    tx: Tx, caller: Developer | Agent, did: str, *, limit: int, offset: int
) -> tuple[Sequence[Pipeline], int]:
    """A page of the pipelines of the agent, newest first, and how many there are. Raises: AgentUnknown."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await store.page(tx, did, limit, offset)


async def found(tx: Tx, did: str, pipeline_id: UUID) -> Pipeline:
    """The pipeline with this id, whoever asks. Raises: PipelineUnknown."""
    pipeline = await store.find(tx, did, pipeline_id)
    if pipeline is None:
        raise PipelineUnknown
    return pipeline
