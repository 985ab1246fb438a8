"""Deployments: an agent moves to an address that was checked by calls to real servers, and back."""

import asyncio
import json
from base64 import urlsafe_b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.foundation.plumbing.jobs.running import claim
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.operations.deployments import DEPLOYMENT_CHECKS, store, verifying
from tests.all_events import require_schemas_kept
from tests.conversations.test_versions import coder, events, registered, statuses
from tests.mcp_servers import mcp_host
from tests.registry import at_once
from tests.rooms.catalogue.pulls.agent_host import (
    WELL_KNOWN,
    card_of_agent,
    hosting,
    registry_that_pulls,
    said,
)
from tests.running_jobs import run_due, time_passes


class Stage:
    """A registry, two hosts that it may call, and an agent that is called at the first."""

    def __init__(self, registry, hosts, owner, agent):
        self.registry, self.owner, self.agent = registry, owner, agent
        self.first, self.second = hosts

    def serve(self, host, *, did=None, key=None, **card):
        """Let a host serve the card of the agent, by default signed by it; `key` None: by its own key, False: by none."""
        served = {**host.card(**card), "did": did or self.agent.did}
        if key is not False:
            signer = key or load_pem_private_key(self.agent.created["private_key_pem"].encode(), None)
            served["signatures"] = [signature(signer, served)]
        host.cards[WELL_KNOWN] = served
        host.reply = answer
        return served

    async def deploy(self, version_id, url=None, *, who=None, key=None, **members):
        headers = {**(who or self.owner).headers, **({"Idempotency-Key": key} if key else {})}
        body = {"version_id": version_id, **({"url": url} if url else {}), **members}
        return await self.registry.post(f"/agents/{self.agent.did}/deployments", json=body, headers=headers)

    async def roll_back(self, deployment_id, *, who=None, key=None):
        headers = {**(who or self.owner).headers, **({"Idempotency-Key": key} if key else {})}
        path = f"/agents/{self.agent.did}/deployments/{deployment_id}/rollback"
        return await self.registry.post(path, headers=headers)

    async def check(self):
        return await run_due(self.registry.runtime, DEPLOYMENT_CHECKS)

    async def read(self, deployment_id, who=None):
        path = f"/agents/{self.agent.did}/deployments/{deployment_id}"
        return (await self.registry.get(path, headers=(who or self.owner).headers)).json()

    async def deployed(self, version, url=None, *, who=None, **members):
        """The end of a deployment of a new version."""
        made = await registered(self.owner, self.agent, version)
        asked = await self.deploy(made["version_id"], url, who=who, **members)
        assert (asked.status_code, asked.json()["status"]) == (202, "pending"), asked.text
        assert await self.check() == 1
        return await self.read(asked.json()["deployment_id"])

    async def url(self):
        card = (await card_of_agent(self.agent))["card_data"]
        assert {one["url"] for one in card["supportedInterfaces"]} == {card["url"]}
        return card["url"]


def signature(key, card):
    assert isinstance(key, Ed25519PrivateKey)
    header = {"alg": "EdDSA", "typ": "JOSE", "kid": "any", "canon": "sorted-ascii-json/1"}
    protected, payload = encoded(json.dumps(header).encode()), encoded(canonical_json(card))
    return {"protected": protected, "signature": encoded(key.sign(f"{protected}.{payload}".encode()))}


