"""Pages of versions, deployments and bundles of an own agent: each act, its refusals, and the import with its dry run."""

import json
import re

import pytest

from tests.browsing import browser_of
from tests.conversations.test_bundles import (
    card_of,
    chain,
    exported,
    is_unlisted,
    number_of_agents,
    signed_here,
)
from tests.conversations.test_deployments import staged
from tests.conversations.test_versions import coder, registered, statuses
from tests.organizations import found
from tests.rooms.catalogue.pulls.agent_host import hosting, said

IMPORT = "/account/agents/import"
COMMIT, SHA256 = "0123456789abcdef", "a" * 64


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await coder(owner)


@pytest.fixture
async def browser(registry, owner):
    return await browser_of(registry, owner)


@pytest.fixture
async def stage(start_registry):
    async with hosting() as first, hosting() as second:
        yield await staged(start_registry, first, second)


def page(agent, *rest):
    return "/".join([f"/account/agents/{agent.did}/releases", *rest])


async def deployments(agent, owner):
    path = f"/agents/{agent.did}/deployments"
    return (await agent.registry.get(path, headers=owner.headers)).json()["deployments"]


async def test_a_version_is_registered_as_a_draft_and_activated_after_its_effect_was_stated(browser, agent):
    await browser.open(page(agent))
    await browser.send(
        page(agent, "register"),
        version="2.1.0",
        commit_hash=COMMIT.upper(),
        release_notes="Twice as fast.",
        artifacts=f"wheel https://files.example.com/a.whl {SHA256}\n\n",
        unstable="true",
    )
    assert "The version is a draft." in browser.text
    listed = await agent.registry.get(f"/agents/{agent.did}/versions", params={"kind": "release"})
    (made,) = listed.json()["versions"]
    assert (made["version"], made["status"], made["commit_hash"]) == ("2.1.0", "draft", COMMIT)
    assert (made["release_notes"], made["is_stable"]) == ("Twice as fast.", False)
    assert made["artifacts"]["wheel"] == {"uri": "https://files.example.com/a.whl", "sha256": SHA256}
    assert "the one before is retired" in browser.text
    await browser.send(page(agent, "activate"))
    assert "The version is active." in browser.text
    assert await statuses(agent) == {"2.1.0": "active"}


async def test_a_form_sent_twice_registers_one_version(browser, agent):
    await browser.open(page(agent))
    form = browser.form(page(agent, "register"))
    fields = {**dict(form.fields), "version": "1"}
    for _ in range(2):
        assert (await browser.post(page(agent, "register"), **fields)).status_code == 200
    assert await statuses(agent) == {"1": "draft"}


async def test_a_refused_version_keeps_the_fields_and_names_the_wrong_one(browser, owner, agent):
    await registered(owner, agent, "1")
    await browser.open(page(agent))
    again = await browser.send(page(agent, "register"), version="1", release_notes="Kept words.")
    assert (again.status_code, "a version with this name already" in again.text) == (409, True)
    assert "Kept words." in again.text
    for wrong in (
        "one two",
        "a http://files.example.com/a " + SHA256,
        f"a https://x.example.com/a {SHA256}x",
    ):
        refused = await browser.send(page(agent, "register"), version="2", artifacts=wrong)
        assert (refused.status_code, 'id="artifacts-trouble"' in refused.text) == (422, True), wrong
    assert await statuses(agent) == {"1": "draft"}


@pytest.mark.parametrize(
    ("act", "field"), [("activate", "activated"), ("rollback", "deployment"), ("check", "version_id")]
)
async def test_a_name_of_nothing_is_refused_before_it_reaches_an_address(browser, owner, agent, act, field):
    await registered(owner, agent, "1")
    await browser.open(page(agent))
    key = dict(browser.form(page(agent, "register")).fields)["form_key"]
    for name in ("", "./other", "3fa85f64-5717-4562-b3fc-2c963f66afa6"):
        refused = await browser.post(page(agent, act), form_key=key, **{field: name})
        assert refused.status_code in {404, 409, 422}, refused.text
    assert await statuses(agent) == {"1": "draft"}


