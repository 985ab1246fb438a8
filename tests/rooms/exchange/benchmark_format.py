"""Orders and reports in the form of the public matching-engine-benchmark: binary records in, sorted lines of reports out.

Records have 40 bytes behind a header of 16. The benchmark names no owners: each of its orders has an owner of its own here. An order is
modified by one that replaces it and keeps its id.

`python -m tests.rooms.exchange.benchmark_format FILE...` replays workloads that the benchmark's generator wrote, and prints the SHA-256 of the
reports of each, which its `correctness_hash.txt` states.
"""

import hashlib
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hansa.rooms.exchange.matching import (
    Book,
    Command,
    End,
    Ended,
    Event,
    Place,
    Refused,
    Resting,
    Side,
    Traded,
    apply,
)

MAGIC, VERSION = 0x4D4542575F303031, 1
HEADER = struct.Struct("<QII")
RECORD = struct.Struct("<BBBxIQQqq")
NEW, CANCEL, MODIFY = 0, 1, 2
ORDER_ACK, TRADE, CANCEL_ACK, MODIFY_ACK, CANCEL_REJECT, MODIFY_REJECT = range(6)
SIDES: tuple[Side, Side] = ("buy", "sell")


class Message(NamedTuple):
    """One record; `sequence` is the benchmark's own number of the message."""

    type: int
    side: int
    ioc: int
    qty: int
    sequence: int
    order_id: int
    price: int


def written(messages: Iterable[Message]) -> bytes:
    """A file of these messages."""
    records = [RECORD.pack(*message, 0) for message in messages]
    return HEADER.pack(MAGIC, VERSION, len(records)) + b"".join(records)


def read(file: bytes) -> list[Message]:
    """The messages of a file."""
    magic, version, count = HEADER.unpack_from(file)
    assert (magic, version) == (MAGIC, VERSION), "not a file of the benchmark"
    records = list(RECORD.iter_unpack(file[HEADER.size :]))
    assert len(records) == count
    return [Message(*record[:-1]) for record in records]


class Replay:
    """A book under the messages of the benchmark, with the reports that it expects of an engine. `commands` are those of the last message."""

    def __init__(self) -> None:
        self.book = Book()
        self.commands: list[Command] = []
        self.reports: list[tuple[int, int, str]] = []
        self._seq_of: dict[int, int] = {}
        self._id_of: dict[int, int] = {}

    def take(self, message: Message) -> None:
        """Carry out one message."""
        self.commands = []
        resting = self.book.find(self._seq_of.get(message.order_id, 0))
        if message.type == NEW:
            self._report(ORDER_ACK, message, message.side, message.order_id, message.price, message.qty)
            self._place(message, ioc=bool(message.ioc))
        elif resting is None:
            self._report(
                CANCEL_REJECT if message.type == CANCEL else MODIFY_REJECT, message, message.order_id
            )
        elif message.type == CANCEL:
            self._cancel_ack(message, resting.side, resting.price)
            self._carry_out(End(self.book.seq + 1, resting.seq, "cancelled"))
        else:
            self._report(MODIFY_ACK, message, message.side, message.order_id, message.price, message.qty)
            self._place(message, ioc=False, replaces=resting)

    def lines(self) -> str:
        """The reports, sorted by the sequence of the message and their type."""
        return "\n".join(line for _, _, line in sorted(self.reports, key=lambda report: report[:2]))

    def digest(self) -> str:
        """SHA-256 of these lines."""
        return hashlib.sha256(self.lines().encode()).hexdigest()

    def _place(self, message: Message, *, ioc: bool, replaces: Resting | None = None) -> None:
        seq = self.book.seq + 1
        self._seq_of[message.order_id] = seq
        self._id_of[seq] = message.order_id
        party = str(message.order_id)
        place = Place(
            seq,
            party,
            party,
            SIDES[message.side],
            message.qty,
            message.price,
            "ioc" if ioc else "gtc",
            replaces=replaces.seq if replaces else None,
        )
        for event in self._carry_out(place):
            match event:
                case Traded(maker=maker, price=price, qty=qty):
                    self._report(TRADE, message, price, qty, self._id_of[maker], message.order_id)
                case Ended(because="ioc"):
                    self._cancel_ack(message, SIDES[message.side], message.price)
                case Refused():
                    raise AssertionError(f"refused: {message}")

    def _carry_out(self, command: Place | End) -> list[Event]:
        self.commands.append(command)
        events = apply(self.book, command)
        self.book.advance(events)
        return events

    def _cancel_ack(self, message: Message, side: Side, price: int) -> None:
        self._report(CANCEL_ACK, message, SIDES.index(side), message.order_id, price)

    def _report(self, kind: int, message: Message, *figures: int) -> None:
        line = ",".join(str(figure) for figure in (kind, message.sequence, *figures))
        self.reports.append((message.sequence, kind, line))


def replayed_file(file: bytes) -> Replay:
    """The replay of all messages of a file."""
    replay = Replay()
    for message in read(file):
        replay.take(message)
    return replay


if __name__ == "__main__":
    for name in sys.argv[1:]:
        done = replayed_file(Path(name).read_bytes())
        trades = sum(kind == TRADE for _, kind, _ in done.reports)
        print(f"{name}: {len(done.reports)} reports, {trades} trades, {done.digest()}")
