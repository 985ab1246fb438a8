"""A firm quote and the authorization of a wallet are each used once, whatever else happens at the same moment."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import parse_positive
from hansa.rooms import agents
from hansa.rooms.agents.secret import rotate_secret
from hansa.rooms.agents.wallets import store as wallets
from hansa.rooms.agents.wallets.bind import unbind_wallet
from hansa.rooms.commerce.payments import Authorized, AuthorizeOrder, Presented, authorize
from hansa.rooms.commerce.payments.quote import read_quote
from hansa.rooms.commerce.x402 import judging, wallet
from hansa.rooms.commerce.x402.networks import Networks
from hansa.rooms.commerce.x402.settlement import Settlement
from hansa.rooms.enforcement.suspend import reinstate_agents, suspend_agents
from tests.faults.payment_acts import PaymentWorld
from tests.payment_proof import prove_tokens
from tests.properties.interleaving import Choose, Director, UseCase, in_some_orders
from tests.properties.payment_stage import payment_stage
from tests.properties.proof import prove_book, prove_supply
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm
from tests.wallets import TestWallet, receive_address, required, signed

SAMPLE = by_tier(3, 40, 400)
# What an owner or an administrator does meanwhile.
DISTURBANCES = ("suspend the payer", "suspend the payee", "rotate the secret")
QUOTE_ACTS = ("authorize by the quote", *DISTURBANCES)
WALLET_ACTS = ("settle", "settle another with the nonce", "verify", "unbind the wallet", *DISTURBANCES)
ANOTHER_WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
Stage = tuple[PaymentWorld, Director, Developer]


@dataclass(frozen=True)
class Meeting:
    """A quote, and a wallet that has signed two payments with one nonce."""

    world: PaymentWorld
    owner: Developer
    quote_token: str
    payer_wallet: TestWallet
    payments: tuple[wallet.WalletPayment, wallet.WalletPayment]

    def act(self, name: str) -> UseCase:
        settings, caller = self.world.registry.settings, self.world.payments.caller.did
        first, second = self.payments
        address = bytes.fromhex(self.payer_wallet.address[2:])
        return {
            "authorize by the quote": self._authorized_by_the_quote,
            "settle": lambda tx: wallet._settle(tx, first, settings),
            "settle another with the nonce": lambda tx: wallet._settle(tx, second, settings),
            "verify": lambda tx: wallet.verify_wallet(tx, first, settings),
            "unbind the wallet": lambda tx: unbind_wallet(tx, caller, address),
            "suspend the payer": lambda tx: self._suspended(tx, caller),
            "suspend the payee": lambda tx: self._suspended(tx, self.world.payments.service.did),
            "rotate the secret": lambda tx: rotate_secret(tx, self.owner, caller, "new secret"),
        }[name]

    async def _authorized_by_the_quote(self, tx: Tx) -> Authorized | agents.Approval:
        caller = Agent(
            self.world.payments.caller.did,
            self.owner.id,
            ("client",),
            frozenset({"payment.pay"}),
            is_governed=True,
        )
        order = AuthorizeOrder(self.world.payments.service.did, parse_positive("1"))
        quoted = await read_quote(tx, caller.did, order, self.quote_token)
        presented = Presented(self.world.capability, quoted=quoted)
        return await authorize(tx, caller, order, self.world.registry.settings, presented)

    async def _suspended(self, tx: Tx, did: str) -> str:
        assert self.world.administrator is not None
        [stopped] = await suspend_agents(
            tx, [did], self.world.administrator, reason="For a test.", soft=False
        )
        return stopped.registry


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with payment_stage(database_farm, tmp_path_factory.mktemp("met")) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
async def proven(stage: Stage) -> AsyncIterator[None]:
    """After all meetings the book adds up."""
    yield
    registry = stage[0].registry
    await registry.database.read(prove_tokens)
    await registry.database.read(prove_book)
    await prove_supply(registry.supply)


async def _in_order(world: PaymentWorld, owner: Developer) -> None:
    """Both agents act again, and the caller has all its slots."""
    parties = [world.payments.caller.did, world.payments.service.did]
    administrator = world.administrator
    assert administrator is not None
    await world.registry.database.transaction(
        lambda tx: reinstate_agents(tx, parties, administrator, reason=None, soft=False)
    )
    await world.clear()
    await _log_caller_in(world, owner)


async def _log_caller_in(world: PaymentWorld, owner: Developer) -> None:
    """A token of the caller's own: its secret may have been replaced."""
    caller, registry = world.payments.caller, world.registry
    await registry.database.transaction(lambda tx: rotate_secret(tx, owner, caller.did, "the secret"))
    form = {"username": caller.created["client_id"], "password": "the secret"}
    answer = await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    logged_in = replace(caller, token=answer.json()["access_token"])
    world.payments = replace(world.payments, caller=logged_in)


async def _quote_token(world: PaymentWorld) -> str:
    query = f"target_agent_did={world.payments.service.did}&amount=1&firm=true"
    quoted = await world.registry.get(f"/a2a-payment/quote?{query}", headers=world.payments.caller.headers)
    assert quoted.status_code == 200, quoted.text
    return quoted.json()["quote_token"]


