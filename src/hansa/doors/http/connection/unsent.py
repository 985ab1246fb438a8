"""Answers that clients do not read: the bytes that wait in this process are bounded, for each address and for all together.

Without a bound for each, one address has all the room, and a thousand answers are begun for it before the first ends. The only reader of a
room is never cut off for the size of its answer.
"""

from typing import Protocol

UNSENT_MAX_BYTES = 64 << 20
ADDRESSES_TO_FILL = 4
"""One address has this part of the room."""


class SlowReader(Protocol):
    """A connection with more unsent bytes than its transport should hold."""

    def unsent_bytes(self) -> int:
        """How many bytes wait for the client now."""

    def cut_off(self) -> None:
        """End the connection at once; unsent bytes are dropped."""


class UnsentAnswers:
    """The slow readers of one process, oldest first. Used by its event loop alone."""

    def __init__(self, bytes_max: int = UNSENT_MAX_BYTES) -> None:
        self._all = _Room(bytes_max)
        self._of_address: dict[str, _Room] = {}
        self._address: dict[SlowReader, str] = {}

    @property
    def total_bytes(self) -> int:
        """Number of bytes that waited for all readers when they were last counted."""
        return self._all.total_bytes

    def add(self, reader: SlowReader, address: str | None = None) -> None:
        """Count the bytes that wait for this reader. Where they are too many, the oldest readers are cut off.

        `address` is None for readers that are not counted by their address.
        """
        self.remove(reader)
        rooms = [self._all]
        if address is not None:
            self._address[reader] = address
            rooms.append(
                self._of_address.setdefault(address, _Room(self._all.bytes_max // ADDRESSES_TO_FILL))
            )
        for room in rooms:
            room.add(reader)
        for room in reversed(rooms):
            for oldest in room.crowded_out():
                self.remove(oldest)
                oldest.cut_off()

    def is_crowded(self, address: str) -> bool:
        """Return whether half the room of the address is taken: its next request then waits until something was read."""
        room = self._of_address.get(address)
        return room is not None and room.total_bytes > room.bytes_max // 2

    def remove(self, reader: SlowReader) -> None:
        """Nothing waits for this reader."""
        self._all.remove(reader)
        address = self._address.pop(reader, None)
        if address is not None:
            room = self._of_address[address]
            room.remove(reader)
            if room.is_empty:
                del self._of_address[address]


class _Room:
    """Some readers, oldest first, and the bytes that may wait for them together."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.total_bytes = 0
        self._waiting: dict[SlowReader, int] = {}

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add(self, reader: SlowReader) -> None:
        size = reader.unsent_bytes()
        self._waiting[reader] = size
        self.total_bytes += size

    def remove(self, reader: SlowReader) -> None:
        self.total_bytes -= self._waiting.pop(reader, 0)

    def crowded_out(self) -> list[SlowReader]:
        """The oldest readers, without whom there is room again."""
        if self.total_bytes > self.bytes_max:
            # What was counted is what waited then; most may have been read since.
            for reader in self._waiting:
                self._waiting[reader] = reader.unsent_bytes()
            self.total_bytes = sum(self._waiting.values())
        if self.total_bytes <= self.bytes_max or len(self._waiting) == 1:
            return []
        # Some more than needed: counting again costs as much as there are readers.
        left, oldest = self.total_bytes, []
        for reader, size in self._waiting.items():
            if left <= self.bytes_max * 3 // 4:
                break
            left -= size
            oldest.append(reader)
        return oldest
