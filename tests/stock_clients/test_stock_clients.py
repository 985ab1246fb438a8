"""Unmodified clients of x402 pay an agent through an unmodified service."""

import asyncio
import json
import shutil
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from hansa.doors.console.agent_page import interfaces_of, wallet_step
from tests.hostile.served import serve
from tests.pinned_tools import PinnedTools
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses
from tests.stock_clients.running_app import running, terms_of
from tests.stock_clients.tools import HERE, installed
from tests.wallets import TestWallet

PRICE_MINOR, PRICE, PRICE_AND_FEE = "25000000", Decimal("0.25"), Decimal("0.25125")


@dataclass(frozen=True)
class Shop:
    """A service that wants to be paid, run by others' code, and the agent that it is paid to."""

    tools: PinnedTools
    url: str
    payee: TestAgent
    network: str
    asset: str

    async def pay(self, client: str, wallet: TestWallet) -> dict[str, Any]:
        """Let a stock client pay for one call; return the outcome."""
        key = f"0x{wallet.key.private_numbers().private_value:064x}"
        script = self.tools.home / client
        shutil.copy(HERE / client, script)
        program = self.tools.node if client.endswith(".mjs") else self.tools.python
        done = await asyncio.to_thread(
            self.tools.run,
            [program, script, f"{self.url}/answer", key, self.network, self.asset],
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("stock")) as purses:
        yield purses
        await purses.prove()


@pytest.fixture(scope="module")
async def shop(purses: Purses) -> AsyncIterator[Shop]:
    tools, payee = await asyncio.to_thread(installed), await purses.agent()
    async with serve(purses.registry) as served, httpx2.AsyncClient() as http:
        terms = await terms_of(http, served.url, payee, PRICE_MINOR)
        async with running(tools, terms) as url:
            yield Shop(tools, url, payee, terms["network"], terms["asset"])


CLIENTS = ["pay_httpx.py", "pay_requests.py", "pay_fetch.mjs"]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=by_tier(CLIENTS[:1], CLIENTS, CLIENTS))
def refused_client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_stock_client_pays_and_gets_its_answer(purses: Purses, shop: Shop, client: str) -> None:
    payer, wallet = await purses.agent("1"), TestWallet()
    await wallet.bind(payer)
    before = Decimal(await shop.payee.balance())
    done = await shop.pay(client, wallet)
    assert done["status"] == 200, done
    assert json.loads(done["body"])["answer"] == 42
    payment = json.loads(b64decode(done["payment"]))
    assert (payment["success"], payment["network"]) == (True, shop.network)
    assert payment["payer"] == wallet.address
    assert payment["transaction"].startswith("tx-")
    assert Decimal(await shop.payee.balance()) - before == PRICE
    assert Decimal(await payer.balance()) == Decimal(1) - PRICE_AND_FEE


async def test_the_lines_to_copy_from_the_page_of_an_agent_pay(purses: Purses, shop: Shop) -> None:
    payer, wallet = await purses.agent("1"), TestWallet()
    await wallet.bind(payer)
    before = Decimal(await shop.payee.balance())
    interface = {"url": f"{shop.url}/answer", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    listed = interfaces_of({"supportedInterfaces": [interface]})
    (snippet,) = wallet_step(listed, shop.network, shop.asset)
    key = f"0x{wallet.key.private_numbers().private_value:064x}"
    command = [shop.tools.python, "-c", snippet.code]
    done = await asyncio.to_thread(shop.tools.run, command, WALLET_KEY=key)
    assert (done.returncode, json.loads(done.stdout or "{}").get("answer")) == (0, 42), done.stderr
    assert Decimal(await shop.payee.balance()) - before == PRICE


async def test_a_wallet_whose_agent_cannot_pay_gets_no_answer(
    purses: Purses, shop: Shop, refused_client: str
) -> None:
    payer, wallet = await purses.agent("0.25"), TestWallet()
    await wallet.bind(payer)
    before = await shop.payee.balance()
    done = await shop.pay(refused_client, wallet)
    assert done["status"] == 402, done
    assert "42" not in done["body"]
    assert (await payer.balance(), await shop.payee.balance()) == ("0.25", before)


async def test_a_wallet_that_no_agent_has_bound_gets_no_answer(shop: Shop, refused_client: str) -> None:
    before = await shop.payee.balance()
    assert (await shop.pay(refused_client, TestWallet()))["status"] == 402
    assert await shop.payee.balance() == before


async def test_a_call_without_payment_is_answered_with_what_is_required(shop: Shop) -> None:
    async with httpx2.AsyncClient() as http:
        answer = await http.get(f"{shop.url}/answer")
    required = json.loads(b64decode(answer.headers["payment-required"]))
    assert (answer.status_code, required["accepts"][0]["network"]) == (402, shop.network)
    assert required["accepts"][0]["amount"] == PRICE_MINOR
