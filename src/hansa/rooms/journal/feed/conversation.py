"""Messages of a client on its socket, and the causes that end the conversation."""

import asyncio
from contextlib import suppress
from typing import Any

from fastapi import WebSocket, WebSocketDisconnect

from hansa.foundation.plumbing.web.bodies import parse_json
from hansa.foundation.values.errors import Forbidden, Refused, Unauthorized, Unavailable

from . import rules
from .bearer import Bearer
from .errors import ActionUnknown, ChannelRefused, ChannelUnknown, MessageTooLarge
from .live_feed import LiveFeed
from .messages import message, refusal
from .reader import Reader
from .replays import REPLAYED

MESSAGE_MAX_BYTES = 4096
SILENT_SECONDS = 25.0
"""A keep-alive is due within a minute, and a credential that ended is noticed as soon."""
CLOSE_SECONDS = 5.0
POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013


class Conversation:
    """One socket from its welcome to its end."""

    def __init__(self, websocket: WebSocket, feed: LiveFeed, reader: Reader, bearer: Bearer) -> None:
        self._websocket = websocket
        self._feed = feed
        self._reader = reader
        self._bearer = bearer

    async def run(self, scope: str) -> None:
        """Talk until the client leaves, the process stops, the reader is lost or its credential ends."""
        self._reader.send(message("welcome", scope=scope, replay=REPLAYED, keepalive_seconds=SILENT_SECONDS))
        sending, _, watching = tasks = [
            asyncio.create_task(part) for part in (self._reader.keep_sending(), self._listen(), self._watch())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()
        if not self._reader.lost.is_set() and watching in done:
            await self._close(POLICY_VIOLATION)
        elif self._reader.lost.is_set() and sending in done:
            # A client that did not receive the last message would not receive a close frame either.
            await self._close(TRY_AGAIN_LATER)

    async def _listen(self) -> None:
        while (received := await self._websocket.receive())["type"] == "websocket.receive":
            await self._answer(received.get("text"), received.get("bytes"))
            # The next message is read once this one is answered.
            await self._reader.settled()

    async def _answer(self, text: str | None, octets: bytes | None) -> None:
        channel = None
        try:
            client_message = _parsed(text.encode() if text is not None else octets or b"")
            named = client_message.get("channel")
            channel = named if isinstance(named, str) else None
            await self._act(client_message.get("action"), channel)
        except Refused as error:
            self._reader.send(refusal(error, channel))

    async def _act(self, action: object, name: str | None) -> None:
        if action == "ping":
            self._reader.send(message("pong"))
        elif action == "subscribe":
            if name is None:
                raise ChannelUnknown
            follower = await self._bearer.evaluate([name]) if rules.is_private(name) else rules.Follower()
            await self._feed.subscribe(self._reader, rules.channel_for(follower, name))
        elif action == "unsubscribe":
            if name is None:
                raise ChannelUnknown
            self._leave(name)
            self._reader.send(message("unsubscribed", channel=name))
        else:
            raise ActionUnknown

    async def _watch(self) -> None:
        """Keep a silent connection alive. Returns when the credential has ended, or the last message was not received."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SILENT_SECONDS):
                    await self._reader.doubted.wait()
            if self._reader.lost.is_set():
                break
            self._reader.doubted.clear()
            try:
                await self._authenticate_again()
            except (Unauthorized, Forbidden) as error:
                self._reader.send(refusal(error))
                await self._reader.settled()
                return
            except Unavailable:
                # Whether it still has the right is not known at the moment, and nothing is sent either.
                continue
            if self._reader.was_silent():
                self._reader.send(message("keepalive"))
        await asyncio.sleep(CLOSE_SECONDS)

    async def _authenticate_again(self) -> None:
        """Judge the holder, and leave the channels that are theirs no more. Raises: as `Bearer.judge`."""
        # What is subscribed to meanwhile is judged there.
        followed = [name for name in self._reader.channels if rules.is_private(name)]
        follower = await self._bearer.evaluate(followed)
        for name in followed:
            try:
                rules.channel_for(follower, name)
            except ChannelRefused as error:
                if self._leave(name):
                    self._reader.send(refusal(error, name))

    def _leave(self, name: str) -> bool:
        subscribed = self._reader.channels.get(name)
        if subscribed is not None:
            self._feed.unsubscribe(self._reader, subscribed)
        return subscribed is not None

    async def _close(self, code: int) -> None:
        # The client may have left in the meantime.
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._websocket.close(code)


def _parsed(text: bytes) -> dict[str, Any]:
    if len(text) > MESSAGE_MAX_BYTES:
        raise MessageTooLarge
    client_message = parse_json(text)
    if not isinstance(client_message, dict):
        raise ActionUnknown
    return client_message
