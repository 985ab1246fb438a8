"""A person's agents by their pages: the wizard, the card with its changes, rights, approvals, credentials, the end."""

import itertools
import json
import re
from typing import Any

import pytest

from hansa.doors.console.own_agents.card_text import difference
from tests.browsing import BrowserOf, browser_of
from tests.hostile.corpus import TEXTS
from tests.registry import PASSWORD, TestAgent, TestRegistry, at_once, card_of
from tests.rooms.catalogue.pulls.agent_host import registry_beside_a_host

MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
FIELDS = {
    "name": "Scribe",
    "description": "Writes summaries.",
    "url": "https://scribe.example.org/a2a",
    "version": "1.0.0",
    "skill_name": "Summary",
    "skill_description": "Writes one summary.",
}
PARTS = (
    "",
    "/card",
    "/versions",
    "/versions/1",
    "/rights",
    "/approvals",
    "/capabilities",
    "/credentials",
    "/end",
)
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


def secret_on(browser: BrowserOf) -> str:
    """The client secret that the page shows once."""
    return re.search(r"hsk_[0-9a-f]+", browser.text)[0]


async def start(registry: TestRegistry) -> BrowserOf:
    browser = await browser_of(registry)
    await browser.open("/account/agents/new")
    return browser


async def pair(registry: TestRegistry, **card: Any) -> tuple[BrowserOf, TestAgent, str]:
    """A browser of a developer, an agent of the same, and where the agent's settings are."""
    developer = await registry.developer()
    agent = await developer.agent(**card)
    return await browser_of(registry, developer), agent, f"/account/agents/{agent.did}"


async def pending_approval(registry: TestRegistry, agent: TestAgent) -> str:
    made = await registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO agents_spend_approval (agent_id, payee, amount, expires_at)"
            " SELECT id, $2, 500000000, now() + interval '1 day' FROM agents_agent WHERE did = $1 RETURNING id",
            agent.did,
            f"did:hansa:hansa.local:payee-{next(_numbers)}",
        )
    )
    return str(made)


async def test_the_wizard_makes_an_agent_of_a_form_whose_credentials_work(registry):
    browser = await start(registry)
    await browser.send("/account/agents/new/from-form", **FIELDS, tags="summaries, ink", price="0.5")
    assert "Nothing has been created yet." in browser.text
    assert "&#34;summaries&#34;" in browser.text
    await browser.send("/account/agents/new")
    assert "request-token" in browser.text
    assert "create_agent" in browser.text
    secret = secret_on(browser)
    did = re.search(r"did:hansa:[\w.:-]+", browser.text)[0]
    assert f"HANSA_CLIENT_SECRET%3D%27{secret}%27" in browser.text
    assert browser.page.headers["cache-control"] == "no-store"
    await browser.send(f"/account/agents/{did}/test-call")
    assert "200 OK" in browser.text
    await browser.open("/account/agents")
    assert did in browser.text
    assert secret not in browser.text


async def test_the_wizard_says_what_a_card_was_completed_with(registry):
    card = card_of("Terse")
    del card["capabilities"], card["version"]
    browser = await start(registry)
    await browser.send("/account/agents/new/from-card", card=json.dumps(card))
    assert "What was completed" in browser.text
    assert "$.version" in browser.text
    await browser.send("/account/agents/new")
    assert "Agent created" in browser.text


async def test_a_form_of_creation_sent_twice_makes_one_agent_and_shows_the_same_credentials(registry):
    browser = await start(registry)
    await browser.send("/account/agents/new/from-form", **FIELDS)
    fields = browser.form("/account/agents/new").fields
    twin = BrowserOf(registry)
    twin.http.cookies = browser.http.cookies
    await at_once(*(each.post("/account/agents/new", fields) for each in (browser, twin)))
    assert secret_on(browser) == secret_on(twin)
    await browser.open("/account/agents")
    assert "Agents in all: 1." in browser.text


