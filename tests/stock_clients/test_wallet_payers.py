"""The paying client with an account of eth_account, at a service as the x402 package has it; both unmodified."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hansa_client import Registry
from hansa_client.pay import PayingClient, paying
from tests.client.paid import priced_card
from tests.client.x402_service import Signed
from tests.hostile.served import serve
from tests.pinned_tools import PinnedTools
from tests.registry import DatabaseFarm, card_of
from tests.rooms.ledger.purses import Purses, open_purses
from tests.stock_clients.running_app import running, terms_of
from tests.stock_clients.tools import HERE, installed
from tests.wallets import TestWallet

PRICE_MINOR, PRICE = "5000000", Decimal("0.05")


class EthAccount:
    """An account of eth_account, in the environment where it is installed."""

    def __init__(self, tools: PinnedTools, wallet: TestWallet) -> None:
        self._tools, self._wallet = tools, wallet
        self.address = wallet.address
        shutil.copy(HERE / "sign_typed.py", tools.home / "sign_typed.py")

    def sign_typed_data(self, *, full_message: dict[str, Any]) -> Signed:
        key = f"0x{self._wallet.key.private_numbers().private_value:064x}"
        script = self._tools.home / "sign_typed.py"
        done = self._tools.run([self._tools.python, script, key, json.dumps(full_message)])
        assert done.returncode == 0, done.stderr
        return Signed(bytes.fromhex(done.stdout.strip().removeprefix("0x")))


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("wallet_payers")) as purses:
        yield purses
        await purses.prove()


async def test_the_kit_pays_a_stock_service_by_a_wallet_of_eth_account(
    purses: Purses, tmp_path: Path
) -> None:
    tools, payee, payer = await asyncio.to_thread(installed), await purses.agent(), await purses.agent("1")
    wallet = TestWallet()
    assert (await wallet.bind(payer)).status_code == 200
    async with serve(purses.registry) as served, httpx2.AsyncClient() as http:
        terms = await terms_of(http, served.url, payee, PRICE_MINOR)
        async with running(tools, terms) as url:
            card = card_of("Paid", **priced_card(purses.registry, url))
            written = await http.put(
                f"{served.url}/api/v1/agent-cards/{payee.did}",
                json={"card_data": card},
                headers=purses.developer.headers,
            )
            assert written.status_code == 200, written.text

            def pay() -> httpx2.Response:
                account = EthAccount(tools, wallet)
                journal = tmp_path / "payments.db"
                with (
                    Registry(served.url) as registry,
                    PayingClient(registry, max_amount="1", journal=journal, wallet=account) as client,
                ):
                    return client.get(f"{url}/answer", extensions=paying(payee=payee.did))

            answer = await asyncio.to_thread(pay)
    assert (answer.status_code, answer.json()["answer"]) == (200, 42), answer.text
    assert Decimal(await payee.balance()) == PRICE
