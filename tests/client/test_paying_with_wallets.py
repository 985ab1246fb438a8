"""A wallet pays for calls of services that x402 pays, and never twice for one call."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hansa.rooms.commerce.x402.networks import Networks
from hansa_client import AsyncRegistry
from hansa_client.pay import (
    AnswerLost,
    AsyncPayingClient,
    AsyncPendingPayments,
    Budget,
    BudgetExceeded,
    Entry,
    OfferDeclined,
    PaymentRefused,
    PaymentUnresolved,
    Progress,
    paying,
)
from hansa_client.pay.wallet import receive_address
from tests.client.paid import PRICE, priced_card
from tests.client.x402_service import ADDRESS, SigningWallet, X402Service, checksummed
from tests.registry import DatabaseFarm, TestAgent, TestRegistry, open_registry
from tests.wallets import required

MINOR = 5_000_000


@dataclass
class Market:
    """A payee that x402 pays, and a payer with a wallet."""

    registry: TestRegistry
    payee: TestAgent
    payer: TestAgent
    wallet: SigningWallet
    service: X402Service
    journal: Path

    def client(self, **options: Any) -> AsyncPayingClient:
        stated = {"budget": Budget.of(per_call="1"), "patience_seconds": 0, **options}
        return AsyncPayingClient(
            self.as_anyone(), journal=self.journal, wallet=self.wallet, transport=self.service, **stated
        )

    def as_anyone(self) -> AsyncRegistry:
        transport = httpx2.ASGITransport(app=self.registry.app)
        return AsyncRegistry(self.registry.settings.base_url, http_transport=transport)

    async def call(self, content: bytes = b"one", **options: Any) -> httpx2.Response:
        async with self.client(**options.pop("client", {})) as client:
            terms = paying(**{"payee": self.payee.did, **options})
            return await client.post(f"{ADDRESS}/work", content=content, extensions=terms)

    async def entry(self) -> Entry:
        """The newest payment."""
        async with self.client() as client:
            return (await asyncio.wrap_future(client.journal.entries()))[0]

    async def pending(self) -> list[Entry]:
        async with self.client() as client:
            return list(await AsyncPendingPayments(self.as_anyone(), client.journal).list())

    async def received(self) -> Decimal:
        return Decimal(await self.payee.balance())


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    dsn = await database_farm.fresh()
    directory = tmp_path_factory.mktemp("wallets")
    async with open_registry(dsn, directory, rate_limit_reads="off", rate_limit_writes="off") as registry:
        yield registry


@pytest.fixture
async def market(registry: TestRegistry, tmp_path: Path) -> Market:
    payee = await registry.agent(name="Payee", **priced_card(registry, ADDRESS))
    payer, wallet = await registry.agent(name="Payer"), SigningWallet()
    assert (await wallet.wallet.bind(payer)).status_code == 200
    terms = required(Networks.of(registry.settings), checksummed(receive_address(payee.did)), MINOR)
    service = X402Service(registry, terms)
    return Market(registry, payee, payer, wallet, service, tmp_path / "payments.db")


async def test_a_call_is_paid_by_a_wallet_and_answered(market: Market) -> None:
    before = await market.received()
    answer = await market.call()
    assert (answer.status_code, answer.json()) == (200, {"answer": 42})
    assert await market.received() - before == Decimal(PRICE)
    entry = await market.entry()
    assert (entry.progress, entry.amount, entry.payer) == (
        Progress.SETTLED,
        Decimal(PRICE),
        market.wallet.address,
    )
    assert market.service.executions == 1


async def test_an_attempt_that_was_lost_is_repeated_with_the_same_signature(market: Market) -> None:
    before = await market.received()
    market.service.plan.extend(["request lost", "503", "pending"])
    answer = await market.call(client={"patience_seconds": 60})
    assert answer.status_code == 200
    assert await market.received() - before == Decimal(PRICE)
    assert len(market.wallet.signed) == 1


async def test_a_payment_that_was_interrupted_is_continued_by_the_same_call_with_the_same_nonce(
    market: Market,
) -> None:
    before = await market.received()
    market.service.plan.append("request lost")
    with pytest.raises(PaymentUnresolved):
        await market.call()
    assert [one.progress for one in await market.pending()] == [Progress.SENT]
    assert (await market.call()).status_code == 200
    assert list(market.wallet.signed.values()) == [2]
    assert await market.received() - before == Decimal(PRICE)
    assert await market.pending() == []


async def test_a_call_whose_answer_was_lost_after_its_payment_is_not_paid_again(market: Market) -> None:
    before = await market.received()
    market.service.plan.append("answer lost")
    with pytest.raises(PaymentUnresolved):
        await market.call(call_id="report 7")
    for _ in range(2):
        with pytest.raises(AnswerLost):
            await market.call(call_id="report 7")
    assert (await market.entry()).progress is Progress.SETTLED
    assert await market.received() - before == Decimal(PRICE)
    assert (len(market.wallet.signed), market.service.executions) == (1, 1)


async def test_what_was_settled_meanwhile_is_found_out_at_the_registry(market: Market) -> None:
    market.service.plan.append("answer lost")
    with pytest.raises(PaymentUnresolved):
        await market.call()
    assert (await market.entry()).is_open
    assert await market.pending() == []
    assert (await market.entry()).progress is Progress.SETTLED


async def test_a_payment_that_was_refused_stays_pending_until_its_authorization_expires(
    market: Market,
) -> None:
    market.wallet.wallet = (other := SigningWallet()).wallet
    with pytest.raises(PaymentRefused, match="invalid_exact_evm_payload_signature"):
        await market.call()
    (entry,) = await market.pending()
    assert (entry.progress, entry.payer) == (Progress.UNDELIVERED, other.address)
    with sqlite3.connect(market.journal) as journal:
        journal.execute(
            "UPDATE wallet_authorization SET authorization = json_set(authorization, '$.members.validBefore', '1')"
        )
    assert await market.pending() == []
    assert (await market.entry()).progress is Progress.EXPIRED


async def test_a_payment_by_a_wallet_that_the_registry_never_ends_states_why(market: Market) -> None:
    market.wallet.wallet = SigningWallet().wallet
    with pytest.raises(PaymentRefused):
        await market.call()
    with sqlite3.connect(market.journal) as journal:
        journal.execute("UPDATE payment SET created_at = created_at - 86400")
    (entry,) = await market.pending()
    assert entry.detail == "The registry records no end of it: invalid_exact_evm_payload_signature."


async def test_what_a_wallet_does_not_sign_is_not_paid(market: Market) -> None:
    market.wallet.is_locked = True
    with pytest.raises(PermissionError):
        await market.call()
    assert (await market.entry()).progress is Progress.FAILED
    assert market.service.executions == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"amount": str(MINOR + 1)}, "signed card of its payee says"),
        ({"payTo": "0x" + "1" * 40}, "another address than that of"),
        ({"asset": "0x" + "2" * 40}, "another asset"),
        ({"extra": {"name": "USD Coin", "version": "2"}}, "another signing domain"),
        ({"amount": "-1"}, "whole number of minor units"),
        ({"amount": 5}, "whole number of minor units"),
    ],
)
async def test_a_wallet_signs_nothing_that_the_payees_signed_card_and_the_own_registry_do_not_support(
    market: Market, changed: dict[str, Any], said: str
) -> None:
    market.service.required = {**market.service.required, **changed}
    with pytest.raises(OfferDeclined, match=said):
        await market.call()
    assert market.wallet.signed == {}


async def test_a_wallet_pays_a_named_payee_within_the_budget(market: Market) -> None:
    with pytest.raises(OfferDeclined, match="state the DID of the `payee`"):
        await market.call(payee=None)
    with pytest.raises(BudgetExceeded):
        await market.call(max_amount="0.01")
    market.service.required["extra"] = {**market.service.required["extra"], "payee": market.payee.did}
    assert (await market.call(payee=None)).status_code == 200


async def test_a_requirement_of_another_network_is_returned_as_it_is(market: Market) -> None:
    market.service.required = {**market.service.required, "network": "eip155:8453"}
    assert (await market.call()).status_code == 402
    assert market.wallet.signed == {}