def encoded(raw):
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def answer(question):
    """The answer of an agent to a request for a task that does not exist."""
    found = {"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32001, "message": "Task not found"}}
    return 200, json.dumps(found).encode()


async def staged(start_registry, *hosts):
    """A registry that may call these hosts, and an agent of which both serve the card and answer."""
    registry = await registry_that_pulls(start_registry, *hosts)
    owner = await registry.developer()
    interface = {"url": hosts[0].url + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    made = Stage(registry, hosts, owner, await coder(owner, supportedInterfaces=[interface]))
    for one in hosts:
        made.serve(one)
    return made


@pytest.fixture
async def stage(start_registry):
    async with hosting() as first, hosting() as second:
        yield await staged(start_registry, first, second)


async def test_a_checked_address_is_written_to_the_card_with_the_version(stage):
    to = stage.second.url + "/a2a"
    ended = await stage.deployed("2.0", to, note="New machine")
    assert (ended["status"], ended["url"], ended["former_url"]) == ("active", to, stage.first.url + "/a2a")
    assert (ended["reason"], ended["detail"], ended["note"]) == (None, None, "New machine")
    assert ended["ended_at"] is not None
    assert await stage.url() == to
    assert await statuses(stage.agent) == {"2.0": "active"}
    (event,) = await events(stage.agent, "AgentDeployed")
    assert event == {
        "did": stage.agent.did,
        "deployment_id": ended["deployment_id"],
        "version_id": ended["version_id"],
        "version": "2.0",
        "url": to,
        "former_url": stage.first.url + "/a2a",
    }
    assert len(await events(stage.agent)) == 1
    public = await stage.registry.http.get("/events.json", params={"did": stage.agent.did})
    assert "AgentDeployed" not in public.text
    log = (await stage.registry.get(f"/agents/{stage.agent.did}/logs", headers=stage.agent.headers)).json()
    (entry,) = log["logs"]
    assert (entry["source"], entry["message"]) == ("registry", "A version was deployed.")
    assert entry["log_metadata"] == event


async def test_without_an_address_the_agent_is_checked_where_it_is(stage):
    ended = await stage.deployed("1")
    assert (ended["status"], ended["url"]) == ("active", stage.first.url + "/a2a")
    assert (await stage.registry.get(f"/agents/{stage.agent.did}/versions")).json()["versions"][0][
        "version"
    ] == 1


async def test_the_agent_itself_deploys_to_an_address_that_serves_its_signed_card(stage):
    to = stage.second.url + "/a2a"
    assert (await stage.deployed("2", to, who=stage.agent))["status"] == "active"
    assert await stage.url() == to


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("unsigned", "not_signed"),
        ("another_key", "not_signed"),
        ("changed_since", "not_signed"),
        ("of_the_former_address", "another_address"),
    ],
)
async def test_a_stolen_token_moves_no_address(stage, case, reason):
    to = stage.second.url + "/a2a"
    if case == "of_the_former_address":
        # Everybody can read the signed card of the agent and serve it elsewhere, with another card's address below it.
        stage.second.cards["/a2a" + WELL_KNOWN] = stage.first.cards[WELL_KNOWN]
    elif case == "changed_since":
        stage.second.cards[WELL_KNOWN]["description"] = "Changed"
    else:
        stage.serve(stage.second, key=False if case == "unsigned" else Ed25519PrivateKey.generate())
    ended = await stage.deployed("2", to, who=stage.agent)
    assert (ended["status"], ended["reason"]) == ("failed", reason)
    assert await stage.url() == stage.first.url + "/a2a"
    assert await statuses(stage.agent) == {"2": "draft"}
    assert [event["reason"] for event in await events(stage.agent, "AgentDeploymentFailed")] == [reason]


async def test_an_owner_deploys_to_a_card_without_a_signature(stage):
    stage.serve(stage.second, key=False)
    assert (await stage.deployed("2", stage.second.url + "/a2a"))["status"] == "active"


async def test_the_card_of_another_agent_is_refused(stage):
    for number, did in enumerate(("did:hansa:hansa.local:1f3c1a58-7c0a-4d2f-9d2b-0b1f7a1d9d11", None)):
        stage.serve(stage.second, did=did)
        if did is None:
            del stage.second.cards[WELL_KNOWN]["did"]
        ended = await stage.deployed(str(number), stage.second.url + "/a2a")
        assert (ended["status"], ended["reason"]) == ("failed", "another_agent")
    assert await stage.url() == stage.first.url + "/a2a"


async def test_a_card_that_is_none_is_refused(stage):
    stage.second.cards[WELL_KNOWN] = {"name": "Half", "did": stage.agent.did}
    ended = await stage.deployed("2", stage.second.url + "/a2a")
    assert (ended["status"], ended["reason"]) == ("failed", "card_not_served")
    assert ended["detail"].startswith("The card is refused")