async def test_a_card_that_is_none_is_refused_with_its_reasons_and_stays_in_the_field(registry):
    browser = await start(registry)
    form_key = dict(browser.form("/account/agents/new/from-card").fields)["form_key"]
    texts = [text.encode("utf-8", "replace").decode() for text in TEXTS if "\x00" not in text]
    for text in ("", "{", "[]", "null", "1", '"x"', "{}", '{"name": 1}', "[" * 9999, *texts):
        await browser.post("/account/agents/new/from-card", form_key=form_key, card=text)
        assert (text, browser.page.status_code) == (text, 422)
        assert "<title>Error: " in browser.text
        assert dict(browser.form("/account/agents/new/from-card").fields)["card"]
        await browser.post("/account/agents/new", form_key=form_key, card=text)
        assert (text, browser.page.status_code) == (text, 422)
    await browser.open("/account/agents")
    assert "You have no agents yet." in browser.text


@pytest.mark.parametrize(
    "field", ["name", "description", "url", "version", "skill_name", "skill_description"]
)
async def test_a_missing_field_of_the_form_is_named_beside_it(registry, field):
    browser = await start(registry)
    await browser.send("/account/agents/new/from-form", **{**FIELDS, field: ""})
    assert browser.page.status_code == 422
    assert f'id="{field}-trouble">This field is required.' in browser.text


async def test_the_creation_asks_for_the_password_again_and_then_goes_on(registry):
    browser = await start(registry)
    await browser.idle(minutes=11)
    await browser.send("/account/agents/new/from-form", **FIELDS)
    await browser.send("/account/agents/new")
    assert browser.page.status_code == 403
    await browser.send("/confirm", password=PASSWORD)
    await browser.send("/account/agents/new")
    assert "Agent created" in browser.text


async def test_a_card_that_was_entered_survives_an_ended_session(registry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    await browser.open("/account/agents/new")
    page = browser.page
    await browser.idle(minutes=61)
    browser.page = page
    await browser.send("/account/agents/new/from-form", **FIELDS)
    assert (browser.page.status_code, "it was not lost" in browser.text) == (401, True)
    await browser.send("/login", email=developer.email, password=PASSWORD)
    await browser.send("/account/agents/new/from-form")
    assert "Nothing has been created yet." in browser.text
    assert FIELDS["description"] in browser.text


async def test_the_wizard_fetches_the_card_of_a_host_and_creates_the_agent_there(database_farm, tmp_path):
    async with registry_beside_a_host(await database_farm.fresh(), tmp_path) as (registry, host):
        host.serve(name="Hosted")
        browser = await start(registry)
        await browser.send("/account/agents/new/from-host", agent_host=host.url)
        assert "it was fetched from" in browser.text
        assert "Hosted" in browser.text
        await browser.send("/account/agents/new")
        assert "Its card is fetched from its host within moments." in browser.text
        host.cards.clear()
        await browser.open("/account/agents/new")
        await browser.send("/account/agents/new/from-host", agent_host=host.url)
        assert browser.page.status_code == 422
        assert 'id="agent_host-trouble"' in browser.text


@pytest.mark.parametrize(
    "host", ["http://127.0.0.1/", "http://169.254.169.254/", "ftp://example.org", "x", ""]
)
async def test_a_host_that_is_not_public_is_never_called(registry, host):
    browser = await start(registry)
    await browser.send("/account/agents/new/from-host", agent_host=host)
    assert browser.page.status_code == 422
    assert 'id="agent_host-trouble"' in browser.text


async def test_a_card_is_saved_after_its_changes_were_shown(registry):
    browser, _, base = await pair(registry, description="Before.")
    await browser.open(f"{base}/card")
    card = json.loads(dict(browser.form(f"{base}/card/review").fields)["card"])
    await browser.send(f"{base}/card/review", card=json.dumps({**card, "description": "After <b>."}))
    assert "Nothing has been saved yet." in browser.text
    assert re.search(r"<del>.*Before\..*</del>", browser.text)
    assert re.search(r"<ins>.*After &lt;b&gt;\..*</ins>", browser.text)
    await browser.send(f"{base}/card")
    assert "The card is saved." in browser.text
    await browser.open(f"{base}/versions/2")
    assert re.search(r"<del>.*Before\..*</del>", browser.text)


async def test_a_card_that_somebody_changed_meanwhile_is_not_overwritten(registry):
    browser, agent, base = await pair(registry)
    await browser.open(f"{base}/card")
    card = json.loads(dict(browser.form(f"{base}/card/review").fields)["card"])
    await browser.send(f"{base}/card/review", card=json.dumps({**card, "description": "Mine."}))
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE catalogue_card SET version = version + 1 WHERE did = $1", agent.did)
    )
    await browser.send(f"{base}/card")
    assert browser.page.status_code == 412
    assert "was changed after you opened it" in browser.text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}'])
