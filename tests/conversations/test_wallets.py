"""Wallets: a key of secp256k1 is bound to an agent by a signed challenge."""

import asyncio
from typing import Any

import httpx2
import pytest

from hansa.foundation.values import ethereum
from hansa.rooms import agents
from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.wallets import TestWallet, high_s

WALLETS = "/agents/me/wallets"


@pytest.fixture(scope="module")
async def registry(database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory):
    async with open_copy(database_farm, tmp_path_factory.mktemp("wallets")) as opened:
        yield opened


@pytest.fixture
async def agent(registry: TestRegistry) -> TestAgent:
    return await registry.agent()


@pytest.fixture
async def other(registry: TestRegistry) -> TestAgent:
    return await registry.agent()


@pytest.fixture
def wallet() -> TestWallet:
    return TestWallet()


async def challenge(agent: TestAgent, address: object) -> httpx2.Response:
    return await agent.registry.post(f"{WALLETS}/challenge", json={"address": address}, headers=agent.headers)


async def bind(agent: TestAgent, body: Any) -> httpx2.Response:
    return await agent.registry.post(WALLETS, json=body, headers=agent.headers)


async def bound(agent: TestAgent) -> list[str]:
    answer = await agent.registry.get(WALLETS, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return [wallet["address"] for wallet in answer.json()["wallets"]]


async def unbind(agent: TestAgent, address: str) -> httpx2.Response:
    return await agent.registry.http.delete(f"/api/v1{WALLETS}/{address}", headers=agent.headers)


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_wallet_is_bound_by_its_signature_of_the_challenge(
    agent: TestAgent, wallet: TestWallet
) -> None:
    answer = await wallet.bind(agent)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["address"], answer.json()["agent_did"]) == (wallet.address, agent.did)
    assert await bound(agent) == [wallet.address]


async def test_the_challenge_names_registry_agent_and_address_and_consents_to_the_fee(
    registry: TestRegistry, agent: TestAgent, wallet: TestWallet
) -> None:
    answer = (await challenge(agent, wallet.address)).json()
    for part in (registry.settings.trust_domain, agent.did, wallet.address, "fee on top"):
        assert part in answer["challenge"]
    assert answer["expires_at"][:19] in answer["challenge"]


async def test_an_agent_without_a_wallet_has_an_address_to_be_paid_by(
    registry: TestRegistry, agent: TestAgent, wallet: TestWallet
) -> None:
    answer = (await registry.get(WALLETS, headers=agent.headers)).json()
    assert answer["wallets"] == []
    address = bytes.fromhex(answer["receive_address"][2:])
    assert await registry.database.read(lambda tx: agents.payee_of_address(tx, address)) == agent.did
    await wallet.bind(agent)
    own = bytes.fromhex(wallet.address[2:])
    assert await registry.database.read(lambda tx: agents.payee_of_address(tx, own)) == agent.did
    assert await registry.database.read(lambda tx: agents.payee_of_address(tx, bytes(20))) is None


async def test_a_bound_wallet_bound_again_stays_as_it_is(agent: TestAgent, wallet: TestWallet) -> None:
    first = await wallet.bind(agent)
    assert (await wallet.bind(agent)).json() == first.json()


async def test_an_address_belongs_to_one_agent(
    agent: TestAgent, other: TestAgent, wallet: TestWallet
) -> None:
    await wallet.bind(agent)
    assert code(await wallet.bind(other)) == (409, "WALLET_OF_ANOTHER")
    assert (await bound(agent), await bound(other)) == ([wallet.address], [])


async def test_of_agents_that_bind_a_wallet_at_once_one_has_it(
    registry: TestRegistry, wallet: TestWallet
) -> None:
    rivals = [await registry.agent() for _ in range(5)]
    bodies = [await wallet.signed_challenge(rival) for rival in rivals]
    answers = await asyncio.gather(*[bind(*pair) for pair in zip(rivals, bodies, strict=True)])
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert sorted([await bound(rival) for rival in rivals]) == [[], [], [], [], [wallet.address]]


async def test_an_unbound_wallet_can_be_bound_by_another_agent(
    agent: TestAgent, other: TestAgent, wallet: TestWallet
) -> None:
    await wallet.bind(agent)
    answer = await unbind(agent, wallet.address)
    assert answer.json() == {"address": wallet.address, "status": "unbound"}
    assert (await wallet.bind(other)).status_code == 200
    assert (await bound(agent), await bound(other)) == ([], [wallet.address])


async def test_the_wallet_of_a_revoked_agent_can_be_bound_by_another_one(
    registry: TestRegistry, other: TestAgent, wallet: TestWallet
) -> None:
    owner = await registry.developer()
    await owner.agent()
    gone = await owner.agent()
    await wallet.bind(gone)
    ended = await registry.http.delete(f"/api/v1/agents/{gone.did}", headers=owner.headers)
    assert ended.status_code == 200, ended.text
    assert (await wallet.bind(other)).status_code == 200
    assert await bound(other) == [wallet.address]


async def test_only_an_own_wallet_is_unbound(agent: TestAgent, other: TestAgent, wallet: TestWallet) -> None:
    await wallet.bind(agent)
    assert code(await unbind(other, wallet.address)) == (404, "WALLET_UNKNOWN")
    assert code(await unbind(agent, TestWallet().address)) == (404, "WALLET_UNKNOWN")
    assert code(await unbind(agent, "0x12")) == (422, "WALLET_ADDRESS_MALFORMED")
    assert await bound(agent) == [wallet.address]