async def test_a_redirect_is_not_followed(stage):
    stage.second.raw = said(b"", f"Location: {stage.first.url}{WELL_KNOWN}", status=302)
    before = len(stage.first.asked)
    ended = await stage.deployed("2", stage.second.url + "/a2a")
    assert (ended["status"], ended["reason"]) == ("failed", "card_not_served")
    assert ended["detail"] == "The host answered 302."
    assert len(stage.first.asked) == before


async def test_a_dead_address_is_refused(start_registry):
    async with hosting() as first:
        async with hosting() as gone:
            stage = await staged(start_registry, first, gone)
        ended = await stage.deployed("2", gone.url + "/a2a")
        assert (ended["status"], ended["reason"]) == ("failed", "card_not_served")
        assert ended["detail"] == "The host gave no answer: unreachable."
        assert await stage.url() == first.url + "/a2a"


async def test_a_host_that_serves_the_card_and_no_agent_is_refused(stage):
    for number, body in enumerate((b"<html>", b'{"jsonrpc": "2.0", "id": "1", "result": {}}')):
        stage.second.reply = lambda _, body=body: (200, body)
        ended = await stage.deployed(str(number), stage.second.url + "/a2a")
        assert (ended["status"], ended["reason"]) == ("failed", "not_answering")


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/a2a",
        "https://192.168.1.1/a2a",
        "https://localhost/a2a",
        "http://agent.example.com/a2a",
        "https://agent.example.com:22/a2a",
        "https://me:secret@agent.example.com/a2a",
        "https://agent.example.com/a2a#x",
        "file:///etc/passwd",
    ],
)
async def test_an_address_that_is_not_called_is_refused_at_once(stage, url):
    made = await registered(stage.owner, stage.agent, "2")
    refused = await stage.deploy(made["version_id"], url)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "INTERNAL_HOST")
    listed = await stage.registry.get(f"/agents/{stage.agent.did}/deployments", headers=stage.owner.headers)
    assert listed.json() == {"deployments": [], "next": None}


async def test_a_name_that_leads_to_a_private_address_is_refused_with_the_reason(stage):
    async def lookup(_name, _port):
        return ["10.0.0.1"]

    for backend in stage.registry.runtime.outgoing._backends.values():
        backend._lookup = lookup
    ended = await stage.deployed("2", "https://agent.example.com/a2a")
    assert (ended["status"], ended["reason"]) == ("failed", "internal_host")


async def test_an_mcp_server_is_checked_by_its_tools(start_registry):
    async with hosting() as cards, mcp_host() as server:
        registry = await registry_that_pulls(start_registry, cards, server)
        owner = await registry.developer()
        interface = {"url": "https://old.example.com/mcp", "protocolBinding": "MCP", "protocolVersion": "1.0"}
        agent = await coder(owner, supportedInterfaces=[interface])
        staged = Stage(registry, (cards, cards), owner, agent)
        for to, status in ((server.url, "card_not_served"), (cards.url + "/mcp", "not_answering")):
            cards.cards[WELL_KNOWN] = {
                **cards.card(supportedInterfaces=[{**interface, "url": cards.url + "/mcp"}]),
                "did": agent.did,
            }
            ended = await staged.deployed(status, to)
            assert (ended["status"], ended["reason"]) == ("failed", status)


async def test_a_card_that_was_edited_meanwhile_is_not_overwritten(stage):
    made = await registered(stage.owner, stage.agent, "2")
    asked = (await stage.deploy(made["version_id"], stage.second.url + "/a2a")).json()
    card = (await card_of_agent(stage.agent))["card_data"]
    edited = await stage.registry.http.put(
        f"/api/v1/agent-cards/{stage.agent.did}",
        json={"card_data": {**card, "description": "Edited meanwhile"}},
        headers=stage.owner.headers,
    )
    assert edited.status_code == 200, edited.text
    await stage.check()
    ended = await stage.read(asked["deployment_id"])
    assert (ended["status"], ended["reason"]) == ("failed", "card_changed")
    after = await card_of_agent(stage.agent)
    assert (after["description"], await stage.url()) == ("Edited meanwhile", stage.first.url + "/a2a")
    assert await statuses(stage.agent) == {"2": "draft"}