async def test_an_invalid_card_is_not_saved(registry, text):
    browser, _, base = await pair(registry)
    await browser.open(f"{base}/card")
    fields = dict(browser.form(f"{base}/card/review").fields)
    await browser.send(f"{base}/card/review", card=text)
    assert browser.page.status_code == 422
    await browser.post(f"{base}/card", **{**fields, "card": text})
    assert browser.page.status_code == 422
    await browser.open(f"{base}/versions")
    assert "/versions/2" not in browser.text


async def test_the_listing_is_changed_and_the_card_withdrawn(registry):
    browser, agent, base = await pair(registry)
    for listing, is_active in (("unlisted", True), ("withdrawn", False), ("listed", True)):
        await browser.open(base)
        await browser.send(f"{base}/listing", listing=listing)
        assert "The listing is changed." in browser.text
        assert dict(browser.form(f"{base}/listing").fields)["listing"] == listing
        card = (await registry.get(f"/agents/by-did/{agent.did}")).json()
        assert card["is_active"] is is_active


async def test_roles_and_spend_policy_are_replaced(registry):
    browser, agent, base = await pair(registry)
    await browser.open(f"{base}/rights")
    await browser.send(
        f"{base}/rights",
        roles=["trader"],
        per_tx_max="5",
        per_day_max="20.5",
        limits_payees="true",
        allowlist="did:hansa:a\ndid:hansa:b",
    )
    assert "The rights are changed" in browser.text
    fields = browser.form(f"{base}/rights").fields
    assert [value for name, value in fields if name == "roles"] == ["trader"]
    policy = {
        "per_tx_max": "5",
        "per_day_max": "20.5",
        "approval_over": None,
        "allowlist": ["did:hansa:a", "did:hansa:b"],
    }
    headers = await api_headers(registry, browser)
    rights = (await registry.get(f"/agents/{agent.did}/authz", headers=headers)).json()
    assert (rights["roles"], rights["spend_policy"]) == (["trader"], policy)
    nothing = {"per_tx_max": "", "per_day_max": "", "allowlist": "", "limits_payees": "", "roles": []}
    await browser.send(f"{base}/rights", **nothing)
    rights = (await registry.get(f"/agents/{agent.did}/authz", headers=headers)).json()
    assert (rights["roles"], rights["spend_policy"]) == ([], None)


async def api_headers(registry: TestRegistry, browser: BrowserOf) -> dict[str, str]:
    """The credential of the same person for the API."""
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", key_name="For the test", scopes=["*"])
    key = re.search(r'class="secret"[^>]*><code>([^<]+)</code>', browser.text)[1]
    back = {"Authorization": f"Bearer {key}"}
    did = (await registry.get("/agents", headers=back)).json()["items"][0]["did"]
    await browser.open(f"/account/agents/{did}/rights")
    return back


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"per_tx_max": "-1"}, "per_tx_max"),
        ({"per_day_max": "much"}, "per_day_max"),
        ({"roles": ["king"]}, "roles"),
        ({"allowlist": "did:hansa:a"}, "limits_payees"),
    ],
    ids=str,
)
async def test_a_refused_right_says_why_beside_its_field(registry, fields, field):
    browser, _, base = await pair(registry)
    await browser.open(f"{base}/rights")
    await browser.send(f"{base}/rights", **fields)
    assert browser.page.status_code == 422
    assert f'id="{field}-trouble"' in browser.text


