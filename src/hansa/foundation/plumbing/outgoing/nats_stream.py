"""A stream of a NATS server (JetStream): messages are published in order, each once, and acknowledged.

- A message bears an id (`Nats-Msg-Id`): the server drops one whose id it received within the last DUPLICATE_SECONDS.
- A connection is made once. After a failure its owner opens another one and asks for the last message.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

CONNECT_SECONDS = 5.0
ACKNOWLEDGE_SECONDS = 30.0
DUPLICATE_SECONDS = 600.0
AT_ONCE = 4000
ID_HEADER = "Nats-Msg-Id"


class StreamUnreachable(Exception):
    """The server did not answer, or a message was not acknowledged in time; the message says which."""


class StreamRefused(Exception):
    """The server, its stream or this installation cannot take the messages; trying again is of no use."""


class StreamMessage(msgspec.Struct, frozen=True):
    """A message with an id that no other one of the stream has."""

    id: str
    subject: str
    headers: Mapping[str, str]
    payload: bytes


class NatsStream:
    """An open stream."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name

    async def last_header(self, header: str) -> str | None:
        """The header of the newest message; None of an empty stream. Raises: StreamUnreachable."""
        async with _failures():
            state = (await self._stream.stream_info(self._name)).state
            if not state.messages:
                return None
            last = await self._stream.get_msg(self._name, seq=state.last_seq)
        return (last.headers or {}).get(header)

    async def publish(self, messages: Sequence[StreamMessage]) -> None:
        """Publish in order; every message is stored by the server when this returns.

        Raises: StreamUnreachable, StreamRefused. Any number of the first messages may then be stored.
        """
        async with _failures(), asyncio.timeout(ACKNOWLEDGE_SECONDS):
            acknowledged = [
                await self._stream.publish_async(
                    one.subject, one.payload, stream=self._name, headers={**one.headers, ID_HEADER: one.id}
                )
                for one in messages
            ]
            await asyncio.gather(*acknowledged)


@asynccontextmanager
async def nats_stream(
    url: str, name: str, subjects: str, *, credentials: Path | None = None
) -> AsyncIterator[NatsStream]:
    """The stream of that name; made for these subjects, on disk and without a limit, where the server has none.

    Raises: StreamUnreachable, StreamRefused.
    """
    nats, errors = _library()
    more: dict[str, Any] = {} if credentials is None else {"user_credentials": str(credentials)}
    async with _failures():
        connection = await nats.connect(
            url,
            connect_timeout=CONNECT_SECONDS,
            allow_reconnect=False,
            # Its default is sixty attempts with pauses of two seconds, also for the first connection.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            error_cb=_ignored,
            **more,
        )
    try:
        context = connection.jetstream(publish_async_max_pending=AT_ONCE)
        async with _failures():
            try:
                await context.stream_info(name)
            except errors.NotFoundError:
                await context.add_stream(name=name, subjects=[subjects], duplicate_window=DUPLICATE_SECONDS)
        yield NatsStream(context, name)
    finally:
        await connection.close()


async def _ignored(_: Exception) -> None:
    """Errors reach the call that meets them; the library would print them as well."""


@asynccontextmanager
async def _failures() -> AsyncIterator[None]:
    """Raises: StreamUnreachable, StreamRefused."""
    from nats.errors import AuthorizationError, MaxPayloadError
    from nats.errors import Error as NatsError
    from nats.js.errors import APIError, NoStreamResponseError, ServiceUnavailableError

    try:
        yield
    except (ServiceUnavailableError, NoStreamResponseError) as error:
        raise StreamUnreachable("the server has no JetStream, or its stream is not available") from error
    except MaxPayloadError as error:
        raise StreamRefused("an event is larger than max_payload of the server; raise it") from error
    except AuthorizationError as error:
        raise StreamRefused(f"the server refused the credentials: {error}") from error
    except APIError as error:
        raise StreamRefused(f"the server refused: {error.description}") from error
    except TimeoutError as error:
        raise StreamUnreachable("no acknowledgement in time") from error
    except (NatsError, OSError) as error:
        raise StreamUnreachable(str(error) or type(error).__name__) from error


def _library() -> tuple[Any, Any]:
    """The package that speaks NATS, and its errors of streams. Raises: StreamRefused."""
    try:
        import nats
        import nats.js.errors
    except ImportError:
        raise StreamRefused("NATS needs the package nats-py: pip install 'nats-py<3,>=2.16'") from None
    return nats, nats.js.errors
