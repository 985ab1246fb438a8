"""Bundles: an agent as a signed document without secrets, from which another agent is made."""

import asyncio
import copy
import json

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa.rooms.operations import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from hansa.rooms.operations.bundles import delete_of
from hansa_verify import RegistryKey, verify_bundle
from tests.conversations.test_suspension import Enforcement
from tests.conversations.test_versions import coder, registered, versions
from tests.organizations import found
from tests.pipelines import step
from tests.registry import TestAgent, at_once

MEMBERS = {
    "kind",
    "did",
    "card",
    "roles",
    "spend_policy",
    "releases",
    "pipelines",
    "exported_at",
    "signatures",
}
CREATED = {
    "agent_did",
    "client_id",
    "client_secret",
    "account_status",
    "initial_funding_status",
    "agent_card_id",
    "agent_card_name",
    "requires_well_known_fetch",
    "private_key_pem",
    "warnings",
}
POLICY = {"per_tx_max": "2", "per_day_max": "5", "allowlist": None, "approval_over": None}


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await forker(owner)


async def forker(owner, **card):
    return await coder(owner, **card)


async def export(who, agent, *, key=None):
    headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
    return await agent.registry.post(f"/agents/{agent.did}/export", headers=headers)


async def exported(who, agent):
    answer = await export(who, agent)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def bring_in(who, bundle, **members):
    headers = {**who.headers, **who.registry.elsewhere()}
    return await who.registry.post("/agents/import", json={"bundle": bundle, **members}, headers=headers)


async def fork(agent, bundle_id, **members):
    body = {"name": "Forked agent", **members}
    headers = {**agent.headers, **agent.registry.elsewhere()}
    return await agent.registry.post(f"/agents/bundles/{bundle_id}/fork", json=body, headers=headers)


async def govern(owner, agent):
    answer = await agent.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"spend_policy": POLICY}, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text


async def card_of(registry, did):
    return (await registry.get(f"/agent-cards/{did}")).json()


async def is_unlisted(registry, did):
    return await registry.database.query(
        lambda tx: tx.fetchval("SELECT unlisted FROM catalogue_card WHERE did = $1", did)
    )


async def number_of_agents(registry):
    return await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM agents_agent"))


async def own_keys(registry):
    keys = await registry.database.read(federation.all_keys)
    return [RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at) for key in keys]


async def test_a_bundle_has_what_its_owner_wrote_and_the_signature_of_the_registry(owner, agent):
    await govern(owner, agent)
    await registered(agent, agent, "2.0", release_notes="Quicker.")
    made = await exported(owner, agent)
    bundle = made["bundle"]
    assert set(bundle) == MEMBERS
    assert (bundle["kind"], bundle["did"]) == ("agent.bundle.v1", agent.did)
    assert bundle["spend_policy"] == POLICY
    assert "service-provider" in bundle["roles"]
    assert [one["version"] for one in bundle["releases"]] == ["2.0"]
    assert bundle["pipelines"] == []
    verdict = verify_bundle(json.dumps(bundle), await own_keys(agent.registry))
    assert verdict.code == "verified", verdict.steps
    text = json.dumps(bundle)
    for secret in ("client_secret", "private_key", "balance", agent.created["client_secret"]):
        assert secret not in text


async def test_a_bundle_is_verified_offline_by_the_command(registry, owner, agent, tmp_path):
    bundle, keys = tmp_path / "bundle.json", tmp_path / "keys.json"
    keys.write_text((await registry.http.get("/.well-known/registry-jwks-history.json")).text)
    whole = (await exported(owner, agent))["bundle"]
    for changes, code, word in (({}, 0, "verified"), ({"roles": []}, 1, "bad_signature")):
        bundle.write_text(json.dumps({**whole, **changes}))
        asked = ["verify", "bundle", str(bundle), "--keys", str(keys)]
        ended = await asyncio.to_thread(CliRunner().invoke, app, asked)
        assert (ended.exit_code, ended.stdout.splitlines()[-1]) == (code, word), ended.output