async def test_a_payment_that_waits_is_approved_or_denied_once(registry):
    browser, agent, base = await pair(registry)
    first, second = [await pending_approval(registry, agent) for _ in range(2)]
    await browser.open(f"{base}/approvals")
    assert "5 AVT" in browser.text
    form = browser.form(f"{base}/approvals/{first}/deny").fields
    await browser.send(f"{base}/approvals/{first}/approve")
    assert "The payment is approved" in browser.text
    await browser.post(f"{base}/approvals/{first}/deny", form)
    assert browser.page.status_code == 409
    await browser.send(f"{base}/approvals/{second}/deny")
    assert "The payment is denied" in browser.text


async def test_a_capability_is_revoked_by_the_owner_in_the_name_of_the_agent(registry):
    browser, agent, base = await pair(registry)
    body = {"caveats": {"permissions": ["teg.transfer"]}}
    made = await registry.post("/agents/capabilities", json=body, headers=agent.headers)
    assert made.status_code == 200, made.text
    await browser.open(f"{base}/capabilities")
    await browser.send(f"{base}/capabilities/{made.json()['id']}/revoke")
    assert "The capability is revoked" in browser.text
    assert "Revoked" in browser.text


async def test_a_new_secret_is_shown_once_and_ends_the_former_one(registry):
    browser, agent, base = await pair(registry)
    name = (await registry.get("/agents/me", headers=agent.headers)).json()["name"]
    await browser.open(f"{base}/credentials")
    refused = await browser.send(f"{base}/rotate-secret", typed_name="Another agent")
    assert (refused.status_code, "another one was typed" in browser.text) == (422, True)
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
    await browser.open(f"{base}/credentials")
    confirmed = {**dict(browser.form(f"{base}/rotate-secret").fields), "typed_name": name}
    form = list(confirmed.items())
    await browser.send(f"{base}/rotate-secret", typed_name=name)
    secret = secret_on(browser)
    await browser.post(f"{base}/rotate-secret", form)
    assert secret_on(browser) == secret
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 401
    await browser.open(f"{base}/credentials")
    assert secret not in browser.text
    await browser.send(f"{base}/test-call", client_secret=agent.created["client_secret"])
    assert browser.page.status_code == 401
    await browser.open(f"{base}/credentials")
    await browser.send(f"{base}/test-call", client_secret=secret)
    assert "200 OK" in browser.text
    assert secret not in browser.text


async def test_a_new_signing_key_is_shown_once_and_the_former_one_stays_listed(registry):
    browser, _, base = await pair(registry)
    await browser.open(f"{base}/credentials")
    await browser.send(f"{base}/rotate-signing-key")
    assert "BEGIN PRIVATE KEY" in browser.text
    await browser.open(f"{base}/credentials")
    assert "BEGIN PRIVATE KEY" not in browser.text
    assert browser.text.count('data-label="Thumbprint"') == 2


async def test_a_workload_identity_is_shown_and_disabled(registry):
    browser, agent, base = await pair(registry)
    enabled = await registry.post("/agent/enable-mtls", headers=agent.headers)
    assert enabled.status_code == 200, enabled.text
    await browser.open(f"{base}/credentials")
    assert enabled.json()["spiffe_id"] in browser.text
    await browser.send(f"{base}/disable-mtls")
    assert "The workload identity is disabled." in browser.text


async def test_an_agent_with_units_does_not_end_and_an_empty_one_ends_once(registry):
    developer = await registry.developer()
    rich, empty = [await developer.agent(name=name) for name in ("Rich", "Empty")]
    browser = await browser_of(registry, developer)
    base = f"/account/agents/{rich.did}"
    await browser.open(f"{base}/end")
    await browser.send(f"{base}/end")
    assert browser.page.status_code == 422
    await browser.send(f"{base}/end", understood="true")
    assert browser.page.status_code == 409
    base = f"/account/agents/{empty.did}"
    await browser.open(f"{base}/end")
    form = browser.form(f"{base}/end").fields
    await browser.send(f"{base}/end", understood="true")
    assert "The agent is revoked permanently." in browser.text
    await browser.post(f"{base}/end", form, understood="true")
    assert browser.page.status_code == 200
    for part in PARTS:
        assert (await browser.open(base + part)).status_code == 200, part


