"""Which operator registries the frame still certifies: one that it removed is put under quarantine by the others.

Its certificates last up to seven days more, and only the frame knows that it removed the registry. So every operator reads the
frame's list of peers each minute (decision 0156). A quarantine that was begun here ends when the frame lists the registry again.
"""

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms.federation.charter import registry_id_of
from hansa.rooms.federation.peers import call_peer, follow_frame

from .frames import read_at_frame

PATH = "/api/v1/federation/peers"
EVERY_SECONDS = 60.0
"""How long an operator that the frame removed is still taken for one by the others."""

_log = structlog.get_logger()


class _Listed(msgspec.Struct):
    name: str
    trust_domain: str


class _Roster(msgspec.Struct):
    peers: list[_Listed]


async def read_roster(runtime: Runtime) -> None:
    """Read the frame's list of peers and follow it. Without an answer everything stays. Raises: PutOff."""
    roster = await read_at_frame(runtime, lambda frame: call_peer(runtime, frame, "GET", PATH), _Roster)
    listed = {registry_id_of(one.trust_domain, one.name) for one in roster.peers}
    changed = await runtime.database.act(lambda tx: follow_frame(tx, runtime.settings, listed))
    for ledger_id in changed:
        _log.warning("the frame lists another state of an operator", operator=ledger_id)


async def _work(runtime: Runtime, _: Job) -> None:
    await read_roster(runtime)


OPERATOR_ROSTER = LeasedKind(
    "federation: operators that the frame certifies",
    _work,
    retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