async def test_a_deployment_is_shown_before_it_is_made_and_then_until_it_has_ended(stage):
    made = await registered(stage.owner, stage.agent, "2")
    browser = await browser_of(stage.registry, stage.owner)
    to, own = stage.second.url + "/a2a", page(stage.agent)
    await browser.open(own)
    asked = len(stage.second.asked)
    shown = await browser.send(f"{own}/check", version_id=made["version_id"], url=to, note="New machine")
    for text in (to, stage.first.url + "/a2a", "New machine", "Check and deploy"):
        assert text in shown.text
    assert (await deployments(stage.agent, stage.owner), len(stage.second.asked)) == ([], asked)
    pending = await browser.send(f"{own}/deploy")
    assert "The address is being checked." in pending.text
    assert pending.headers["refresh"] == "3"
    assert f'action="{own}/check"' not in pending.text
    assert "refresh" not in (await browser.open(own)).headers
    await stage.check()
    ended = await browser.open(f"{own}?live=true")
    assert "refresh" not in ended.headers
    (one,) = await deployments(stage.agent, stage.owner)
    assert (one["status"], one["note"], await stage.url()) == ("active", "New machine", to)


async def test_a_deployment_that_failed_shows_its_reason(stage):
    made = await registered(stage.owner, stage.agent, "2")
    stage.second.raw = said(b"", status=503)
    browser = await browser_of(stage.registry, stage.owner)
    await browser.open(page(stage.agent))
    to = stage.second.url + "/a2a"
    await browser.send(page(stage.agent, "check"), version_id=made["version_id"], url=to)
    await browser.send(page(stage.agent, "deploy"))
    await stage.check()
    assert "The host answered 503." in (await browser.open(page(stage.agent))).text
    assert await stage.url() == stage.first.url + "/a2a"


async def test_an_address_that_is_never_called_is_refused_beside_its_field(browser, owner, agent):
    made = await registered(owner, agent, "1")
    await browser.open(page(agent))
    named = {"version_id": made["version_id"], "url": "http://10.0.0.1/a2a"}
    refused = await browser.send(page(agent, "check"), **named)
    assert (refused.status_code, 'id="url-trouble"' in refused.text) == (422, True)


async def test_the_active_deployment_is_rolled_back_by_one_click_and_a_confirmation(stage):
    own = page(stage.agent)
    await stage.deployed("1", stage.first.url + "/a2a")
    await stage.deployed("2", stage.second.url + "/a2a")
    browser = await browser_of(stage.registry, stage.owner)
    await browser.open(own)
    assert "becomes active again" in browser.text
    stage.first.raw = said(b"", status=503)
    refused = await browser.send(f"{own}/rollback")
    assert "Nothing was rolled back. The host answered 503." in refused.text
    assert await stage.url() == stage.second.url + "/a2a"
    stage.first.raw = None
    await browser.open(own)
    await browser.send(f"{own}/rollback")
    assert "The deployment before is active again." in browser.text
    assert (await stage.url(), await statuses(stage.agent)) == (
        stage.first.url + "/a2a",
        {"1": "active", "2": "retired"},
    )
    assert f'action="{own}/rollback"' not in browser.text


