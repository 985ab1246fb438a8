"""Read metrics: for the agent itself and those who may read it, administrators or not."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, journal

from . import rules, store
from .records import Figures, Metrics, RangeName


async def read_metrics(tx: Tx, caller: Developer | Agent, did: str, time_range: RangeName) -> Metrics:
    """The metrics of an agent. Raises: AgentUnknown, OrgRoleRequired."""
    await agents.require_caller(tx, caller, did, Right.READ)
    return await metrics_of(tx, did, time_range)


async def metrics_of(tx: Tx, did: str, time_range: RangeName) -> Metrics:
    """The metrics of an agent, for a caller that was judged."""
    counted = await store.counted(tx)
    wanted = rules.RANGES[time_range]
    begins_at = rules.begin_of(wanted, counted.now)
    figures, times, waiting_since = await read_together(
        tx,
        lambda tx: store.figures_of(tx, did, wanted, begins_at),
        lambda tx: store.settle_times_of(tx, did, wanted, begins_at),
        lambda tx: journal.first_recorded_from(tx, counted.before_xid),
    )
    return Metrics(
        agent_did=did,
        time_range=time_range,
        begins_at=begins_at,
        ends_at=counted.now,
        computed_at=min(waiting_since or counted.now, counted.now),
        points=rules.points_of(wanted, begins_at, figures, times),
    )


async def read_exposed(
    tx: Tx, caller: Developer | Agent, did: str, time_range: RangeName
) -> tuple[Metrics, Figures]:
    """The metrics of a range, and the figures of ever. Raises: AgentUnknown, OrgRoleRequired."""
    return await read_metrics(tx, caller, did, time_range), await store.figures_ever(tx, did)
