"""How many connections one client address holds at once. Proxies of the operator's own are not counted."""

from collections.abc import Collection
from dataclasses import dataclass

from hansa.foundation.plumbing.limits import network_of


class AddressCounts:
    """The connections of one process, by client address; IPv6 by its /64."""

    def __init__(self, connections_max: int, exempt: Collection[str]) -> None:
        self._connections_max = connections_max
        self._exempt = frozenset(exempt)
        self._counts: dict[str, int] = {}

    def enter(self, host: str) -> "Place | None":
        """Count one more connection of this address; None when it has as many as it may have."""
        address = network_of(host)
        if host in self._exempt or address in self._exempt:
            return Place(self, None)
        count = self._counts.get(address, 0)
        if count >= self._connections_max:
            return None
        self._counts[address] = count + 1
        return Place(self, address)

    def leave(self, address: str) -> None:
        """Count one connection less."""
        count = self._counts[address] - 1
        if count:
            self._counts[address] = count
        else:
            del self._counts[address]


@dataclass(slots=True)
class Place:
    """One connection among those of its address; `address` is None once it is free, and where nothing is counted."""

    counts: AddressCounts
    address: str | None

    def free(self) -> None:
        """The connection has ended. May be called again."""
        if self.address is not None:
            address, self.address = self.address, None
            self.counts.leave(address)