async def test_a_challenge_is_good_for_one_agent_one_address_and_one_binding(
    agent: TestAgent, other: TestAgent, wallet: TestWallet
) -> None:
    body = await wallet.signed_challenge(agent)
    assert code(await bind(other, body)) == (403, "WALLET_CHALLENGE_REFUSED")
    twin = TestWallet()
    of_twin = {**body, "address": twin.address, "signature": twin.sign_text(body["challenge"])}
    assert code(await bind(agent, of_twin)) == (403, "WALLET_CHALLENGE_REFUSED")
    assert (await bind(agent, body)).status_code == 200
    await unbind(agent, wallet.address)
    assert code(await bind(agent, body)) == (403, "WALLET_CHALLENGE_REFUSED")


async def test_a_newer_challenge_replaces_the_one_before(agent: TestAgent, wallet: TestWallet) -> None:
    older = await wallet.signed_challenge(agent)
    newer = await wallet.signed_challenge(agent)
    assert (await bind(agent, newer)).status_code == 200
    assert code(await bind(agent, older)) == (403, "WALLET_CHALLENGE_REFUSED")


async def test_a_challenge_that_has_expired_is_refused(
    registry: TestRegistry, agent: TestAgent, wallet: TestWallet
) -> None:
    body = await wallet.signed_challenge(agent)
    ages = (
        "UPDATE agents_wallet_challenge SET expires_at = now() WHERE agent_id ="
        " (SELECT id FROM agents_agent WHERE did = $1)"
    )
    await registry.database.transaction(lambda tx: tx.execute(ages, agent.did))
    assert code(await bind(agent, body)) == (403, "WALLET_CHALLENGE_REFUSED")


async def test_a_text_that_the_registry_did_not_issue_is_refused(
    agent: TestAgent, wallet: TestWallet
) -> None:
    body = await wallet.signed_challenge(agent)
    text = body["challenge"].replace("fee on top", "fee inside")
    changed = {**body, "challenge": text, "signature": wallet.sign_text(text)}
    assert code(await bind(agent, changed)) == (403, "WALLET_CHALLENGE_REFUSED")


@pytest.mark.parametrize(
    "wrong", ["stranger", "high s", "cut", "other text", "empty", "not hex", "raw digest"]
)
async def test_a_signature_that_is_not_the_wallets_own_is_refused(
    agent: TestAgent, wallet: TestWallet, wrong: str
) -> None:
    body = await wallet.signed_challenge(agent)
    signature = body["signature"]
    body["signature"] = {
        "stranger": TestWallet().sign_text(body["challenge"]),
        "high s": "0x" + high_s(bytes.fromhex(signature[2:])).hex(),
        "cut": signature[:-2],
        "other text": wallet.sign_text("Pay me."),
        "empty": "",
        "not hex": "0x" + "zz" * 65,
        "raw digest": "0x" + wallet.sign_digest(ethereum.keccak256(body["challenge"].encode())).hex(),
    }[wrong]
    assert code(await bind(agent, body)) == (403, "WALLET_SIGNATURE_REFUSED")
    assert await bound(agent) == []


@pytest.mark.parametrize(
    "address",
    [
        None,
        5,
        {},
        "",
        "0x",
        "0x" + "00" * 19,
        "0x" + "0g" * 20,
        "00" * 20,
        "0x" + "٠" * 40,
        "0x" + "0" * 10_000,
    ],
    ids=lambda address: repr(address)[:20],
)
async def test_what_is_no_address_is_refused(agent: TestAgent, address: object) -> None:
    answer = await challenge(agent, address)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] in {"WALLET_ADDRESS_MALFORMED", "VALIDATION_ERROR"}


async def test_a_mixed_case_has_the_right_checksum(agent: TestAgent, wallet: TestWallet) -> None:
    assert (await challenge(agent, wallet.address.lower())).status_code == 200
    assert (await challenge(agent, "0x" + wallet.address[2:].upper())).status_code == 200
    checked = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    assert (await challenge(agent, checked)).status_code == 200
    assert code(await challenge(agent, checked.replace("5aA", "5AA"))) == (422, "WALLET_ADDRESS_MALFORMED")


async def test_an_agent_has_at_most_ten_wallets(agent: TestAgent) -> None:
    wallets = [TestWallet() for _ in range(11)]
    for one in wallets[:10]:
        assert (await one.bind(agent)).status_code == 200
    assert code(await wallets[10].bind(agent)) == (409, "TOO_MANY_WALLETS")
    assert await bound(agent) == [one.address for one in wallets[:10]]


async def test_binding_and_unbinding_are_recorded(
    registry: TestRegistry, agent: TestAgent, wallet: TestWallet
) -> None:
    await wallet.bind(agent)
    await unbind(agent, wallet.address)
    rows = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT event_type, data FROM journal_event WHERE aggregate_id = $1 AND event_type LIKE 'AgentWallet%'"
            " ORDER BY seq",
            agent.did,
        )
    )
    assert [row["event_type"] for row in rows] == ["AgentWalletBound", "AgentWalletUnbound"]
    assert all(wallet.address in str(row["data"]) for row in rows)