async def test_a_bundle_is_downloaded_as_a_file_and_imported_after_a_dry_run(registry, browser, owner, agent):
    await registered(agent, agent, "2.0")
    await browser.open(page(agent))
    file = await browser.send(page(agent, "export"))
    assert file.headers["content-disposition"] == 'attachment; filename="agent-bundle.json"'
    bundle = file.json()
    assert (bundle["kind"], bundle["did"]) == ("agent.bundle.v1", agent.did)
    importer = await browser_of(registry, await registry.developer())
    before = await number_of_agents(registry)
    await importer.open(IMPORT)
    shown = await importer.send(f"{IMPORT}/check", bundle=file.text)
    assert shown.status_code == 200, shown.text
    for text in (
        agent.did,
        bundle["card"]["name"],
        "service-provider",
        "trader, client",
        "2.0",
        "The versions are drafts",
    ):
        assert text in shown.text
    assert ("hsk_" in shown.text, await number_of_agents(registry)) == (False, before)
    key = importer.form(IMPORT).fields
    made = await importer.send(IMPORT)
    assert made.status_code == 200, made.text
    (secret,) = set(re.findall(r"hsk_[0-9a-f]+", made.text))
    (did,) = {found for found in re.findall(r"did:hansa:[^\s<\"&]+", made.text) if found != agent.did}
    assert await number_of_agents(registry) == before + 1
    assert await is_unlisted(registry, did)
    assert (await card_of(registry, did))["card_data"]["imported_from"]["did"] == agent.did
    # The same form again shows the same credentials and makes no other agent.
    again = await importer.post(IMPORT, **dict(key))
    assert (secret in again.text, await number_of_agents(registry)) == (True, before + 1)
    assert secret not in (await importer.open(f"/account/agents/{did}")).text


async def test_a_bundle_that_is_refused_names_the_reason_and_makes_nothing(registry, browser, owner, agent):
    await browser.open(page(agent))
    bundle = (await browser.send(page(agent, "export"))).json()
    before = await number_of_agents(registry)
    await browser.open(IMPORT)
    for text in ("", "no json", "[1]", json.dumps({**bundle, "roles": ["trader"]}), json.dumps({"did": 1})):
        key = dict(browser.form(f"{IMPORT}/check").fields)["form_key"]
        for path in (IMPORT, f"{IMPORT}/check"):
            refused = await browser.post(path, form_key=key, bundle=text)
            assert (refused.status_code, 'id="bundle-trouble"' in refused.text) == (422, True), text
    assert await number_of_agents(registry) == before


async def test_texts_of_a_signed_bundle_are_text_on_the_page_that_shows_it(registry, browser, owner, agent):
    content = (await exported(owner, agent))["bundle"]
    del content["signatures"]
    hostile = "<script>alert(1)</script>"
    payee = (await registry.agent()).did
    bad = {
        **content,
        "card": {**content["card"], "name": hostile, "description": f"{hostile}\u202e"},
        "roles": [hostile, '"><img src=x>'],
        "releases": [{"version": hostile, "release_notes": hostile}],
        "pipelines": [chain(payee, "did:web:gone.example", name=hostile)],
    }
    bundle = json.dumps(await signed_here(registry, bad))
    await browser.open(IMPORT)
    shown = await browser.send(f"{IMPORT}/check", bundle=bundle)
    assert shown.status_code == 200, shown.text
    made = await browser.send(IMPORT)
    assert made.status_code == 200, made.text
    (did,) = set(re.findall(r"/account/agents/(did:[^\s<\"&]+)", made.text))
    own = await browser.open(f"/account/agents/{did}/releases")
    for answer in (shown, made, own):
        assert "alert(1)" in answer.text
        for raw in (hostile, "<img src=x", "\u202e"):
            assert raw not in answer.text


async def test_a_secret_in_the_card_refuses_the_export_and_its_place_is_named(registry, owner):
    agent = await owner.agent(description="Token apt_" + "a" * 64)
    browser = await browser_of(registry, owner)
    await browser.open(page(agent))
    refused = await browser.send(page(agent, "export"))
    assert (refused.status_code, "/card/description" in refused.text) == (422, True)
    assert "a" * 64 not in refused.text


async def test_the_acts_are_those_of_people_who_operate_the_agent(registry, agent):
    stranger = await browser_of(registry, await registry.developer())
    assert (await stranger.open(page(agent))).status_code == 404
    organization = await found(registry)
    own = await organization.born()
    viewer = await browser_of(registry, await organization.member("viewer"))
    shown = await viewer.open(page(own))
    assert (shown.status_code, '<form method="post" action="' + page(own) in shown.text) == (200, False)
    assert (
        f'action="{page(own, "register")}"'
        in (await (await browser_of(registry, organization.owner)).open(page(own))).text
    )