async def test_a_repeated_export_is_stored_once(owner, agent):
    first, again = await export(owner, agent, key="one"), await export(owner, agent, key="one")
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("member", "pointer"),
    [
        ({"description": "Token apt_" + "a" * 64}, "/card/description"),
        ({"x-keys": {"a/b~c": ["fine", "hsk_" + "0" * 64]}}, "/card/x-keys/a~1b~0c/1"),
        ({"x-keys": {"bst_" + "0" * 64: 1}}, "/card/x-keys/[redacted:bootstrap_token]"),
    ],
)
async def test_a_secret_in_a_text_refuses_the_export_and_is_named_by_its_pointer(owner, member, pointer):
    agent = await owner.agent(**member)
    refused = await export(owner, agent)
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["code"] == "SECRET_IN_BUNDLE"
    assert refused.json()["error"]["field"] == pointer
    assert "0" * 64 not in refused.text
    assert "a" * 64 not in refused.text


async def test_an_import_makes_an_unlisted_agent_with_a_new_did_and_its_origin(registry, owner, agent):
    await govern(owner, agent)
    await registered(agent, agent, "1")
    await registered(
        agent, agent, "2", artifacts={"a": {"uri": "https://x.example.com/a", "sha256": "0" * 64}}
    )
    bundle = (await exported(owner, agent))["bundle"]
    other = await registry.developer()
    answer = await bring_in(other, bundle)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert set(made) == CREATED
    assert made["agent_did"] != agent.did
    assert made["client_secret"].startswith("hsk_")
    card = await card_of(registry, made["agent_did"])
    assert await is_unlisted(registry, made["agent_did"])
    origin = card["card_data"]["imported_from"]
    assert (origin["did"], origin["exported_at"]) == (agent.did, bundle["exported_at"])
    assert origin["registry"].startswith("spiffe://")
    assert card["card_data"]["humanReadableId"] != bundle["card"]["humanReadableId"]
    authz = await registry.get(f"/agents/{made['agent_did']}/authz", headers=other.headers)
    assert authz.json()["roles"] == ["trader", "client"]
    assert authz.json()["spend_policy"] == POLICY
    listed = await registry.get(f"/agents/{made['agent_did']}/versions", params={"kind": "release"})
    assert [(one["version"], one["status"]) for one in listed.json()["versions"]] == [
        ("2", "draft"),
        ("1", "draft"),
    ]
    assert listed.json()["versions"][0]["artifacts"]["a"]["sha256"] == "0" * 64
    form = {"username": made["client_id"], "password": made["client_secret"]}
    assert (
        await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())
    ).status_code == 200
    assert any("roles" in warning for warning in made["warnings"])


async def test_an_owner_cannot_write_the_origin_of_a_card(registry, owner):
    agent = await owner.agent(imported_from={"did": "did:hansa:hansa.local:someone"})
    assert "imported_from" not in (await card_of(registry, agent.did))["card_data"]


async def test_a_dry_run_says_what_would_be_and_changes_nothing(registry, owner, agent):
    bundle = (await exported(owner, agent))["bundle"]
    before = await number_of_agents(registry)
    answer = await bring_in(owner, bundle, dry_run=True)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"dry_run", "agent_card_name", "imported_from", "warnings"}
    assert answer.json()["agent_card_name"] == bundle["card"]["name"]
    assert "hsk_" not in answer.text
    assert await number_of_agents(registry) == before
    used = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM catalogue_card WHERE card_data::text LIKE '%imported_from%' AND did = $1",
            agent.did,
        )
    )
    assert used == 0


def every_change(bundle):
    """Copies of a bundle with each member of it changed, removed or added."""
    for path in paths_of(bundle):
        changed = copy.deepcopy(bundle)
        holder = changed
        for name in path[:-1]:
            holder = holder[name]
        value = holder[path[-1]]
        if isinstance(value, bool):
            holder[path[-1]] = not value
        elif isinstance(value, str):
            holder[path[-1]] = value[:-1] + ("a" if value[-1:] != "a" else "b")
        elif isinstance(value, int | float):
            holder[path[-1]] = value + 1
        else:
            holder[path[-1]] = {"x": 1} if value is None or isinstance(value, list) else [1]
        yield path, changed
    yield ("added",), {**bundle, "note": "More"}
    for name in bundle:
        yield ("removed", name), {other: bundle[other] for other in bundle if other != name}


