"""Wallets by the client."""

import pytest

from hansa_client import AgentCredentials
from hansa_client.errors import Forbidden, NotFound
from tests.client.conftest import Open
from tests.registry import TestRegistry
from tests.wallets import TestWallet


async def test_a_wallet_is_bound_with_its_signature_listed_and_deleted(connect: Open, registry: TestRegistry):
    agent = await registry.agent()
    client = connect(agent=AgentCredentials(agent.created["client_id"], agent.created["client_secret"]))
    wallet, other = TestWallet(), TestWallet()
    asked = await client.wallets.challenge(wallet.address)
    assert agent.did in asked.challenge
    with pytest.raises(Forbidden):
        await client.wallets.bind(wallet.address, asked.challenge, other.sign_text(asked.challenge))
    bound = await client.wallets.bind(wallet.address, asked.challenge, wallet.sign_text(asked.challenge))
    assert (bound.address, bound.agent_did) == (wallet.address, agent.did)
    listed = await client.wallets.list()
    assert listed.wallets == [bound]
    assert listed.receive_address.startswith("0x")
    assert (await client.wallets.delete(wallet.address)).status == "unbound"
    assert (await client.wallets.list()).wallets == []
    with pytest.raises(NotFound):
        await client.wallets.delete(wallet.address)
