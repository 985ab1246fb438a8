"""Clients and servers of other protocols, unmodified: `python -m tests.stock_clients.tools` installs them."""

from pathlib import Path

from tests.pinned_tools import PinnedTools

HERE = Path(__file__).parent


def installed() -> PinnedTools:
    """The clients, installed if they are not yet, or not those of the lock files."""
    tools = PinnedTools("stock_clients", HERE, "the stock clients of A2A, x402, MCP and tiled logs")
    tools.ready()
    return tools


if __name__ == "__main__":
    installed()