def paths_of(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield (*path, name)
        yield from paths_of(member, (*path, name))


async def test_a_bundle_with_any_member_altered_is_refused_and_makes_nothing(registry, owner, agent):
    await govern(owner, agent)
    await registered(agent, agent, "1", release_notes="Notes", commit_hash="0123456789")
    bundle = (await exported(owner, agent))["bundle"]
    before = await number_of_agents(registry)
    count = 0
    for path, changed in every_change(bundle):
        refused = await bring_in(owner, changed)
        assert refused.status_code == 422, (path, refused.text)
        assert refused.json()["error"]["code"] == "BUNDLE_REFUSED", path
        count += 1
    assert count > 60
    assert await number_of_agents(registry) == before
    assert (await bring_in(owner, bundle)).status_code == 201


async def test_a_bundle_of_a_registry_that_is_no_peer_is_refused(owner, agent, start_registry):
    elsewhere = await start_registry(trust_domain="elsewhere.example", registry_name="Elsewhere")
    stranger = await elsewhere.developer()
    theirs = (await exported(stranger, await stranger.agent()))["bundle"]
    refused = await bring_in(owner, theirs)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "BUNDLE_REFUSED")


async def test_a_signature_of_the_registry_over_another_kind_of_document_is_no_bundle(registry, owner, agent):
    card = (await registry.get(f"/agents/{agent.did}/card-export")).json()
    refused = await bring_in(owner, card)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "BUNDLE_REFUSED")


@pytest.mark.parametrize(
    "body",
    [
        b'{"bundle": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b'{"bundle": {"did": "a", "did": "b"}}',
        b'{"bundle": {"did": NaN}}',
        b'{"bundle": {"signatures": [{"protected": "' + b"A" * 9000 + b'", "signature": ""}]}}',
        b'{"bundle": {"signatures": [[]], "did": 1}}',
        b'{"bundle": {"signatures": {}, "did": "a"}}',
        b'{"bundle": []}',
        b'{"bundle": {"n": ' + b"9" * 5000 + b"}}",
    ],
)
async def test_hostile_documents_are_refused(owner, body):
    headers = {**owner.headers, "Content-Type": "application/json"}
    refused = await owner.registry.post("/agents/import", content=body, headers=headers)
    assert refused.status_code == 422, refused.text


async def test_a_bundle_of_more_than_two_megabytes_is_refused(owner):
    refused = await bring_in(owner, {"card": "x" * (2 << 20)})
    assert refused.status_code == 413


async def signed_here(registry, content):
    """A bundle with this content that the registry signed, as an erring or hostile peer would sign its own."""
    key = await federation.SIGNATORY.of(registry.runtime).present_key()
    header = {"typ": "agent-bundle+jws", "iat": int(key.now.timestamp()), "canon": "sorted-ascii-json/1"}
    return {**content, "signatures": [federation.detached_signature(key, canonical_json(content), header)]}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"kind": "agent.bundle.v2"}, "/bundle/kind"),
        ({"more": 1}, "/bundle/more"),
        ({"releases": [{"version": "x" * 65}]}, "/bundle/releases/0/version"),
        ({"releases": [{"version": "1", "release_notes": "a\u202eb"}]}, "/bundle/releases/0/release_notes"),
        ({"releases": [{"version": str(n)} for n in range(21)]}, "/bundle/releases"),
        ({"spend_policy": {"per_tx_max": "-1"}}, "/bundle/spend_policy/per_tx_max"),
        ({"spend_policy": {"no_limit": True}}, "/bundle/spend_policy/no_limit"),
        ({"exported_at": "yesterday"}, "/bundle/exported_at"),
        ({"pipelines": [1]}, "/bundle/pipelines/0"),
    ],
)
async def test_a_signed_bundle_is_judged_as_a_request(registry, owner, agent, changes, pointer):
    content = (await exported(owner, agent))["bundle"]
    del content["signatures"]
    refused = await bring_in(owner, await signed_here(registry, {**content, **changes}))
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, pointer), refused.text


