"""Counts for each client address: open connections and sockets, new sockets by time, and refusals.

An address whose connections are refused or cut off too often gets no new ones for a while: closing a connection when it
is accepted costs a fraction of reading its bytes. Proxies of the operator's own are not counted.
"""

import time
from collections.abc import Callable, Collection

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.web.limits import network_of
from hansa.foundation.plumbing.web.trusted_proxies import is_proxy

# A socket costs more than a connection that asks for something now and then: its handshake, its frames, each event.
CONNECTIONS_PER_SOCKET = 5
# A page opens one. The handshakes of a crowd, and the events that are sent to each of them until they are refused, cost
# more than all that follows.
SOCKETS_SPARE = 40
SOCKETS_PER_SECOND = 4
# Far more than a client makes by mistake.
REFUSALS_MAX = 100
REFUSALS_SECONDS = 10
BLOCKED_SECONDS = 10
# More are not remembered; so many addresses at once are no single attacker's.
ADDRESSES_MAX = 10_000


class _Refusals(msgspec.Struct):
    count: int
    ends_at: float


class _Opened(msgspec.Struct):
    """Sockets opened, less those that the time since has made room for."""

    count: float
    at: float


class AddressCounts:
    """The connections of one process, by client address; IPv6 by its /64."""

    def __init__(
        self, connections_max: int, exempt: Collection[str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._connections_max = connections_max
        self.sockets_max = max(1, connections_max // CONNECTIONS_PER_SOCKET)
        """How many of them may be WebSockets."""
        self._exempt = frozenset(exempt)
        self._now = now
        self._counts: dict[str, int] = {}
        self._sockets: dict[str, int] = {}
        self._refusals: dict[str, _Refusals] = {}
        self._opened: dict[str, _Opened] = {}

    def enter(self, host: str) -> "Place | None":
        """Count one more connection of this address; None when it has as many as it may have."""
        address = network_of(host)
        if is_proxy(host, self._exempt) or address in self._exempt:
            return Place(self, None)
        count = self._counts.get(address, 0)
        if count >= self._connections_max:
            return None
        self._counts[address] = count + 1
        return Place(self, address)

    def enter_socket(self, address: str) -> str | None:
        """Count one more socket among the connections. Returns why the address may not have it, in a sentence."""
        count = self._sockets.get(address, 0)
        if count >= self.sockets_max:
            return (
                f"Your address holds {self.sockets_max} WebSockets, as many as it may; close one, then retry."
            )
        if not self._may_open(address):
            return (
                f"Your address opened more than {SOCKETS_SPARE} WebSockets at once and {SOCKETS_PER_SECOND} a second;"
                " retry after 1 second."
            )
        self._sockets[address] = count + 1
        return None

    def _may_open(self, address: str) -> bool:
        now = self._now()
        opened = self._opened.get(address)
        if opened is None:
            if len(self._opened) >= ADDRESSES_MAX:
                begun = now - SOCKETS_SPARE / SOCKETS_PER_SECOND
                self._opened = {one: stored for one, stored in self._opened.items() if stored.at > begun}
            if len(self._opened) < ADDRESSES_MAX:
                self._opened[address] = _Opened(1, now)
            return True
        count = max(0.0, opened.count - (now - opened.at) * SOCKETS_PER_SECOND)
        opened.at = now
        is_room = count < SOCKETS_SPARE
        opened.count = count + 1 if is_room else count
        return is_room

    def is_blocked(self, host: str) -> bool:
        """Return whether connections of this address were refused too often of late."""
        return bool(self._refusals) and self.blocks(network_of(host))

    def blocks(self, address: str) -> bool:
        """The same of an address as places name it."""
        refusals = self._refusals.get(address)
        return refusals is not None and refusals.count >= REFUSALS_MAX and self._now() < refusals.ends_at

    def note_refusal(self, address: str) -> None:
        """A connection of this address was refused or cut off."""
        refusals = self._refusals.get(address)
        if refusals is None or self._now() >= refusals.ends_at:
            self._forget_ended()
            if len(self._refusals) < ADDRESSES_MAX:
                self._refusals[address] = _Refusals(1, self._now() + REFUSALS_SECONDS)
            return
        refusals.count += 1
        if refusals.count == REFUSALS_MAX:
            refusals.ends_at = self._now() + BLOCKED_SECONDS

    def _forget_ended(self) -> None:
        if len(self._refusals) >= ADDRESSES_MAX:
            now = self._now()
            self._refusals = {one: stored for one, stored in self._refusals.items() if stored.ends_at > now}

    def leave(self, address: str, *, is_socket: bool = False) -> None:
        """Count one connection less."""
        _count_one_less(self._counts, address)
        if is_socket:
            _count_one_less(self._sockets, address)


def _count_one_less(counts: dict[str, int], address: str) -> None:
    count = counts[address] - 1
    if count:
        counts[address] = count
    else:
        del counts[address]


class Place(msgspec.Struct):
    """One connection among those of its address; `address` is None once it is free, and where nothing is counted."""

    counts: AddressCounts
    address: str | None
    is_socket: bool = False

    def become_socket(self) -> str | None:
        """The connection goes on as a WebSocket. Returns why the address may not have it, in a sentence."""
        if self.address is None:
            return None
        refusal = self.counts.enter_socket(self.address)
        self.is_socket = refusal is None
        return refusal

    @property
    def is_blocked(self) -> bool:
        """Return whether connections of the address were refused too often of late."""
        return self.address is not None and self.counts.blocks(self.address)

    def note_refusal(self) -> None:
        """The connection was refused or cut off."""
        if self.address is not None:
            self.counts.note_refusal(self.address)

    def free(self) -> None:
        """The connection has ended. May be called again."""
        if self.address is not None:
            address, self.address = self.address, None
            self.counts.leave(address, is_socket=self.is_socket)


def _address_counts(runtime: Runtime) -> AddressCounts:
    return AddressCounts(runtime.settings.connections_per_address, runtime.settings.trusted_proxies)


ADDRESS_COUNTS: Slot[AddressCounts] = Slot("http: connections of each address", build=_address_counts)
