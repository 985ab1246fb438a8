"""Answers that clients do not read: the bytes that wait for them in this process are bounded for all of them together."""

from typing import Protocol

UNSENT_MAX_BYTES = 64 << 20


class SlowReader(Protocol):
    """A connection with more unsent bytes than its transport should hold."""

    def unsent_bytes(self) -> int:
        """How many bytes wait for the client now."""

    def cut_off(self) -> None:
        """End the connection at once; what was unsent is dropped."""


class UnsentAnswers:
    """The slow readers of one process, oldest first. Used by its event loop alone."""

    def __init__(self, bytes_max: int = UNSENT_MAX_BYTES) -> None:
        self._bytes_max = bytes_max
        self._waiting: dict[SlowReader, int] = {}
        self.total_bytes = 0
        """What waited for all readers when it was last counted."""

    def add(self, reader: SlowReader) -> None:
        """Count what waits for this reader. Where it is too much for all, the oldest readers are cut off."""
        self.remove(reader)
        size = reader.unsent_bytes()
        self._waiting[reader] = size
        self.total_bytes += size
        if self.total_bytes > self._bytes_max:
            # What was counted is what waited then; most may have been read since.
            self._count_again()
        if self.total_bytes > self._bytes_max:
            self._cut_off_the_oldest()

    def remove(self, reader: SlowReader) -> None:
        """Nothing waits for this reader."""
        self.total_bytes -= self._waiting.pop(reader, 0)

    def _count_again(self) -> None:
        for reader in self._waiting:
            self._waiting[reader] = reader.unsent_bytes()
        self.total_bytes = sum(self._waiting.values())

    def _cut_off_the_oldest(self) -> None:
        # Some more than needed: counting again costs as much as there are readers.
        enough = self._bytes_max * 3 // 4
        for reader in list(self._waiting):
            if self.total_bytes <= enough:
                return
            self.remove(reader)
            reader.cut_off()
