"""Services that others' code guards with x402, and that settle at a registry under test."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tests.pinned_tools import PinnedTools
from tests.registry import TestAgent
from tests.stock_clients.tools import HERE

START_SECONDS = 60


async def terms_of(http: httpx2.AsyncClient, registry: str, payee: TestAgent, amount: str) -> dict[str, Any]:
    """Return the terms of a service that wants so many minor units for its payee, from wallets of a registry."""
    supported = (await http.get(f"{registry}/x402/supported")).json()["kinds"]
    kind = next(one for one in supported if one["network"].startswith("eip155:"))
    wallets = await http.get(f"{registry}/api/v1/agents/me/wallets", headers=payee.headers)
    return {
        "facilitator": f"{registry}/x402",
        "payTo": wallets.json()["receive_address"],
        "network": kind["network"],
        "asset": kind["extra"]["asset"],
        "amount": amount,
        "extra": {name: kind["extra"][name] for name in ("name", "version")},
    }


@asynccontextmanager
async def running(tools: PinnedTools, options: dict[str, Any]) -> AsyncIterator[str]:
    """The address of a running paid_app.py."""
    process = await asyncio.create_subprocess_exec(
        tools.python, HERE / "paid_app.py", json.dumps(options), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("ready "), line
        yield line.split()[1]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
