"""The tools as agent frameworks take them. Each framework is an extra of this distribution, and is imported when it is used.

Names, arguments and descriptions come from the functions themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .asynchronous.buying import AsyncBuyingTools
from .synchronous.buying import BuyingTools

if TYPE_CHECKING:
    from agents import FunctionTool
    from crewai.tools import BaseTool as CrewTool
    from langchain_core.tools import BaseTool as LangChainTool
    from pydantic_ai import Tool as PydanticTool


def langchain_tools(tools: AsyncBuyingTools | BuyingTools) -> list[LangChainTool]:
    """Tools of LangChain and LangGraph (extra `langchain`): asynchronous ones for `ainvoke`, or those of threads for `invoke`."""
    from langchain_core.tools import StructuredTool

    part = "coroutine" if isinstance(tools, AsyncBuyingTools) else "func"
    return [StructuredTool.from_function(**{part: function}) for function in tools.functions]


def openai_agents_tools(tools: AsyncBuyingTools | BuyingTools) -> list[FunctionTool]:
    """Tools of the OpenAI Agents SDK (extra `openai-agents`)."""
    from agents import function_tool

    return [function_tool(function) for function in tools.functions]


def pydantic_ai_tools(tools: AsyncBuyingTools | BuyingTools) -> list[PydanticTool[None]]:
    """Tools of Pydantic AI (extra `pydantic-ai`)."""
    from pydantic_ai import Tool

    return [Tool(function, takes_ctx=False) for function in tools.functions]


def crewai_tools(tools: BuyingTools) -> list[CrewTool]:
    """Tools of CrewAI (extra `crewai`), whose agents work in threads."""
    from crewai.tools import tool

    return [tool(function.__name__)(function) for function in tools.functions]
