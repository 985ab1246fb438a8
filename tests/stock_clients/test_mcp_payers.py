"""The x402 client for MCP calls an agent through its tools at a registry, and a service as the x402 package has it is paid; both unmodified."""

import asyncio
import json
import shutil
import socket
from decimal import Decimal

import httpx2
import pytest

from tests.hostile.served import serve
from tests.registry import DatabaseFarm, card_of
from tests.rooms.ledger.purses import open_purses
from tests.stock_clients.running_app import running, terms_of
from tests.stock_clients.tools import HERE, installed
from tests.wallets import TestWallet

PRICE_MINOR, PRICE = "25000000", Decimal("0.25")
SCRIPT = "pay_mcp.py"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def test_a_tool_is_paid_by_a_wallet_through_the_stock_client_of_mcp(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tools, port = await asyncio.to_thread(installed), free_port()
    place = f"127.0.0.1:{port}"
    shutil.copy(HERE / SCRIPT, tools.home / SCRIPT)
    async with (
        open_purses(database_farm, tmp_path_factory.mktemp("mcp_payers")) as purses,
        serve(purses.registry, OUTGOING_ALLOW_USER_HOSTS=place) as served,
        httpx2.AsyncClient() as http,
    ):
        payee, payer, wallet = await purses.agent(), await purses.agent("1"), TestWallet()
        assert (await wallet.bind(payer)).status_code == 200
        terms = await terms_of(http, served.url, payee, PRICE_MINOR)
        async with running(tools, {**terms, "port": port}) as url:
            interface = {"url": f"{url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            card = card_of("Paid", supportedInterfaces=[interface], pricing={"base_rate": str(PRICE)})
            written = await http.put(
                f"{served.url}/api/v1/agent-cards/{payee.did}",
                json={"card_data": card},
                headers=purses.developer.headers,
            )
            assert written.status_code == 200, written.text
            options = {
                "url": f"{served.url}/mcp/agents/{payee.did}",
                "tool": "main",
                "arguments": {"message": "hi"},
                "key": f"0x{wallet.key.private_numbers().private_value:064x}",
                **{name: terms[name] for name in ("network", "asset")},
            }
            command = [tools.python, tools.home / SCRIPT, json.dumps(options)]
            done = await asyncio.to_thread(tools.run, command)
            assert done.returncode == 0, done.stderr
        outcome = json.loads(done.stdout)
        assert (outcome["is_error"], outcome["paid"]) == (False, True), outcome
        assert '"parts":[{"text":"hi"}]' in outcome["text"]
        assert (outcome["payment"]["success"], outcome["payment"]["payer"]) == (True, wallet.address)
        assert Decimal(await payee.balance()) == PRICE
        await purses.prove()
