"""A client that a generator makes of the served description works."""

import asyncio
from pathlib import Path

from tests.openapi.tools import installed
from tests.registry import StartRegistry


async def test_a_generated_client_registers_creates_agents_and_pays(
    start_registry: StartRegistry, tmp_path: Path
):
    tools = await asyncio.to_thread(installed)
    registry = await start_registry()
    document, package = tmp_path / "openapi.json", tmp_path / "hansa_api"
    document.write_bytes((await registry.get("/openapi.json")).content)
    assert await asyncio.to_thread(tools.generate_client, document, package) == ""
    async with registry.listening() as place:
        done = await asyncio.to_thread(tools.use_client, package, f"http://{place}")
    assert done.returncode == 0, done.stderr
