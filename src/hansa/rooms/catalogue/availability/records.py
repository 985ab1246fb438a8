"""Records of availability, as its parts pass them on."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

Hours = list[list[int] | None]
"""For each hour of a day the probes and, by the classes of time, the answers; None: no probe."""


class LoggedEntry(msgspec.Struct, frozen=True):
    """Entry of the log with the path to the root of its checkpoint."""

    index: int
    entry: str
    hashes: Sequence[bytes]


class LoggedStatements(msgspec.Struct, frozen=True):
    """Entries of the statements of days that are in the log, by their ids, all under one checkpoint."""

    checkpoint: str | None
    entries: Mapping[str, LoggedEntry]


class DayProof(msgspec.Struct, frozen=True):
    """Proof of the hours of a day: the statement of the day, the path to its root, and the entry of the statement in the log."""

    statement: Mapping[str, Any]
    index: int
    hashes: Sequence[bytes]
    log: LoggedEntry


class ProbedDay(msgspec.Struct, frozen=True):
    """Day of an agent; without hours nothing was measured, or nothing is proved yet."""

    day: date
    hours: Hours | None = None
    proof: DayProof | None = None


class PeerDay(msgspec.Struct, frozen=True):
    """Counts of an own agent on a day as a peer states them: its signed statement, the place in its tree and the path to the root."""

    registry: str
    day: date
    counts: Sequence[int]
    statement: str
    place: int
    hashes: Sequence[bytes]


class Availability(msgspec.Struct, frozen=True):
    """The last 90 closed days of an agent, and the checkpoint of their proofs."""

    agent_did: str
    days: Sequence[ProbedDay]
    checkpoint: str | None
    peers: Sequence[PeerDay] = ()


class StoredDay(msgspec.Struct, frozen=True):
    """Counts of an agent on a closed day, its place among so many agents, and the statement of the day."""

    day: date
    counts: Sequence[int]
    place: int
    agents: int
    statement: str


class HomeAgent(msgspec.Struct, frozen=True):
    """Agent of a peer that this registry probed on a closed day."""

    did: str
    day: StoredDay
