"""The health check of an MCP server: what it speaks, and the tools that it lists. Nothing is run.

- A server is alive when it answers `server/discover` or `initialize`, or asks for credentials with the address of its metadata.
- Its tools are read from 10 pages at most, 512 KiB in all; of a longer list none is taken.
"""

from uuid import uuid4

from hansa.foundation.plumbing.outgoing import Answer, AnswerTooLarge, Outgoing, OutgoingTrouble
from hansa.rooms.catalogue.mcp_servers import protocol
from hansa.rooms.catalogue.mcp_servers.calling import McpCalls
from hansa.rooms.catalogue.mcp_servers.tools import Tools

from .liveness import TOO_MANY_REQUESTS
from .records import Probed, Sign

SECONDS = 10.0
BODY_BYTES = 512 * 1024
PAGES_MAX = 10


async def probe_server(outgoing: Outgoing, url: str) -> Probed:
    """Call a server; returns its liveness and its tools."""
    calls = McpCalls(outgoing, url, seconds=SECONDS, body_bytes=BODY_BYTES)
    try:
        answer = await calls.begin()
    except OutgoingTrouble as error:
        return Probed(Sign("unreachable", f"The server gave no answer: {error.reason}."))
    if calls.spoken is None:
        return Probed(_sign_of(answer))
    try:
        return await _tools_of(calls)
    except AnswerTooLarge:
        return Probed(Sign("alive", f"The list of tools is larger than {BODY_BYTES} bytes."))
    except OutgoingTrouble as error:
        return Probed(Sign("alive", f"The list of tools was not read: {error.reason}."))
    finally:
        await calls.end()


def _sign_of(answer: Answer) -> Sign:
    """The liveness of a server that begins no conversation."""
    if protocol.wants_credentials(answer):
        return Sign("alive")
    if answer.status == TOO_MANY_REQUESTS:
        return Sign(None)
    return Sign("unreachable", f"The answer ({answer.status}) is not an answer of an MCP server.")


async def _tools_of(calls: McpCalls) -> Probed:
    """The tools of a server; one that does not offer tools has none. Raises: OutgoingTrouble."""
    assert calls.spoken is not None
    listed: list[object] = []
    cursor: object = None
    if "tools" not in calls.spoken.capabilities:
        return Probed(Sign("alive"), Tools.of(listed))
    for _ in range(PAGES_MAX):
        params = {} if cursor is None else {"cursor": cursor}
        reply = await calls.ask(protocol.LIST_TOOLS, params, uuid4().hex)
        result = protocol.result_of(reply.message)
        tools, cursor = result.get("tools"), result.get("nextCursor")
        if not isinstance(tools, list):
            status = reply.answer.status
            return Probed(Sign("alive", f"The answer ({status}) is not a list of tools."))
        listed += tools
        if cursor is None:
            return Probed(Sign("alive"), Tools.of(listed))
    return Probed(Sign("alive", f"The list of tools has more than {PAGES_MAX} pages."))
