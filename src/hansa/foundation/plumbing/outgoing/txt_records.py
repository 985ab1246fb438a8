"""TXT records of a domain, asked of the name servers of this machine: the resolver of the system looks up addresses alone.

- A question goes out from a port and with a number that nobody can guess, to one server at a time; an answer to another question is none.
- An answer that is longer than a datagram is asked for again over TCP.
"""

import asyncio
import secrets
import struct
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from .errors import AnswerUnreadable, HostUnreachable, OutgoingTimeout

Place = tuple[str, int]
TxtLookup = Callable[[str], Awaitable[list[str]]]
"""The texts of a domain; none where it has no such record, or does not exist. Raises: OutgoingTrouble."""

CONFIGURATION = Path("/etc/resolv.conf")
PORT = 53
SERVERS_MAX = 3
SECONDS_EACH = 3.0
DATAGRAM_BYTES = 1232
TEXTS_MAX = 100
TXT, OPT, INTERNET = 16, 41, 1
RECURSION_DESIRED = 0x0100
IS_ANSWER, IS_CUT, CODE = 0x8000, 0x0200, 0x000F
NO_ERROR, NO_SUCH_NAME = 0, 3
POINTER = 0xC0
HEADER = struct.Struct("!HHHHHH")
RECORD = struct.Struct("!HHIH")


class SystemTxt:
    """Asks `servers`, by default those that the configuration of the system names."""

    def __init__(self, servers: Sequence[Place] | None = None) -> None:
        self._servers = servers

    async def __call__(self, name: str) -> list[str]:
        question = _question(name)
        places = self._servers if self._servers is not None else _configured()
        failure: HostUnreachable | OutgoingTimeout | AnswerUnreadable = HostUnreachable()
        for place in places[:SERVERS_MAX]:
            try:
                async with asyncio.timeout(SECONDS_EACH):
                    return await _ask(place, question)
            except TimeoutError:
                failure = OutgoingTimeout()
            except OSError:
                failure = HostUnreachable()
            except (AnswerUnreadable, HostUnreachable) as error:
                failure = error
        raise failure


class _Client(asyncio.DatagramProtocol):
    """The answers to one question; those to another are passed over."""

    def __init__(self, question: bytes) -> None:
        self._question = question
        self.answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        del addr
        if not self.answered.done() and is_answer_to(self._question, data):
            self.answered.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answered.done():
            self.answered.set_exception(exc)


async def _ask(place: Place, question: bytes) -> list[str]:
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_datagram_endpoint(lambda: _Client(question), remote_addr=place)
    try:
        transport.sendto(question)
        answer = await client.answered
    finally:
        transport.close()
    if _flags(answer) & IS_CUT:
        answer = await _ask_by_stream(place, question)
    return texts_in(question, answer)


async def _ask_by_stream(place: Place, question: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*place)
    try:
        writer.write(struct.pack("!H", len(question)) + question)
        (length,) = struct.unpack("!H", await reader.readexactly(2))
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise HostUnreachable from None
    finally:
        writer.close()


def is_answer_to(question: bytes, answer: bytes) -> bool:
    """Return whether a message answers this question: with its number, and about the same name."""
    if len(answer) < HEADER.size or answer[:2] != question[:2] or not _flags(answer) & IS_ANSWER:
        return False
    asked = _asked(question)
    # Servers may write the name in the letters that they like.
    return answer[HEADER.size :][: len(asked)].lower() == asked.lower()


def texts_in(question: bytes, answer: bytes) -> list[str]:
    """Return the texts of an answer. Raises: AnswerUnreadable, HostUnreachable where the server failed."""
    if not is_answer_to(question, answer):
        raise AnswerUnreadable
    code = _flags(answer) & CODE
    if code not in {NO_ERROR, NO_SUCH_NAME}:
        raise HostUnreachable
    try:
        return _texts(answer, HEADER.size + len(_asked(question)), HEADER.unpack_from(answer)[3])
    except (struct.error, IndexError):
        raise AnswerUnreadable from None


def _texts(answer: bytes, place: int, records: int) -> list[str]:
    texts: list[str] = []
    for _ in range(min(records, TEXTS_MAX)):
        place = _after_name(answer, place)
        kind, space, _, length = RECORD.unpack_from(answer, place)
        place += RECORD.size
        if place + length > len(answer):
            raise IndexError
        if (kind, space) == (TXT, INTERNET):
            texts.append(_text(answer[place : place + length]))
        place += length
    return texts


def _text(data: bytes) -> str:
    """The strings of one record as one text."""
    parts: list[bytes] = []
    place = 0
    while place < len(data):
        end = place + 1 + data[place]
        parts.append(data[place + 1 : end])
        place = end
    return b"".join(parts).decode("utf-8", "replace")


def _after_name(answer: bytes, place: int) -> int:
    while True:
        length = answer[place]
        if length & POINTER == POINTER:
            return place + 2
        place += 1 + length
        if length == 0:
            return place


def _question(name: str) -> bytes:
    labels = name.encode("ascii").removesuffix(b".").split(b".")
    written = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    header = HEADER.pack(secrets.randbits(16), RECURSION_DESIRED, 1, 0, 0, 1)
    size = b"\0" + RECORD.pack(OPT, DATAGRAM_BYTES, 0, 0)
    return header + written + struct.pack("!HH", TXT, INTERNET) + size


def _asked(question: bytes) -> bytes:
    """The name, type and class in a question of ours."""
    return question[HEADER.size : _after_name(question, HEADER.size) + 4]


def _flags(message: bytes) -> int:
    flags: int = HEADER.unpack_from(message)[1]
    return flags


def _configured() -> list[Place]:
    try:
        lines = CONFIGURATION.read_text().splitlines()
    except OSError:
        return []
    named = [words[1] for line in lines if len(words := line.split()) > 1 and words[0] == "nameserver"]
    return [(address, PORT) for address in named]
