"""The calls of this process that are not written yet: noting one costs an append, however many there are.

At most 5,000 calls are kept between two writes, and the last 1,000 of one developer; further calls are not noted.
"""

import re
from collections import deque
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.telemetry.request_log import RequestLine
from hansa.foundation.plumbing.web.idempotency import KEY_PATTERN

CALLS_KEPT = 1000
CALLS_AT_ONCE = 5000


_KEY = re.compile(KEY_PATTERN)


class Call(msgspec.Struct, frozen=True, gc=False):
    """One answered request; `agent_did` where an agent asked, `sent_key` the Idempotency-Key as it was sent.

    `client` and `grant_id` where a client asked that the developer has connected.
    """

    agent_did: str | None
    line: RequestLine
    sent_key: bytes | None
    client: str | None = None
    grant_id: UUID | None = None

    @property
    def idempotency_key(self) -> str | None:
        """The idempotency key of the request, where it has the form of one."""
        text = "" if self.sent_key is None else self.sent_key.decode("latin-1")
        return text if _KEY.fullmatch(text) else None


class CallBatch:
    """Calls by the id of their developer, in the order of their ends."""

    def __init__(self) -> None:
        self._calls: dict[int, deque[Call]] = {}
        self._count = 0

    def note(self, developer_id: int, call: Call) -> None:
        """Keep a call until the next write."""
        gathered = self._calls.get(developer_id)
        if gathered is None or len(gathered) < CALLS_KEPT:
            if self._count >= CALLS_AT_ONCE:
                return
            self._count += 1
        if gathered is None:
            gathered = self._calls[developer_id] = deque(maxlen=CALLS_KEPT)
        gathered.append(call)

    def take(self) -> dict[int, deque[Call]]:
        """Return the gathered calls, and empty the batch."""
        taken, self._calls, self._count = self._calls, {}, 0
        return taken


CALLS: Slot[CallBatch] = Slot("people: calls that are not written yet", build=lambda _: CallBatch())
