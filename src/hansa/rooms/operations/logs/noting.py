"""Entries of the registry that this process has not written yet: noting one costs an addition, and never fails or slows the act.

- Equal notes of an agent are one entry: the first is written within seconds, the following ones after a minute, then after pauses that
  double up to an hour, with their number. Whoever presents false tokens writes no other entries out of a log.
- At most NOTES_AT_ONCE notes wait in a process; further ones are lost, and so are those of a process that is killed or cannot write.
"""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import msgspec

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import agents

from .records import Level, NewEntry
from .rules import new_entry
from .writing import write_of_registry

EVERY_SECONDS = 2
NOTES_AT_ONCE = 2000
AGENTS_AT_ONCE = 200
PAUSE_SECONDS, PAUSE_MAX_SECONDS = 60.0, 3600.0


class Note(msgspec.Struct, frozen=True):
    """Fact for the log of an agent. `reason` says why; notes that differ in it are different entries."""

    level: Level
    message: str
    reason: str


class _Waiting(msgspec.Struct):
    """Equal notes of an agent that are not written yet. `subject` is its DID or its client id."""

    subject: str
    note: Note
    details: Mapping[str, str]
    times: int = 0
    due_at: float = 0.0
    pause: float = PAUSE_SECONDS

    def entry(self) -> NewEntry:
        """The entry of the notes."""
        members = {"reason": self.note.reason, **self.details}
        return new_entry(
            self.note.level,
            self.note.message,
            {**members, "times": self.times} if self.times > 1 else members,
        )


class RegistryNotes:
    """The notes of one process."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, Note], _Waiting] = {}

    def note(self, subject: str, note: Note, details: Mapping[str, str] | None = None) -> None:
        """Keep a note for the log of an agent, named by its DID or its client id; `details` of the first are written."""
        waiting = self._waiting.get((subject, note))
        if waiting is None:
            if len(self._waiting) >= NOTES_AT_ONCE or len(subject) > DID_MAX_CHARACTERS:
                return
            waiting = self._waiting[subject, note] = _Waiting(subject, note, details or {})
        elif not waiting.times:
            waiting.details = details or {}
        waiting.times += 1

    def take(self, now: float | None) -> dict[str, list[NewEntry]]:
        """Return the entries that are due, by subject; None: all there are. Notes that did not come again are forgotten."""
        taken: dict[str, list[NewEntry]] = {}
        for key, waiting in list(self._waiting.items()):
            is_due = now is None or waiting.due_at <= now
            if is_due and not waiting.times:
                del self._waiting[key]
            elif is_due and (waiting.subject in taken or len(taken) < AGENTS_AT_ONCE or now is None):
                taken.setdefault(waiting.subject, []).append(waiting.entry())
                waiting.times, waiting.details = 0, {}
                waiting.due_at = (now or 0.0) + waiting.pause
                waiting.pause = min(2 * waiting.pause, PAUSE_MAX_SECONDS)
        return taken

    def forget(self, subject: str) -> None:
        """Forget what is no agent of this registry."""
        for key in [key for key in self._waiting if key[0] == subject]:
            del self._waiting[key]


NOTES: Slot[RegistryNotes] = Slot(
    "operations: entries that are not written yet", build=lambda _: RegistryNotes()
)


async def write_notes(runtime: Runtime, now: float | None = None) -> None:
    """Write the entries that are due at this moment of the process's clock, or all."""
    notes = NOTES.of(runtime)
    taken = notes.take(now)
    if not taken:
        return
    dids = await runtime.database.query(lambda tx: agents.dids_named(tx, sorted(taken)))
    for subject, entries in taken.items():
        did = dids.get(subject)
        if did is None:
            notes.forget(subject)
        else:
            await runtime.database.transaction(lambda tx, did=did, entries=entries: _write(tx, did, entries))  # type: ignore[misc]


async def _write(tx: Tx, did: str, entries: list[NewEntry]) -> None:
    await write_of_registry(tx, did, *entries)


async def _write_due(runtime: Runtime) -> None:
    await write_notes(runtime, time.monotonic())


@asynccontextmanager
async def writing_notes(runtime: Runtime) -> AsyncIterator[None]:
    """Write the last entries at an orderly stop."""
    yield
    with suppress(Unavailable):
        await write_notes(runtime)


WRITE_NOTES = PeriodicTask("operations: write entries of the registry", EVERY_SECONDS, _write_due)
