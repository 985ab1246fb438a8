"""Frame of this operator registry among its peers, and the requests of jobs to it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from hansa.foundation.plumbing.jobs import PutOff
from hansa.foundation.plumbing.outgoing import Answer, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms.federation.peers import PeerRecord, PeerUnknown, peer_by_name

OK = 200
Document = TypeVar("Document")


async def own_frame(tx: Tx, settings: Settings) -> PeerRecord | None:
    """The frame of this operator registry; None at a frame, and before its card was verified."""
    if not settings.is_operator:
        return None
    try:
        # A ledger id goes before a name: of this trust domain only the frame has it as its own.
        found = await peer_by_name(tx, settings.trust_domain)
    except PeerUnknown:
        return None
    return found if found.ledger_id == settings.trust_domain and found.is_member else None


async def ask_frame(runtime: Runtime, ask: Callable[[PeerRecord], Awaitable[Answer]]) -> Answer:
    """Return the frame's answer to `ask`, whatever its status is. Never within a transaction. Raises: PutOff."""
    frame = await runtime.database.query(lambda tx: own_frame(tx, runtime.settings))
    if frame is None:
        raise PutOff("the frame of this trust domain is not a peer yet")
    try:
        return await ask(frame)
    except OutgoingTrouble as error:
        raise PutOff(error.reason) from None
    except Refused as refusal:
        raise PutOff(refusal.code.lower()) from None


async def read_at_frame(
    runtime: Runtime, ask: Callable[[PeerRecord], Awaitable[Answer]], document: type[Document]
) -> Document:
    """The document that the frame answers with. Raises: PutOff, also for another status or an answer that cannot be read."""
    answer = await ask_frame(runtime, ask)
    if answer.status != OK:
        raise PutOff(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=document)
    except msgspec.DecodeError:
        raise PutOff("unreadable_answer") from None
