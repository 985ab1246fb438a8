"""A stolen token of an agent moves its address nowhere: what everybody can read of the agent proves nothing at another address."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.conversations.test_deployments import Stage, signature, staged
from tests.conversations.test_versions import registered, statuses
from tests.rooms.catalogue.pulls.agent_host import WELL_KNOWN, hosting


@pytest.fixture
async def stage(start_registry: Any) -> Any:
    async with hosting() as first, hosting() as second:
        yield await staged(start_registry, first, second)


async def new_key(stage: Stage) -> Any:
    """A new signing key of the agent, as anybody with its token sets one."""
    replaced = await stage.registry.post(
        "/agents/me/rotate-signing-key", json={}, headers=stage.agent.headers
    )
    assert replaced.status_code == 200, replaced.text
    return load_pem_private_key(replaced.json()["private_key_pem"].encode(), None)


async def key_is_older(stage: Stage) -> None:
    """Let the tokens of the time of the new key end."""
    older = "UPDATE agents_key SET valid_from = valid_from - interval '91 minutes' WHERE valid_until IS NULL"
    await stage.registry.database.transaction(lambda tx: tx.execute(older))


async def refused_by(stage: Stage, url: str) -> str:
    """The reason for which the agent, or a thief of its token, does not move to an address; nothing changes."""
    before = await stage.url()
    ended = await stage.deployed(f"to {url[-40:]}", url, who=stage.agent)
    assert ended["status"] == "failed", ended
    assert await stage.url() == before
    assert set((await statuses(stage.agent)).values()) == {"draft"}
    return str(ended["reason"])


@pytest.mark.parametrize("suffix", ["?tenant=thief", "/", "//", "?", "/x", "/..%2Fthief", ";x"])
async def test_the_signed_card_of_an_agent_moves_it_to_no_other_place_of_the_same_host(
    stage: Stage, suffix: str
):
    # The host has several tenants, of which the thief is one: it serves the card of the agent to everybody.
    for below in ("", "/a2a", "/a2a/", "/a2a//", "/a2a/x", "/a2a/..%2Fthief", "/a2a;x"):
        stage.first.cards[below + WELL_KNOWN] = stage.first.cards[WELL_KNOWN]
    assert await refused_by(stage, stage.first.url + "/a2a" + suffix) == "another_address"


async def test_a_signed_card_that_anybody_copied_is_no_card_of_the_host_of_the_thief(stage: Stage):
    for below in ("", "/a2a"):
        stage.second.cards[below + WELL_KNOWN] = stage.first.cards[WELL_KNOWN]
    assert await refused_by(stage, stage.second.url + "/a2a") in {"another_address", "card_not_served"}


async def test_an_interface_of_another_binding_gives_no_address_to_the_one_that_is_called(stage: Stage):
    interfaces = [
        {"url": stage.first.url + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": stage.second.url + "/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ]
    for host in (stage.first, stage.second):
        stage.serve(host, supportedInterfaces=interfaces)
    assert await refused_by(stage, stage.second.url + "/a2a") == "another_address"


async def test_a_card_that_a_former_key_of_the_agent_signed_moves_it_nowhere(stage: Stage):
    to = stage.second.url + "/a2a"
    captured = stage.second.cards[WELL_KNOWN]
    present = await new_key(stage)
    assert await refused_by(stage, to) == "not_signed"
    stage.second.cards[WELL_KNOWN] = {**captured, "signatures": []}
    assert await refused_by(stage, to + "?again") == "not_signed"
    stage.serve(stage.second, key=present)
    await key_is_older(stage)
    ended = await stage.deployed("signed anew", to, who=stage.agent)
    assert (ended["status"], await stage.url()) == ("active", to)


async def test_a_key_that_the_thief_of_a_token_set_moves_the_agent_nowhere_while_the_token_lives(
    stage: Stage,
):
    to = stage.second.url + "/a2a"
    stage.serve(stage.second, key=await new_key(stage))
    assert await refused_by(stage, to) == "key_too_new"
    ended = await stage.deployed("by the owner", to)
    assert (ended["status"], await stage.url()) == ("active", to)


async def test_a_signature_over_less_than_the_address_is_none(stage: Stage):
    served = stage.second.cards[WELL_KNOWN]
    signer = load_pem_private_key(stage.agent.created["private_key_pem"].encode(), None)
    of_former = {**stage.first.cards[WELL_KNOWN], "signatures": None}
    del of_former["signatures"]
    stage.second.cards[WELL_KNOWN] = {**served, "signatures": [signature(signer, of_former)]}
    assert await refused_by(stage, stage.second.url + "/a2a") == "not_signed"


async def test_a_rollback_by_a_stolen_token_needs_the_signed_card_at_the_former_address(stage: Stage):
    first, second = stage.first.url + "/a2a", stage.second.url + "/a2a"
    await stage.deployed("1", first)
    two = await stage.deployed("2", second)
    stage.serve(stage.first, key=False)
    back = await stage.roll_back(two["deployment_id"], who=stage.agent)
    assert (back.status_code, back.json()["reason"]) == (200, "not_signed")
    assert (await stage.url(), await statuses(stage.agent)) == (second, {"1": "retired", "2": "active"})


async def test_the_next_holder_of_a_former_host_gets_the_agent_back_by_no_token(stage: Stage):
    first, second = stage.first.url + "/a2a", stage.second.url + "/a2a"
    await stage.deployed("1", first)
    two = await stage.deployed("2", second)
    # Within the day a token leads back, as the rollback of a build system does.
    back = await stage.roll_back(two["deployment_id"], who=stage.agent)
    assert (back.json()["status"], await stage.url()) == ("active", first)
    three = await stage.deployed("3", second, who=stage.agent)
    assert three["status"] == "active"
    older = (
        "UPDATE catalogue_card_version SET valid_from = valid_from - interval '25 hours',"
        " valid_until = valid_until - interval '25 hours'"
    )
    await stage.registry.database.transaction(lambda tx: tx.execute(older))
    refused = await stage.roll_back(three["deployment_id"], who=stage.agent)
    assert (refused.json()["status"], refused.json()["reason"]) == ("failed", "former_address")
    assert (await stage.deployed("4", first, who=stage.agent))["reason"] == "former_address"
    assert await stage.url() == second
    assert (await stage.deployed("5", second, who=stage.agent))["status"] == "active"
    assert (await stage.deployed("6", first))["status"] == "active"
    assert await stage.url() == first


async def test_a_deployment_that_was_asked_by_a_token_is_not_finished_by_a_rival_of_its_owner(stage: Stage):
    made = await registered(stage.owner, stage.agent, "2")
    stage.serve(stage.second, key=False)
    to = stage.second.url + "/a2a"
    asked = (await stage.deploy(made["version_id"], to, who=stage.agent)).json()
    refused = await stage.deploy(made["version_id"], to)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "DEPLOYMENT_UNDER_WAY")
    await stage.check()
    assert (await stage.read(asked["deployment_id"]))["reason"] == "not_signed"
