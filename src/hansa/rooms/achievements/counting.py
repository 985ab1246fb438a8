"""Recompute achievements from events: from the signals that records count, and from the lives and bonds of agents.

- Signals are counted in the order of their events, each once: the row of progress names the last one.
- Both begin with the first event ever. The results depend on nothing else: those of a rebuild are the same.
"""

from hansa.foundation.events import AgentOnboarded, AgentRevoked, BondDeposited
from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import reputation

from . import earning, store
from .records import Earned, Tally

COUNTED_EVERY_SECONDS = 2
AT_ONCE = 500


async def count_signals(tx: Tx) -> None:
    """Count some more signals, and write what they earn."""
    after = await store.lock_progress(tx)
    signals = await reputation.recorded_after(tx, after, AT_ONCE)
    if not signals:
        return
    dids = sorted({did for signal in signals for did in earning.parties(signal)})
    tallies = await store.tallies(tx, dids)
    earned: list[tuple[str, Earned]] = []
    for signal in signals:
        for did in earning.parties(signal):
            tallies[did], gained = earning.counted(tallies.get(did, Tally()), signal)
            earned += gained
    await store.write_tallies(tx, tallies)
    await store.add_earned(tx, earned)
    await store.set_progress(tx, signals[-1].id)


async def _follow(tx: Tx, event: StoredEvent) -> None:
    did = event.data["did"]
    if event.event_type == AgentOnboarded.__name__:
        await store.begin_life(tx, did, event.timestamp, event.sequence)
    elif event.event_type == AgentRevoked.__name__:
        await store.end_life(tx, did, event.timestamp)
    else:
        await store.add_earned(tx, [(did, Earned(earning.FIRST_BOND, event.timestamp, event.sequence))])


LIVES_AND_BONDS = Reactor(
    "achievements: lives and bonds",
    (AgentOnboarded, AgentRevoked, BondDeposited),
    _follow,
    from_the_start=True,
)
COUNT_SIGNALS = sweep_of(
    "achievements: count signals", COUNTED_EVERY_SECONDS, store.HAS_UNCOUNTED, count_signals
)