async def test_texts_of_strangers_in_a_bundle_meet_the_ordinary_checks_of_a_card(registry, owner, agent):
    content = (await exported(owner, agent))["bundle"]
    del content["signatures"]
    bad = {**content, "card": {**content["card"], "name": ""}}
    refused = await bring_in(owner, await signed_here(registry, bad))
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "CARD_INVALID")
    loud = {
        **content["card"],
        "description": "<script>alert(1)</script>",
        "status": "revoked",
        "did": "did:a:b",
    }
    made = await bring_in(owner, await signed_here(registry, {**content, "card": loud}))
    assert made.status_code == 201, made.text
    card = await card_of(registry, made.json()["agent_did"])
    assert (card["status"], card["did"]) == ("active", made.json()["agent_did"])


async def test_secrets_in_notes_of_a_bundle_are_not_stored(registry, owner, agent):
    content = (await exported(owner, agent))["bundle"]
    del content["signatures"]
    secret = "apt_" + "b" * 64
    releases = [{"version": "1", "release_notes": f"Key {secret}"}]
    made = await bring_in(owner, await signed_here(registry, {**content, "releases": releases}))
    assert made.status_code == 201, made.text
    listed = await registry.get(f"/agents/{made.json()['agent_did']}/versions", params={"kind": "release"})
    assert listed.json()["versions"][0]["release_notes"] == "Key [redacted:payment_token]"


async def test_pipelines_cross_by_the_slot_that_their_room_fills(registry, owner, agent):
    seen = []

    async def export_pipelines(_tx, did):
        return [{"name": "Best of two", "of": did}]

    async def import_pipelines(_tx, did, definitions):
        seen.append((did, list(definitions)))
        return ["A payee of the pipeline is unknown here."]

    former = PIPELINES_OF_BUNDLE.of(registry.runtime)
    assert isinstance(PIPELINES_OF_BUNDLE, Slot)
    PIPELINES_OF_BUNDLE.put(registry.runtime, PipelinesOfBundle(export_pipelines, import_pipelines))
    try:
        bundle = (await exported(owner, agent))["bundle"]
        assert bundle["pipelines"] == [{"name": "Best of two", "of": agent.did}]
        made = (await bring_in(owner, bundle)).json()
    finally:
        PIPELINES_OF_BUNDLE.put(registry.runtime, former)
    assert seen == [(made["agent_did"], bundle["pipelines"])]
    assert "A payee of the pipeline is unknown here." in made["warnings"]


def chain(first, second, **members):
    """A pipeline of two steps, of which the second takes the output of the first and has a fallback."""
    steps = [
        step("draft", first, "Write {{/input/topic}}.", attempts=2),
        step(
            "check",
            second,
            {"parts": [{"text": {"$ref": "/steps/draft/output/text"}}]},
            needs=["draft"],
            on_failure={"fallback": first},
            when={"ref": "/input/checked", "equals": True},
        ),
    ]
    return {"name": "Draft and check", "steps": steps, "budget": "10", **members}


async def pipelines_of(who, did):
    """The definitions of the pipelines of an agent, without what differs from agent to agent."""
    listed = await who.registry.get(f"/agents/{did}/pipelines", headers=who.headers)
    assert listed.status_code == 200, listed.text
    kept = ("name", "description", "steps", "budget", "deadline_seconds")
    return [{name: one[name] for name in kept} for one in listed.json()["items"]]


async def test_pipelines_come_with_the_agent_in_their_newest_revision(registry, owner, agent):
    first, second = [(await registry.agent()).did for _ in range(2)]
    path = f"/agents/{agent.did}/pipelines"
    made = await registry.post(path, json=chain(first, first), headers=owner.headers)
    assert made.status_code == 201, made.text
    revised = await registry.http.put(
        f"/api/v1{path}/{made.json()['id']}",
        json=chain(first, second, description="Second revision."),
        headers=owner.headers,
    )
    assert (revised.status_code, revised.json()["revision"]) == (200, 2), revised.text
    bundle = (await exported(owner, agent))["bundle"]
    (definition,) = bundle["pipelines"]
    assert made.json()["id"] not in json.dumps(bundle)
    assert [one["agent"] for one in definition["steps"]] == [first, second]
    other = await registry.developer()
    imported = (await bring_in(other, bundle)).json()
    assert await pipelines_of(other, imported["agent_did"]) == await pipelines_of(owner, agent.did)
    assert not any("does not know" in warning for warning in imported["warnings"])
    again = (await exported(other, as_exported(imported, registry)))["bundle"]
    assert again["pipelines"] == bundle["pipelines"]


