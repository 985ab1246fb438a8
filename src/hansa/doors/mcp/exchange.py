"""One request to the tools: its caller, and the routes that its tools call within the process."""

import time
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import msgspec
from fastapi import Request

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.telemetry.log import REQUEST_ID
from hansa.foundation.plumbing.telemetry.request_log import RequestLine
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.in_process import InCommit, InnerAnswer, InnerCall, call_within
from hansa.foundation.plumbing.web.limits import LeasedLimit
from hansa.foundation.values.errors import TooManyRequests, Unauthorized
from hansa.rooms import operations, people

from .answers import Shaped
from .principals import Principal
from .refusals import ToolUnknown, too_many

CALLS_A_MINUTE, MONEY_CALLS_A_MINUTE = 120, 20
# Five calls cost one statement that commits.
CALL_BLOCKS = 24

Hints: TypeAlias = dict[str, bool]
"""Annotations of a tool: read_only, destructive, idempotent, open_world."""

CALLS: Slot[LeasedLimit] = Slot(
    "mcp: calls of tools",
    build=lambda runtime: LeasedLimit(runtime.database, "mcp", CALLS_A_MINUTE, blocks=CALL_BLOCKS),
)
MONEY_CALLS: Slot[LeasedLimit] = Slot(
    "mcp: calls of tools that move units",
    build=lambda runtime: LeasedLimit(runtime.database, "mcp-money", MONEY_CALLS_A_MINUTE),
)


class Offered(Protocol):
    """A tool as it is listed, described and called. `moves_units`: a call may pay, send or give back units."""

    @property
    def name(self) -> str: ...
    @property
    def scope(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def hints(self) -> Hints: ...

    async def carry_out(self, exchange: "Exchange", arguments: dict[str, Any]) -> Shaped:
        """The result of a call; every refusal is one."""


class Exchange(msgspec.Struct, frozen=True):
    """A request to the tools; without a principal it is anonymous.

    `tools` are those that the caller has here, by name. `payment` is the payment of x402 beside the arguments of a call.
    """

    request: Request
    runtime: Runtime
    principal: Principal | None
    tools: Mapping[str, Offered]
    is_gateway: bool = False
    payment: Any = None

    def tool(self, name: str) -> Offered:
        """Raises: ToolUnknown."""
        tool = self.tools.get(name)
        if tool is None:
            raise ToolUnknown(f"There is no tool {name[:100]!r} here.")
        return tool

    @property
    def caller(self) -> Principal:
        """The caller of a tool that has a scope. Raises: Unauthorized."""
        if self.principal is None:
            raise Unauthorized
        return self.principal

    async def ask(
        self, call: InnerCall, caller: Developer | Agent | None, in_commit: InCommit | None = None
    ) -> InnerAnswer:
        """The answer of a route to this caller."""
        return await call_within(self.request, call, caller, in_commit)

    async def admit(self, *, moves_units: bool) -> None:
        """Count a call of a tool. Raises: TooManyCalls."""
        if self.principal is None:
            return
        try:
            await CALLS.of(self.runtime).admit(self.principal.name)
            if moves_units:
                await MONEY_CALLS.of(self.runtime).admit(self.principal.name)
        except TooManyRequests as error:
            raise too_many(error) from None

    def note(self, tool: str, shown: Shaped, began: float, key: str | None) -> None:
        """Note the call of a tool in the request log of the person whose account it is."""
        if self.principal is None:
            return
        principal = self.principal
        line = RequestLine(
            at=time.time(),
            method="POST",
            raw_path=b"/mcp",
            route=f"mcp:{tool}",
            status=shown.status,
            seconds=time.perf_counter() - began,
            request_id=REQUEST_ID.get() or b"",
        )
        connection, sent_key = principal.connection, key.encode() if key else None
        client = connection.grant.client if connection else None
        grant_id = connection.grant_id if connection else None
        call = people.Call(principal.did, line, sent_key, client, grant_id)
        people.CALLS.of(self.runtime).note(principal.developer_id, call)
        if principal.did is not None:
            operations.NOTED.of(self.runtime).note_request(principal.did, line.at, line.status)


def members(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    """The arguments without these members."""
    return {name: value for name, value in arguments.items() if name not in names}
