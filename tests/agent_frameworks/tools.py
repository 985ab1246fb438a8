"""Agent frameworks, unmodified: `python -m tests.agent_frameworks.tools NAME` installs those of a lock file."""

import sys

from tests.pinned_tools import PinnedTools

DESCRIPTIONS = {
    "agent_frameworks": "LangChain, the OpenAI Agents SDK and Pydantic AI",
    "crewai": "CrewAI",
}


def installed(name: str) -> PinnedTools:
    """The frameworks, installed if they are not yet, or not those of the lock file."""
    tools = PinnedTools(name, None, DESCRIPTIONS[name])
    tools.ready()
    return tools


if __name__ == "__main__":
    installed(sys.argv[1])