def as_exported(imported, registry):
    """The imported agent as exports name one."""
    return TestAgent(registry, imported["agent_did"], "", imported)


async def test_payees_that_do_not_exist_here_are_warnings(registry, owner, agent):
    known = (await registry.agent()).did
    gone, further = [f"did:hansa:elsewhere.example:{number}" for number in "12"]
    for name, payees in (
        ("All known", (known, known)),
        ("Both gone", (further, gone)),
        ("One gone", (known, gone)),
    ):
        body = chain(*payees, name=name)
        made = await registry.post(f"/agents/{agent.did}/pipelines", json=body, headers=owner.headers)
        assert made.status_code == 201, made.text
    bundle = (await exported(owner, agent))["bundle"]
    for members in ({"dry_run": True}, {}):
        answer = await bring_in(owner, bundle, **members)
        assert answer.is_success, answer.text
        warned = [one for one in answer.json()["warnings"] if "does not know" in one]
        assert warned == [
            f"The pipeline Both gone pays agents that this registry does not know: {gone} and 1 more.",
            f"The pipeline One gone pays agents that this registry does not know: {gone}.",
        ]
    assert len(await pipelines_of(owner, answer.json()["agent_did"])) == 3


async def test_a_pipeline_of_a_bundle_is_judged_as_the_body_of_a_request(registry, owner, agent):
    content = (await exported(owner, agent))["bundle"]
    del content["signatures"]
    payee = (await registry.agent()).did
    before = await number_of_agents(registry)
    cycle = chain(payee, payee)
    cycle["steps"][0]["needs"] = ["check"]
    for wrong in (cycle, chain(payee, payee, budget="-1"), {"name": "Half"}, chain(payee, payee, code="x")):
        refused = await bring_in(owner, await signed_here(registry, {**content, "pipelines": [wrong]}))
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "pipelines.0"), refused.text
    assert await number_of_agents(registry) == before


async def test_twenty_bundles_of_a_developer_are_stored_the_newest(registry, owner, agent):
    first = await exported(owner, agent)
    await at_once(*(exported(owner, agent) for _ in range(22)))
    stored = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM operations_bundle WHERE agent_did = $1", agent.did)
    )
    assert stored == 20
    refused = await fork(agent, first["bundle_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "BUNDLE_UNKNOWN")


async def test_an_agent_forks_a_bundle_of_its_owner(registry, owner, agent):
    bundle = await exported(owner, agent)
    answer = await fork(agent, bundle["bundle_id"], name="Second", description="Does the same.")
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert set(made) == CREATED
    assert made["initial_funding_status"] == "not_first_agent"
    card = await card_of(registry, made["agent_did"])
    assert (card["name"], card["description"]) == ("Second", "Does the same.")
    assert await is_unlisted(registry, made["agent_did"])
    assert card["card_data"]["imported_from"]["did"] == agent.did
    own = await registry.get("/agents", headers=owner.headers)
    assert made["agent_did"] in {one["did"] for one in own.json()["items"]}


async def test_a_repeated_import_or_fork_gets_the_first_answer_and_makes_one_agent(registry, owner, agent):
    made = await exported(owner, agent)
    before = await number_of_agents(registry)
    rows = "SELECT count(*) FROM plumbing_idempotency WHERE answer LIKE '%' || $1 || '%'"
    for who, path, body in (
        (owner, "/agents/import", {"bundle": made["bundle"]}),
        (agent, f"/agents/bundles/{made['bundle_id']}/fork", {"name": "Second"}),
    ):
        headers = {**who.headers, "Idempotency-Key": f"once {path}"[:60].replace(" ", "-")}
        first, again = [await registry.post(path, json=body, headers=headers) for _ in range(2)]
        assert first.is_success, first.text
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert again.headers["Idempotent-Replayed"] == "true"
        secret = first.json()["client_secret"]
        assert not await registry.database.query(lambda tx, secret=secret: tx.fetchval(rows, secret))
    assert await number_of_agents(registry) == before + 2


async def test_a_fork_has_no_role_that_its_creator_lacks(registry, owner, agent):
    bundle = await exported(owner, agent)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_agent SET roles = '{client,service-provider}' WHERE did = $1", agent.did
        )
    )
    made = (await fork(agent, bundle["bundle_id"])).json()
    authz = await registry.get(f"/agents/{made['agent_did']}/authz", headers=owner.headers)
    assert authz.json()["roles"] == ["client"]


