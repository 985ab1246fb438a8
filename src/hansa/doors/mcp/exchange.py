"""One request to the tools: its caller, and the routes that its tools call within the process."""

import time
from typing import Any

import msgspec
from fastapi import Request

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.telemetry.log import REQUEST_ID
from hansa.foundation.plumbing.telemetry.request_log import RequestLine
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.plumbing.web.in_process import InCommit, InnerAnswer, InnerCall, call_within
from hansa.foundation.plumbing.web.limits import LeasedLimit
from hansa.foundation.values.errors import TooManyRequests, Unauthorized
from hansa.rooms import people

from .answers import Shaped
from .principals import Principal
from .refusals import TooManyCalls

CALLS_A_MINUTE, MONEY_CALLS_A_MINUTE = 120, 20

CALLS: Slot[LeasedLimit] = Slot(
    "mcp: calls of tools", build=lambda runtime: LeasedLimit(runtime.database, "mcp", CALLS_A_MINUTE)
)
MONEY_CALLS: Slot[LeasedLimit] = Slot(
    "mcp: calls of tools that move units",
    build=lambda runtime: LeasedLimit(runtime.database, "mcp-money", MONEY_CALLS_A_MINUTE),
)


class Exchange(msgspec.Struct, frozen=True):
    """A request to the tools; without a principal it is anonymous."""

    request: Request
    runtime: Runtime
    principal: Principal | None
    is_gateway: bool = False

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of the caller; none where it is anonymous."""
        return frozenset() if self.principal is None else self.principal.scopes

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
            seconds = int(error.headers["Retry-After"])
            raise TooManyCalls(error.detail, context={"retry_after": seconds}) from None

    def note(self, tool: str, shown: Shaped, began: float, key: str | None) -> None:
        """Note the call of a tool in the request log of the person whose account it is."""
        if self.principal is None:
            return
        status: int = shown.structured["status"] if shown.is_error else 200
        principal = self.principal
        line = RequestLine(
            at=time.time(),
            method="POST",
            raw_path=b"/mcp",
            route=f"mcp:{tool}",
            status=status,
            seconds=time.perf_counter() - began,
            request_id=REQUEST_ID.get() or b"",
        )
        connection, sent_key = principal.connection, key.encode() if key else None
        client = connection.grant.client if connection else None
        grant_id = connection.grant_id if connection else None
        call = people.Call(principal.did, line, sent_key, client, grant_id)
        people.CALLS.of(self.runtime).note(principal.developer_id, call)


def members(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    """The arguments without these members."""
    return {name: value for name, value in arguments.items() if name not in names}