async def _signed_twice(
    world: PaymentWorld, payer_wallet: TestWallet
) -> tuple[wallet.WalletPayment, wallet.WalletPayment]:
    """Two payments of the wallet, of different amounts, with one nonce."""
    networks = Networks.of(world.registry.settings)
    address = await receive_address(world.payments.service)
    nonce = "0x" + TestWallet().public_key[:32].hex()
    payments = []
    for minor in (10**8, 2 * 10**8):
        body = signed(payer_wallet, networks, required(networks, address, minor), nonce=nonce)
        needed = judging.Requirements(networks.wallet, minor, body["paymentRequirements"]["payTo"])
        authorization = judging.read_authorization(body["paymentPayload"])
        payments.append(wallet.WalletPayment.of(authorization, needed, networks))
    return payments[0], payments[1]


async def _met(world: PaymentWorld, owner: Developer) -> Meeting:
    await _in_order(world, owner)
    payer_wallet = TestWallet()
    await world.registry.database.transaction(lambda tx: _bound(tx, world, payer_wallet))
    signed_payments = await _signed_twice(world, payer_wallet)
    return Meeting(world, owner, await _quote_token(world), payer_wallet, signed_payments)


async def _bound(tx: Tx, world: PaymentWorld, payer_wallet: TestWallet) -> None:
    """The wallet is the caller's only one; no request can bind as many as the meetings need."""
    did = world.payments.caller.did
    for bound in await wallets.wallets_of(tx, did):
        await wallets.unbind(tx, did, bound.address)
    await wallets.bind(tx, did, bytes.fromhex(payer_wallet.address[2:]), payer_wallet.public_key)


@pytest.mark.parametrize("acts", [("authorize by the quote", act) for act in QUOTE_ACTS], ids=" and ".join)
async def test_a_firm_quote_is_good_for_one_token_whatever_it_meets(acts: tuple[str, str], stage: Stage):
    world, director, owner = stage
    seed = printed_seed()

    async def play(choose: Choose) -> None:
        met = await _met(world, owner)
        outcomes = await director.play([met.act(act) for act in acts], choose)
        made = sum(isinstance(one, Authorized) for one in outcomes)
        assert all(one is None or isinstance(one, Authorized | Refused | str) for one in outcomes), outcomes
        assert made == 1 if len(set(acts)) == 1 else made <= 1, outcomes
        await world.registry.database.read(prove_tokens)

    await in_some_orders(play, count=SAMPLE, seed=seed)


@pytest.mark.parametrize(
    "acts",
    [pair for pair in combinations_with_replacement(WALLET_ACTS, 2) if "settle" in pair[0]],
    ids=" and ".join,
)
async def test_one_nonce_of_a_wallet_pays_once_whatever_it_meets(acts: tuple[str, str], stage: Stage):
    world, director, owner = stage
    seed = printed_seed()

    async def play(choose: Choose) -> None:
        met = await _met(world, owner)
        outcomes = await director.play([met.act(act) for act in acts], choose)
        known = Settlement | Refused | judging.PaymentInvalid | wallet._SettledMeanwhile | str | int
        assert all(one is None or isinstance(one, known) for one in outcomes), outcomes
        paid = Counter(one.transaction for one in outcomes if isinstance(one, Settlement))
        assert len(paid) <= 1, outcomes
        assert await _settled_by(met) == len(paid)
        await world.registry.database.read(prove_tokens)

    await in_some_orders(play, count=SAMPLE, seed=seed)


async def test_a_wallet_is_unbound_only_after_the_payment_that_it_signed(stage: Stage):
    """Require that an owner's reading after the wallet is unbound stays true: no payment of it is written later."""
    world, _, owner = stage
    met = await _met(world, owner)
    database, settled = world.registry.database, asyncio.Event()

    async def pay(tx: Tx) -> Settlement:
        paid = await wallet._settle(tx, met.payments[0], world.registry.settings)
        settled.set()
        while not unbinding.done() and not await tx.fetchval(ANOTHER_WAITS):
            pass
        assert not unbinding.done()
        return paid

    async def unbind() -> None:
        await settled.wait()
        await database.transaction(met.act("unbind the wallet"))

    unbinding = asyncio.create_task(unbind())
    assert (await database.transaction(pay)).transaction
    await unbinding
    assert await wallets_of_caller(world) == []


async def wallets_of_caller(world: PaymentWorld) -> list[Any]:
    did = world.payments.caller.did
    return list(await world.registry.database.query(lambda tx: wallets.wallets_of(tx, did)))


async def _settled_by(met: Meeting) -> int:
    """How many payments stand under the nonce of the wallet."""
    count: Any = await met.world.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM commerce_x402_authorization a JOIN commerce_payment_token t ON t.id = a.token_id"
            " WHERE a.address = $1 AND t.status = 'settled'",
            bytes.fromhex(met.payer_wallet.address[2:]),
        )
    )
    return int(count)
