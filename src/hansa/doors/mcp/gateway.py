"""Gateway mode: three tools in place of the list, for clients that take few tools."""

from typing import Any

from pydantic import ValidationError

from hansa.foundation.values.errors import Refused

from . import inputs
from .answers import Shaped, shaped
from .exchange import Exchange, Offered
from .refusals import ToolUnknown, invalid, refusal
from .tools import Tool

CALL = "call_tool"
FOUND_MAX = 10


async def _search(exchange: Exchange, given: inputs.SearchTools) -> Shaped:
    words = given.query.lower().split()

    def hits(tool: Offered) -> int:
        text = f"{tool.name} {tool.description}".lower()
        return sum(word in text for word in words)

    found = sorted(exchange.tools.values(), key=lambda tool: (-hits(tool), tool.name))
    shown = [tool for tool in found if hits(tool) or not words]
    names = [{"name": tool.name, "description": tool.description} for tool in shown]
    return shaped({"tools": names if not words else names[:FOUND_MAX]}, ())


async def _describe(exchange: Exchange, given: inputs.DescribeTool) -> Shaped:
    tool = exchange.tool(given.name)
    described = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    return shaped(described, ())


GATEWAY: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search_tools",
            None,
            inputs.SearchTools,
            "Search the tools of this registry by words; without words all are listed.",
            _search,
            reads=True,
        ),
        Tool(
            "describe_tool",
            None,
            inputs.DescribeTool,
            "Describe one tool with the schema of its arguments.",
            _describe,
            reads=True,
        ),
    )
}
CALL_DESCRIPTION = "Call one tool of this registry with its arguments."


async def carry_out(exchange: Exchange, name: str, arguments: dict[str, Any]) -> Shaped:
    """The result of one of the three tools. Raises: ToolUnknown."""
    if name in GATEWAY:
        return await GATEWAY[name].carry_out(exchange, arguments)
    if name != CALL:
        raise ToolUnknown
    try:
        given = inputs.CallTool.model_validate(arguments)
        tool = exchange.tool(given.name)
    except ValidationError as error:
        return invalid(error)
    except Refused as error:
        return refusal(error)
    return await tool.carry_out(exchange, given.arguments)