async def test_the_bundles_of_others_are_not_forked(registry, owner, agent):
    bundle = await exported(owner, agent)
    stranger = await forker(await registry.developer())
    refused = await fork(stranger, bundle["bundle_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "BUNDLE_UNKNOWN")
    powerless = await owner.agent()
    assert (await fork(powerless, bundle["bundle_id"])).json()["error"]["code"] == "PERMISSION_MISSING"
    for members in ({"royalty_bps": 1}, {"name": "ab"}, {"name": "a\u202ebc"}):
        assert (await fork(agent, bundle["bundle_id"], **members)).status_code == 422


async def test_a_bundle_of_an_organization_is_forked_by_its_agents_alone(registry):
    organization = await found(registry)
    agent = await organization.born()
    admin = await organization.member("admin")
    await registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "service-provider"}, headers=admin.headers
    )
    bundle = await exported(admin, agent)
    assert (await fork(agent, bundle["bundle_id"])).status_code == 200
    assert (await fork(await forker(admin), bundle["bundle_id"])).status_code == 404
    viewer = await organization.member("viewer")
    assert (await export(viewer, agent)).status_code == 403


async def test_a_fork_of_an_organization_needs_room_in_it_also_when_several_come_at_once(
    registry, monkeypatch
):
    organization = await found(registry)
    agent = await organization.born()
    await registry.post(
        f"/agents/{agent.did}/authz/roles",
        json={"role": "service-provider"},
        headers=organization.owner.headers,
    )
    bundle = await exported(organization.owner, agent)
    monkeypatch.setattr("hansa.rooms.organizations.rules.AGENTS_MAX", 2)
    answers = await at_once(*(fork(agent, bundle["bundle_id"]) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert refused.json()["error"]["code"] == "LIMIT_REACHED"
    assert len((await organization.read(organization.owner, "/agents"))["items"]) == 2


async def test_the_agent_of_a_suspended_developer_forks_nothing_also_where_it_is_active_itself(
    registry, owner, agent
):
    bundle = await exported(owner, agent)
    enforcement = Enforcement(registry, await registry.administrator("admin_enforcement"))
    before = await number_of_agents(registry)
    await enforcement.suspend_developer(owner)
    await enforcement.reinstate(agent.did)
    refused = await fork(agent, bundle["bundle_id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "DEVELOPER_SUSPENDED")
    assert await number_of_agents(registry) == before


async def test_forks_count_in_the_quotas_of_children(agent, owner):
    bundle = await exported(owner, agent)
    answers = await at_once(*(fork(agent, bundle["bundle_id"]) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] * 10 + [429] * 2
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "QUOTA_REACHED"


async def test_strangers_do_not_export(registry, agent):
    for who in (await registry.developer(), await registry.administrator()):
        assert (await export(who, agent)).status_code == 404
    assert (await export(agent, agent)).status_code == 401


async def test_an_account_that_is_erased_leaves_no_bundle(registry, owner, agent):
    await exported(owner, agent)
    number = await registry.database.query(
        lambda tx: tx.fetchval("SELECT developer_id FROM operations_bundle WHERE agent_did = $1", agent.did)
    )
    await registry.database.transaction(lambda tx: delete_of(tx, number))
    left = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM operations_bundle WHERE developer_id = $1", number)
    )
    assert left == 0
    assert await versions(agent) == {"versions": [], "next": None}
