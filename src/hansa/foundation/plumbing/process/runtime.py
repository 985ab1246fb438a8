"""Values that one serving process holds, and how a route gets them.

A `Slot` is a place for one value in each process:

- A lower room that needs something of a room above offers a slot with a type; the room above fills it in its descriptor.
- An object that lives as long as the process (a batch, a cache, an index) is a slot with `build`. It is built when it is
  first used, and no room offers or fills it.
- Several rooms fill a slot with `joined`, which makes one value of their fillings, the lowest room first.
- A missing or doubled filling stops the start (`assembled.py`), so the value of an offered slot can always be read.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from fastapi import Depends, Request
from fastapi.requests import HTTPConnection

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.tokens import TokenIssuer
from hansa.foundation.plumbing.outgoing import Outgoing
from hansa.foundation.plumbing.outgoing.mail import Mailbox
from hansa.foundation.plumbing.process.parameter_binding import found_in_process
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.telemetry.job_health import JobHealth

T = TypeVar("T")

# Where the guard puts the runtime into the scope of a request, which asks for it several times.
RUNTIME = "hansa.runtime"


class Slot(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """A named place for one value of type T in each process."""

    name: str
    build: "Callable[[Runtime], T] | None" = None
    """Makes the value of each process at its first use; without it a room above fills the slot."""
    joined: Callable[[Sequence[T]], T] | None = None
    """Makes one value of the fillings of several rooms; without it one room fills the slot."""

    def filled_with(self, value: T) -> "Filling":
        """Value of a room for the slot, the same in every process."""
        return Filling(self, value)

    def of(self, runtime: "Runtime") -> T:
        """The value in this process."""
        return runtime.slots.value(self, runtime)

    def put(self, runtime: "Runtime", value: T) -> None:
        """Set or replace the value in this process."""
        runtime.slots.put(self, value)

    @property
    def given(self) -> Callable[[Request], Awaitable[T]]:
        """A dependency: the value in the process that serves this request."""
        return found_in_process(lambda request: self.of(runtime_of(request)))


class Filling(msgspec.Struct, frozen=True):
    """Value that a room puts into a slot."""

    slot: Slot[Any]
    value: Any


class Slots:
    """The values of one process."""

    def __init__(self, fillings: Iterable[Filling] = ()) -> None:
        found: dict[Slot[Any], list[Any]] = {}
        for filling in fillings:
            found.setdefault(filling.slot, []).append(filling.value)
        self._values: dict[Slot[Any], Any] = {
            slot: slot.joined(values) if slot.joined else values[-1] for slot, values in found.items()
        }
        self.parameters: dict[object, dict[str, Any]] = {}
        """The parameters that a direct route finds in the process alone, by the route: found once."""

    def value(self, slot: Slot[T], runtime: "Runtime") -> T:
        """Return the value of a slot; a slot with `build` has one from its first use on."""
        try:
            found: T = self._values[slot]
        except KeyError:
            assert slot.build is not None, f"slot {slot.name!r} has no value"
            found = self._values[slot] = slot.build(runtime)
        return found

    def put(self, slot: Slot[T], value: T) -> None:
        """Set or replace the value of a slot."""
        self._values[slot] = value
        self.parameters.clear()


class Runtime(msgspec.Struct, frozen=True):
    """The settings, the database and the slots of one process: its whole state."""

    settings: Settings
    database: Database
    tokens: TokenIssuer
    mail: Mailbox
    outgoing: Outgoing
    internal_key: str
    """What callers of the internal routes show."""
    seal: Seal
    authority: IdentityAuthority | None
    """Who issues workload identities, or None where no service does."""
    jobs: JobHealth = msgspec.field(default_factory=JobHealth)
    """How the background jobs of this process are doing."""
    slots: Slots = msgspec.field(default_factory=Slots)
    """What the rooms hold and supply to each other in this process."""


def runtime_of(request: HTTPConnection) -> Runtime:
    """The runtime of the process that serves this request or socket."""
    scope = request.scope
    runtime: Runtime = scope[RUNTIME] if RUNTIME in scope else scope["app"].state.runtime
    return runtime


_jobs_of = found_in_process(lambda request: runtime_of(request).jobs)
_database_of = found_in_process(lambda request: runtime_of(request).database)
_settings_of = found_in_process(lambda request: runtime_of(request).settings)
_tokens_of = found_in_process(lambda request: runtime_of(request).tokens)
_seal_of = found_in_process(lambda request: runtime_of(request).seal)

Db = Annotated[Database, Depends(_database_of)]
Config = Annotated[Settings, Depends(_settings_of)]
Tokens = Annotated[TokenIssuer, Depends(_tokens_of)]
Jobs = Annotated[JobHealth, Depends(_jobs_of)]
Sealing = Annotated[Seal, Depends(_seal_of)]