async def test_an_agent_of_another_account_is_unknown_and_stays_as_it_is(registry):
    owner, agent, base = await pair(registry)
    other = await browser_of(registry)
    for part in PARTS:
        assert (await other.open(base + part)).status_code == 404, part
    await other.open("/account/api-keys")
    form_key = dict(other.form("/account/api-keys").fields)["form_key"]
    approval = await pending_approval(registry, agent)
    acts = (
        "listing",
        "card",
        "card/review",
        "rights",
        "rotate-secret",
        "rotate-signing-key",
        "disable-mtls",
        "test-call",
        "end",
        f"approvals/{approval}/approve",
        f"approvals/{approval}/deny",
        f"capabilities/{approval}/revoke",
    )
    for act in acts:
        await other.post(
            f"{base}/{act}", form_key=form_key, listing="withdrawn", understood="true", card="{}"
        )
        assert other.page.status_code == 404, act
    await owner.open(f"{base}/approvals")
    assert "Pending" in owner.text
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200


async def test_who_is_not_logged_in_is_led_to_the_login_and_back(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    for part in PARTS:
        browser = BrowserOf(registry)
        path = f"/account/agents/{agent.did}{part}"
        await browser.open(path)
        assert browser.page.url.path == "/login"
    await browser.send("/login", email=developer.email, password=PASSWORD)
    assert browser.page.url.path == path


async def test_what_an_owner_writes_is_text_on_every_page_that_shows_it(registry):
    skill = {"id": "s", "name": MARKUP, "description": MARKUP, "tags": ["t"]}
    browser, _, base = await pair(registry, name=MARKUP, description=MARKUP, skills=[skill])
    for path in ("/account/agents", *(base + part for part in PARTS)):
        page = (await browser.open(path)).text
        assert (path, "<script>" in page, "<img src=x" in page) == (path, False, False)
    await browser.open(f"{base}/card")
    card = dict(browser.form(f"{base}/card/review").fields)["card"]
    await browser.send(f"{base}/card/review", card=card.replace("1.0.0", "2.0.0"))
    assert "<script>" not in browser.text


async def test_pages_of_agents_are_kept_by_no_cache_and_load_nothing_from_elsewhere(registry):
    browser, _, base = await pair(registry)
    for path in ("/account/agents", "/account/agents/new", *(base + part for part in PARTS)):
        headers = (await browser.open(path)).headers
        assert (path, headers["cache-control"]) == (path, "no-store")
        assert "unsafe-inline" not in headers["content-security-policy"]


@pytest.mark.parametrize("page", ["0", "-1", "x", "1000001", "9" * 30])
async def test_a_page_of_agents_that_does_not_exist_is_refused(registry, page):
    browser = await browser_of(registry)
    assert (await browser.open(f"/account/agents?page={page}")).status_code == 422


def test_a_difference_keeps_the_blanks_of_its_lines():
    lines = difference({"a": {"b": 1}}, {"a": {"b": 2}})
    assert [(line.kind, line.text) for line in lines if line.kind != "kept"] == [
        ("removed", '-    "b": 1'),
        ("added", '+    "b": 2'),
    ]
    assert difference({"a": 1}, {"a": 1}) == []


async def test_payments_of_all_own_agents_that_wait_stand_in_one_inbox_and_no_payment_of_others(registry):
    browser, agent, _ = await pair(registry)
    _, stranger, _ = await pair(registry)
    waiting, decided = await pending_approval(registry, agent), await pending_approval(registry, agent)
    foreign = await pending_approval(registry, stranger)
    await browser.open(f"/account/approvals/{decided}")
    await browser.send(f"/account/approvals/{decided}/deny")
    inbox = await browser.open("/account/approvals")
    assert "1 payment waits for your decision." in inbox.text
    assert inbox.text.index(f"/account/approvals/{waiting}") < inbox.text.index(
        f"/account/approvals/{decided}"
    )
    assert foreign not in inbox.text
    assert (await browser.open(f"/account/approvals/{foreign}")).status_code == 404