async def test_a_rollback_deploys_the_one_before_again_within_one_request(stage):
    first, second = stage.first.url + "/a2a", stage.second.url + "/a2a"
    one = await stage.deployed("1", first)
    two = await stage.deployed("2", second)
    back = await stage.roll_back(two["deployment_id"])
    assert back.status_code == 200, back.text
    assert (back.json()["status"], back.json()["url"]) == ("active", first)
    assert (back.json()["version_id"], back.json()["rolls_back"]) == (one["version_id"], two["deployment_id"])
    assert await stage.url() == first
    assert await statuses(stage.agent) == {"1": "active", "2": "retired"}
    listed = await stage.registry.get(f"/agents/{stage.agent.did}/deployments", headers=stage.owner.headers)
    assert [one["status"] for one in listed.json()["deployments"]] == ["active", "superseded", "superseded"]
    assert await stage.check() == 0
    further = await stage.roll_back(back.json()["deployment_id"])
    assert (further.status_code, further.json()["error"]["code"]) == (409, "NOTHING_BEFORE")
    not_active = await stage.roll_back(two["deployment_id"])
    assert (not_active.status_code, not_active.json()["error"]["code"]) == (409, "DEPLOYMENT_NOT_ACTIVE")


async def test_a_rollback_to_an_address_that_is_dead_changes_nothing_and_says_why(stage):
    await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    stage.first.raw = said(b"", status=503)
    back = await stage.roll_back(two["deployment_id"])
    assert (back.status_code, back.json()["status"]) == (200, "failed")
    assert back.json()["detail"] == "The host answered 503."
    await require_schemas_kept(
        stage.registry.database, "AgentVersionActivated", "AgentDeployed", "AgentDeploymentFailed"
    )
    assert await stage.url() == stage.second.url + "/a2a"
    assert (await stage.read(two["deployment_id"]))["status"] == "active"


