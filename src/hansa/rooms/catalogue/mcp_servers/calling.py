"""Calls of one MCP server by the guarded client: one deadline and one number of bytes for all of them."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec

from hansa.foundation.plumbing.outgoing import (
    Answer,
    AnswerTooLarge,
    CallLimits,
    NamedBy,
    Outgoing,
    OutgoingTimeout,
    OutgoingTrouble,
)

from . import protocol
from .protocol import Message, Spoken

END_SECONDS = 2.0


class Reply(msgspec.Struct, frozen=True):
    """Answer to one request, and the JSON-RPC response in it, if there is one."""

    answer: Answer
    message: dict[str, Any] | None


class McpCalls:
    """Conversation with the server at `url` for `seconds`, with answers of `body_bytes` in all; `at_once` as in `CallLimits`."""

    def __init__(
        self, outgoing: Outgoing, url: str, *, seconds: float, body_bytes: int, at_once: int = 1
    ) -> None:
        self._outgoing = outgoing
        self._url = url
        self._until = monotonic() + seconds
        self._bytes_left = body_bytes
        self._at_once = at_once
        self.spoken: Spoken | None = None

    async def begin(self) -> Answer:
        """Find out what the server speaks, `spoken`: None where it speaks no MCP. Returns the answer that shows it.

        Raises: OutgoingTrouble.
        """
        asked = uuid4().hex
        reply = await self._exchange(protocol.request(protocol.PROBE, asked, protocol.DISCOVER, {}), asked)
        self.spoken = protocol.read_discovered(reply.message)
        if self.spoken is not None or protocol.wants_credentials(reply.answer):
            return reply.answer
        asked = uuid4().hex
        reply = await self._exchange(protocol.initialize(asked), asked)
        self.spoken = protocol.read_initialized(reply.message, reply.answer)
        if self.spoken is not None:
            await self._send(protocol.initialized(self.spoken))
        return reply.answer

    async def ask(
        self, method: str, params: Mapping[str, Any], id_: str, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request to a server whose revision is known. Raises: OutgoingTrouble."""
        assert self.spoken is not None, "the conversation has begun"
        message = protocol.request(self.spoken, id_, method, params)
        return await self._exchange(Message(message.body, {**message.headers, **(headers or {})}), id_)

    async def end(self) -> None:
        """End the session of a server that has one; a server that does not answer ends it by itself."""
        if self.spoken is None or self.spoken.session is None:
            return
        headers = protocol.initialized(self.spoken).headers
        limits = CallLimits(END_SECONDS, 0, self._at_once)
        try:
            await self._outgoing.send(
                "DELETE", self._url, named_by=NamedBy.USER, headers=headers, limits=limits
            )
        except OutgoingTrouble:
            return

    async def _exchange(self, message: Message, id_: str) -> Reply:
        answer = await self._send(message)
        return Reply(answer, protocol.read_message(answer, id_))

    async def _send(self, message: Message) -> Answer:
        left = self._until - monotonic()
        if left <= 0:
            raise OutgoingTimeout
        if self._bytes_left <= 0:
            raise AnswerTooLarge
        limits = CallLimits(left, self._bytes_left, self._at_once)
        try:
            # A turn at the host is waited for within the deadline too: one conversation waits for several.
            async with asyncio.timeout(left):
                answer = await self._outgoing.post(
                    self._url, message.body, named_by=NamedBy.USER, headers=message.headers, limits=limits
                )
        except TimeoutError:
            raise OutgoingTimeout from None
        self._bytes_left -= len(answer.body)
        return answer
