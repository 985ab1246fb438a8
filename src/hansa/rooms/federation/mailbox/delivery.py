"""Post a request to a peer. A peer that does not answer is one error, with a reason that may be stored."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms.federation.identity import FederationOff
from hansa.rooms.federation.peer_trust import call_peer
from hansa.rooms.federation.peers import CALL_LIMITS, PeerRecord

OK = 200


class PeerUnavailable(Exception):
    """The peer did not answer, or not as the protocol has it; `reason` may be stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Answers(msgspec.Struct):
    """Messages in the answer of a peer. `reads_transfers`: it reads several transfers in one text."""

    messages: list[str]
    reads_transfers: bool = False


async def post(
    runtime: Runtime, peer: PeerRecord, path: str, body: Any, *, limits: CallLimits = CALL_LIMITS
) -> Answer:
    """Post a JSON body to a route of a peer; any status is an answer. Never within a transaction. Raises: PeerUnavailable."""
    try:
        return await call_peer(runtime, peer, "POST", path, body, limits=limits)
    except OutgoingTrouble as error:
        raise PeerUnavailable(error.reason) from None
    except (PeerClosed, FederationOff) as refusal:
        raise PeerUnavailable(refusal.code.lower()) from None


async def post_messages(
    runtime: Runtime, peer: PeerRecord, path: str, texts: Sequence[str], **members: object
) -> Answers:
    """Post messages, and further members beside them; the messages in answer. Never within a transaction. Raises: PeerUnavailable."""
    answer = await post(runtime, peer, path, {"messages": list(texts), **members})
    if answer.status != OK:
        raise PeerUnavailable(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=Answers)
    except msgspec.DecodeError:
        raise PeerUnavailable("unreadable_answer") from None
