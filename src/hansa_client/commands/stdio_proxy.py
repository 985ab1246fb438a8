"""Proxy between an MCP client on the standard streams and the tools of a registry (specification 8, section 2).

- One JSON-RPC message a line in, one a line out; standard output has nothing else.
- Each message is one request to `/mcp/rpc` with the credential of this machine, which the client never sees.
- A failure is the JSON-RPC error of its request and one sentence on standard error.
- The end of the input ends the proxy, after the answers that are under way; a signal ends it at once. A payment under way is
  safe: its intent is paid once, and a repeat gets the first answer.
"""

import asyncio
import os
import sys
import threading
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import IO, Any, Protocol

import msgspec
import typer

from hansa_client.calls import NOT_READABLE, Answer, Call
from hansa_client.errors import HansaError, Refusal

from .printing import one_line

ADDRESS = "/mcp/rpc"
PARSE_ERROR, INVALID_REQUEST, SERVER_ERROR = -32700, -32600, -32000
LINE_MAX_BYTES = 8 * 1024 * 1024
REQUESTS_MAX = 32
"""Requests under way; the next line is read when one of them has ended."""
EXTRA_SECONDS = 60.0
"""Seconds that a purchase may take longer than a usual request."""
VERSION_META = "io.modelcontextprotocol/protocolVersion"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# Of these an act is done once, however often it is sent.
ONCE = ("intent", "request_id")


class Sends(Protocol):
    """Sends a call to the registry with the credential of this machine."""

    async def __call__(self, call: Call) -> Answer:
        """Raises: HansaError."""
        ...


class StdioProxy:
    """One client; `mode` is that of the tool list (`gateway`), or None."""

    def __init__(self, send: Sends, *, mode: str | None, program: str) -> None:
        self._send = send
        self._query = {"mode": mode}
        self._program = program
        self._version: str | None = None
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    async def run(self, source: IO[bytes]) -> None:
        """Carry messages until the input ends. Raises: OSError where the output is closed."""
        places = asyncio.Semaphore(REQUESTS_MAX)
        async with asyncio.TaskGroup() as running, aclosing(_lines(source)) as lines:
            async for line in lines:
                await places.acquire()
                task = running.create_task(self._carry(line))
                task.add_done_callback(lambda _: places.release())

    async def _carry(self, line: bytes | None) -> None:
        if line is None:
            sentence = f"A message of more than {LINE_MAX_BYTES} bytes was not sent."
            self._refuse(None, INVALID_REQUEST, sentence)
            return
        try:
            message = msgspec.json.decode(line)
        except NOT_READABLE as error:
            self._refuse(None, PARSE_ERROR, f"A line of the input is no JSON: {error}.")
            return
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "A line of the input is not one JSON-RPC message.")
        elif message.get("method") == "notifications/cancelled":
            self._cancel(message)
        elif isinstance(message.get("method"), str):
            await self._request(message, line)

    async def _request(self, message: Mapping[str, Any], line: bytes) -> None:
        """Send a request or notification, and print its answer; the client's own answers are to nobody, and are dropped before."""
        is_request, number = "id" in message, message.get("id")
        is_named = is_request and isinstance(number, str | int) and number not in self._tasks
        task = asyncio.current_task()
        assert task is not None
        if is_named:
            self._tasks[number] = task
        try:
            answer = await self._send(self._call_of(message, line))
        except Refusal as refusal:
            own = _own_error(refusal, number)
            if own is not None and is_request:
                _print(own)
            else:
                data = {"status": refusal.status, "code": refusal.code}
                self._refuse(number, SERVER_ERROR, str(refusal), data, is_answered=is_request)
        except HansaError as error:
            self._refuse(number, SERVER_ERROR, str(error), is_answered=is_request)
        else:
            if is_request:
                self._pass(message, answer)
        finally:
            if is_named:
                del self._tasks[number]

    def _call_of(self, message: Mapping[str, Any], line: bytes) -> Call:
        method = message["method"]
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(VERSION_META) if isinstance(meta, dict) else None
        headers = {"Mcp-Method": method, "Mcp-Name": params.get(NAMES.get(method, ""))} if version else {}
        headers["MCP-Protocol-Version"] = version or (None if method == "initialize" else self._version)
        arguments = params.get("arguments")
        is_once = isinstance(arguments, dict) and any(arguments.get(name) for name in ONCE)
        return Call(
            "POST",
            ADDRESS,
            query=self._query,
            json=msgspec.Raw(line),
            headers={name: _field(value) for name, value in headers.items() if isinstance(value, str)},
            is_idempotent=is_once,
            is_without_effect=method != "tools/call",
            extra_seconds=EXTRA_SECONDS,
        )

    def _pass(self, message: Mapping[str, Any], answer: Answer) -> None:
        try:
            content = msgspec.json.decode(answer.content)
        except NOT_READABLE:
            content = None
        if not isinstance(content, dict) or content.get("jsonrpc") != "2.0":
            sentence = "The registry did not answer with a JSON-RPC message: check its address."
            self._refuse(message.get("id"), SERVER_ERROR, sentence)
            return
        result = content.get("result")
        if message["method"] == "initialize" and isinstance(result, dict):
            self._version = result.get("protocolVersion")
        _print(answer.content)

    def _cancel(self, message: Mapping[str, Any]) -> None:
        params = message.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, str | int) and number in self._tasks:
            self._tasks[number].cancel()

    def _refuse(
        self, number: Any, code: int, sentence: str, data: Any = None, *, is_answered: bool = True
    ) -> None:
        if is_answered:
            error = {"code": code, "message": sentence} | ({} if data is None else {"data": data})
            _print(msgspec.json.encode({"jsonrpc": "2.0", "id": number, "error": error}))
        typer.echo(f"{self._program}: {one_line(sentence)}", err=True)


async def _lines(source: IO[bytes]) -> AsyncGenerator[bytes | None]:
    """Lines of the input that are not blank; None in place of one that is too long."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[bytes | None, bool]](1)

    def read() -> None:
        # The thread ends with the input, or with the process, which does not wait for it.
        with suppress(RuntimeError):
            while line := source.readline(LINE_MAX_BYTES):
                is_whole = len(line) < LINE_MAX_BYTES or line.endswith(b"\n")
                rest = line
                while not is_whole and rest and not rest.endswith(b"\n"):
                    rest = source.readline(LINE_MAX_BYTES)
                put((line if is_whole else None, False))
            put((None, True))

    def put(entry: tuple[bytes | None, bool]) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(entry), loop).result()

    threading.Thread(target=read, daemon=True).start()
    while True:
        line, is_end = await queue.get()
        if is_end:
            return
        if line is None or line.strip():
            yield line


def _own_error(refusal: Refusal, number: Any) -> bytes | None:
    """The JSON-RPC error that the registry answered with, under the id of the request; None where it answered otherwise."""
    error = refusal.members.get("error")
    if refusal.members.get("jsonrpc") != "2.0" or not isinstance(error, dict):
        return None
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "error": error})


def _field(value: str) -> str:
    """A value as a header field: visible ASCII as it is, all else in the wrapping of MCP."""
    if (
        value.isascii()
        and value.isprintable()
        and value == value.strip()
        and not value.startswith("=?base64?")
    ):
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def _print(message: bytes) -> None:
    """Raises: OSError."""
    # Past the buffer of the stream, which would fail once more at the end of the process.
    left = memoryview(msgspec.json.format(message, indent=-1) + b"\n")
    while left:
        left = left[os.write(sys.stdout.fileno(), left) :]