async def test_a_rollback_beside_an_edit_of_the_card_is_refused_and_overwrites_nothing(stage, monkeypatch):
    await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    check = verifying._check

    async def checked(runtime, deployment):
        found = await check(runtime, deployment)
        card = (await card_of_agent(stage.agent))["card_data"]
        path = f"/api/v1/agent-cards/{stage.agent.did}"
        body = {"card_data": {**card, "description": "Edited meanwhile"}}
        assert (
            await stage.registry.http.put(path, json=body, headers=stage.owner.headers)
        ).status_code == 200
        return found

    monkeypatch.setattr(verifying, "_check", checked)
    refused = await stage.roll_back(two["deployment_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CARD_CHANGED")
    assert await stage.url() == stage.second.url + "/a2a"


async def test_a_repeated_rollback_is_made_once(stage):
    await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    first = await stage.roll_back(two["deployment_id"], key="back")
    again = await stage.roll_back(two["deployment_id"], key="back")
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_repeated_request_deploys_once(stage):
    made = await registered(stage.owner, stage.agent, "2")
    first = await stage.deploy(made["version_id"], key="one")
    again = await stage.deploy(made["version_id"], key="one")
    assert (first.status_code, again.status_code, again.json()) == (202, 202, first.json())


async def test_of_deployments_at_once_one_is_checked(stage):
    made = await registered(stage.owner, stage.agent, "2")
    answers = await at_once(*(stage.deploy(made["version_id"]) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert refused.json()["error"]["code"] == "DEPLOYMENT_UNDER_WAY"
    assert await stage.check() == 1
    assert (await stage.deploy(made["version_id"])).status_code == 202


async def test_an_agent_has_a_hundred_deployments_a_day_at_most(stage):
    made = await registered(stage.owner, stage.agent, "2")
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO operations_deployment (agent_did, release_id, url, binding, protocol_version, must_be_signed,"
            " card_version, status, reason, ended_at) SELECT $1, $2, 'https://a.example.com', 'JSONRPC', '1.0', false, 1,"
            " 'failed', 'not_signed', now() FROM generate_series(1, 100)",
            stage.agent.did,
            made["version_id"],
        )
    )
    refused = await stage.deploy(made["version_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "QUOTA_REACHED")


@pytest.mark.parametrize("step", ["begin", "check", "settle", "activate", "log"])
async def test_a_crash_at_any_step_is_resumed(stage, monkeypatch, step):
    to = stage.second.url + "/a2a"
    made = await registered(stage.owner, stage.agent, "2")
    asked = (await stage.deploy(made["version_id"], to)).json()
    with monkeypatch.context() as patched:
        target, name = {
            "begin": (store, "begin"),
            "check": (verifying, "_check"),
            "settle": (verifying, "settle"),
            "activate": (store, "activate"),
            "log": ("hansa.rooms.operations.deployments.settling.write_of_registry", None),
        }[step]

        async def dies(*_args, **_members):
            raise asyncio.CancelledError

        patched.setattr(target, name, dies) if name else patched.setattr(target, dies)
        await run_until_it_dies(stage)
    assert (await stage.read(asked["deployment_id"]))["status"] in {"pending", "verifying"}
    assert await stage.url() == stage.first.url + "/a2a"
    await time_passes(stage.registry.runtime, 3600)
    assert await stage.check() == 1
    assert (await stage.read(asked["deployment_id"]))["status"] == "active"
    assert (await stage.url(), await statuses(stage.agent)) == (to, {"2": "active"})
    assert len(await events(stage.agent, "AgentDeployed")) == 1


async def run_until_it_dies(stage):
    """Run the job that is due as a process that dies does: its lease stays."""
    (job,) = await claim(stage.registry.runtime, DEPLOYMENT_CHECKS, 1)
    with pytest.raises(asyncio.CancelledError):
        await DEPLOYMENT_CHECKS.work(stage.registry.runtime, job)


async def test_an_agent_without_the_permission_deploys_nothing(stage):
    made = await registered(stage.owner, stage.agent, "2")
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET roles = '{}' WHERE did = $1", stage.agent.did)
    )
    for refused in (
        await stage.deploy(made["version_id"], who=stage.agent),
        await stage.roll_back(made["version_id"], who=stage.agent),
    ):
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PERMISSION_MISSING")


async def test_strangers_neither_deploy_nor_read(stage):
    made = await registered(stage.owner, stage.agent, "2")
    asked = (await stage.deploy(made["version_id"])).json()
    stranger = await stage.registry.developer()
    for who in (stranger, await coder(stranger), await stage.registry.administrator()):
        path = f"/agents/{stage.agent.did}/deployments"
        assert (await stage.deploy(made["version_id"], who=who)).status_code == 404
        assert (await stage.roll_back(asked["deployment_id"], who=who)).status_code == 404
        assert (await stage.registry.get(path, headers=who.headers)).status_code == 404
        path = f"{path}/{asked['deployment_id']}"
        assert (await stage.registry.get(path, headers=who.headers)).status_code == 404
    assert (await stage.read(asked["deployment_id"], who=stage.agent))["status"] == "pending"


async def test_a_version_of_another_agent_is_not_deployed(stage):
    other = await coder(stage.owner)
    made = await registered(other, other)
    refused = await stage.deploy(made["version_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "VERSION_UNKNOWN")


async def test_an_agent_that_ended_during_the_check_is_not_moved(stage):
    made = await registered(stage.owner, stage.agent, "2")
    asked = (await stage.deploy(made["version_id"], stage.second.url + "/a2a")).json()
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET status = 'revoked' WHERE did = $1", stage.agent.did)
    )
    await stage.check()
    ended = await stage.read(asked["deployment_id"])
    assert (ended["status"], ended["reason"]) == ("failed", "agent_ended")
