"""Tools for a model of an agent framework: find agents, quote a call, and pay for it within limits that the program sets.

`AsyncBuyingTools` is for event loops, `BuyingTools` for threads; `frameworks` makes the tools of a framework of them.
"""

from .asynchronous.buying import AsyncBuyingTools
from .frameworks import crewai_tools, langchain_tools, openai_agents_tools, pydantic_ai_tools
from .synchronous.buying import BuyingTools

__all__ = [
    "AsyncBuyingTools",
    "BuyingTools",
    "crewai_tools",
    "langchain_tools",
    "openai_agents_tools",
    "pydantic_ai_tools",
]
