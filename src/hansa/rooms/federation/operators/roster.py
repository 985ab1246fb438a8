"""Operator registries that the frame still certifies: one that it removed is put under quarantine by the others.

Its certificates last up to seven days more, and only the frame knows that it removed the registry. So every operator reads the
frame's list of peers each minute (decision 0137). A quarantine that was begun here ends when the frame lists the registry again.
Without an answer the last list counts for FRAME_ROSTER_MAX_AGE_HOURS (decision 0137).
"""

from collections.abc import Collection

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.federation.charter import registry_id_of
from hansa.rooms.federation.peers import call_peer, doubt_operators, follow_frame

from .frames import own_frame, read_at_frame

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
    """Read the frame's list of peers and follow it; without an answer judge by the age of the last one. Raises: PutOff."""
    settings, database = runtime.settings, runtime.database
    frame = await database.query(lambda tx: own_frame(tx, settings))
    if frame is None:
        raise PutOff("the frame of this trust domain is not a peer yet")
    try:
        roster = await read_at_frame(runtime, lambda asked: call_peer(runtime, asked, "GET", PATH), _Roster)
    except PutOff:
        _note(await database.transaction(lambda tx: doubt_operators(tx, settings, frame)))
        raise
    listed = {registry_id_of(one.trust_domain, one.name) for one in roster.peers}
    _note(await database.transaction(lambda tx: follow_frame(tx, settings, frame, listed)))


def _note(changed: Collection[str]) -> None:
    for ledger_id in changed:
        _log.warning("the frame lists another state of an operator, or none", operator=ledger_id)


async def _work(runtime: Runtime, _: Job) -> None:
    await read_roster(runtime)


OPERATOR_ROSTER = LeasedKind(
    "federation: operators that the frame certifies",
    _work,
    retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
