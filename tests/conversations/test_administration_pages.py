"""The administration in a browser: areas, acts carried out once, previews, outcomes and the audit log."""

import re

import pytest

from hansa.doors.console.administration.record_pages import settings_view
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import federation
from tests.browsing import browser_of
from tests.conversations.test_reactors_admin import NAME, mend, spoil, until_set_aside
from tests.conversations.test_reactors_admin import suspend as suspend_by_api
from tests.registry import TestRegistry

PAGES = {
    "/administration/developers": "admin_enforcement",
    "/administration/agents": "admin_enforcement",
    "/administration/disputes": "admin_enforcement",
    "/administration/jobs": "admin_platform",
    "/administration/mail": "admin_platform",
    "/administration/reactors": "admin_platform",
    "/administration/pulls": "admin_platform",
    "/administration/log": "admin_platform",
    "/administration/settings": "admin_platform",
}
HOSTILE = "<script>alert(1)</script> \u202etxt"


@pytest.fixture
async def everything(registry: TestRegistry):
    """A browser of an administrator of every area."""
    return await browser_of(registry, await registry.administrator(*ADMIN_AREAS))


async def suspend(browser, *dids, reason="Fraud", act="suspend", **fields):
    """Preview an act and carry it out."""
    await browser.open("/administration/agents")
    preview = await browser.send(
        "/administration/agents/check", dids="\n".join(dids), act=act, reason=reason, **fields
    )
    assert preview.status_code == 200, preview.text
    return await browser.send("/administration/agents/act")


async def test_each_page_needs_its_area_and_only_pages_that_one_may_open_are_shown(registry):
    for area in ("admin_enforcement", "admin_platform", "admin_support"):
        browser = await browser_of(registry, await registry.administrator(area))
        await browser.open("/administration")
        assert browser.page.status_code == 200
        shown = {path for path in PAGES if f'href="{path}"' in browser.text}
        assert shown == {path for path, needed in PAGES.items() if needed == area}
        for path, needed in PAGES.items():
            answer = await browser.open(path)
            assert (path, answer.status_code) == (path, 200 if needed == area else 403)
            assert needed == area or f"the area {needed}" in answer.text


async def test_a_developer_without_an_area_sees_nothing_of_the_administration(registry):
    browser = await browser_of(registry)
    await browser.open("/account")
    assert "/administration" not in browser.text
    for path in ("/administration", *PAGES):
        assert (await browser.open(path)).status_code == 403


async def test_without_a_session_a_page_of_the_administration_leads_to_the_login(registry):
    answer = await registry.http.get("/administration/agents")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/administration/agents")


async def test_where_two_factors_are_required_an_administrator_without_them_is_refused(start_registry):
    registry = await start_registry(require_admin_2fa=True)
    browser = await browser_of(registry, await registry.administrator(*ADMIN_AREAS))
    for path in ("/administration", "/administration/agents"):
        answer = await browser.open(path)
        assert (answer.status_code, "ADMIN_2FA_REQUIRED" in answer.text) == (403, True)


async def test_the_overview_shows_what_needs_attention_first(registry, everything):
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO plumbing_job (kind, key, payload, state, due_at, dead_at)"
            " VALUES ('mail', 'x', '{}', 'dead', now(), now())"
        )
    )
    agent = await registry.agent()
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", agent.did)
    )
    text = (await everything.open("/administration")).text
    alerts = re.findall(r"<strong>(Problem|Warning): ([^.]+)\.", text)
    assert alerts[0] == ("Problem", "Audit mismatch")
    assert ("Warning", "Failed jobs") in alerts
    assert 'href="/administration/jobs?state=dead"' in text


async def test_a_suspension_is_previewed_and_shows_its_outcome_by_effect(registry, everything):
    agent, other = await registry.agent(name="Bad <b>"), await registry.agent()
    unknown = "did:web:unknown.example"
    await everything.open(f"/administration/agents?q={agent.did}")
    assert "Bad &lt;b&gt;" in everything.text
    assert other.did not in everything.text
    preview = await everything.send(
        "/administration/agents/check", agent_dids=agent.did, dids=unknown, act="suspend", reason=HOSTILE
    )
    assert "Nothing has been changed yet." in preview.text
    assert re.search(r'"Liquid" class="number">100<', preview.text)
    assert "Unknown to this registry" in preview.text
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
    outcome = await everything.send("/administration/agents/act")
    cells = re.findall(
        r'<td data-label="(?:Registry|Workload identity|Ledger account)">([^<]+)<', outcome.text
    )
    assert cells == ["Suspended", "Not enrolled", "Suspended", "Not found", "Skipped", "Skipped"]
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 403
    log = (await everything.open("/administration/log?act=agent.suspend")).text
    assert agent.did in log
    assert "&lt;script&gt;" in log
    assert "\u202e" not in log


async def test_an_act_that_is_sent_twice_is_carried_out_once(registry, everything):
    agent = await registry.agent()
    await suspend(everything, agent.did)
    await everything.open("/administration/agents")
    await everything.send("/administration/agents/check", dids=agent.did, act="reinstate")
    form = everything.form("/administration/agents/act")
    first = await everything.post(form.action, form.fields)
    second = await everything.post(form.action, form.fields)
    assert "Reinstated" in first.text
    assert "Reinstated" in second.text
    log = (await everything.open("/administration/log?act=agent.reinstate")).text
    assert "1 acts" in log


async def test_agents_are_revoked_after_a_suspension_only(registry, everything):
    agent = await registry.agent()
    refused = await suspend(everything, agent.did, act="revoke")
    assert "Not suspended" in refused.text
    await suspend(everything, agent.did)
    assert "Revoked" in (await suspend(everything, agent.did, act="revoke")).text


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"dids": "", "reason": "x"}, "dids"),
        ({"reason": ""}, "reason"),
        ({"reason": "x" * 2001}, "reason"),
        ({"act": "delete", "reason": "x"}, "act"),
    ],
)
async def test_a_suspension_without_what_it_needs_says_so_beside_the_field(
    registry, everything, fields, name
):
    agent = await registry.agent()
    await everything.open("/administration/agents")
    given = {"dids": agent.did, "act": "suspend", **fields}
    answer = await everything.send("/administration/agents/check", **given)
    assert (answer.status_code, f'id="{name}-trouble"' in answer.text) == (422, True)


async def test_a_developer_is_found_suspended_and_reinstated_with_every_agent(registry, everything):
    developer = await registry.developer("Mallory")
    agent = await developer.agent()
    await everything.open(f"/administration/developers?q={developer.email}")
    (page,) = re.findall(r'href="(/administration/developers/\d+)"', everything.text)
    await everything.open(page)
    assert agent.did in everything.text
    refused = await everything.send(f"{page}/suspend", reason=" ")
    assert (refused.status_code, 'id="reason-trouble"' in refused.text) == (422, True)
    assert "Suspended" in (await everything.send(f"{page}/suspend", reason=HOSTILE)).text
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 403
    text = (await everything.open(page)).text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert "Reinstated" in (await everything.send(f"{page}/reinstate")).text
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
    assert (await everything.open("/administration/developers/999999")).status_code == 404


async def test_a_suspended_administrator_opens_no_page_and_nobody_is_offered_the_own_suspension(
    registry, everything
):
    other = await registry.administrator(*ADMIN_AREAS)
    browser = await browser_of(registry, other)
    own = f"/administration/developers/{(await registry.get('/auth/profile', headers=other.headers)).json()['id']}"
    assert "your own account" in (await browser.open(own)).text
    assert "<button" in (await everything.open(own)).text
    await everything.send(f"{own}/suspend", reason="Fraud")
    for path in ("/administration", own):
        answer = await browser.open(path)
        assert (answer.status_code, "DEVELOPER_SUSPENDED" in answer.text) == (403, True)
    await browser.open("/account")
    assert "/administration" not in browser.text
    await everything.open(own)
    await everything.send(f"{own}/reinstate")
    assert (await browser.open("/administration")).status_code == 200


async def test_a_ruling_stands_beside_its_proposal_and_is_carried_out_once(registry, everything):
    complainant, defendant = await registry.agent(), await registry.agent()
    filed = await registry.post(
        "/disputes/",
        json={"defendant_did": defendant.did, "reason_code": "OTHER", "description": HOSTILE},
        headers=complainant.headers,
    )
    page = f"/administration/disputes/{filed.json()['id']}"
    await everything.open("/administration/disputes?status=OPEN")
    assert f'href="{page}"' in everything.text
    await everything.open(page)
    assert "Proposed ruling" in everything.text
    assert "\u202e" not in everything.text
    assert f"{page}/ruling" not in everything.text
    opened = await everything.send(f"{page}/open-voting")
    assert "The time for evidence has ended." in opened.text
    check = f"{page}/ruling/check"
    refused = await everything.send(check, ruling="DISMISSED", compensation_amount="x")
    assert (refused.status_code, 'id="compensation_amount-trouble"' in refused.text) == (422, True)
    refused = await everything.send(check, ruling="", compensation_amount="")
    assert (refused.status_code, 'id="ruling-trouble"' in refused.text) == (422, True)
    before = await registry.get(f"/disputes/{filed.json()['id']}", headers=complainant.headers)
    await everything.send(check, ruling="DISMISSED", compensation_amount="", note="No payment.")
    assert "Nothing is ruled yet." in everything.text
    after = await registry.get(f"/disputes/{filed.json()['id']}", headers=complainant.headers)
    assert after.json() == before.json()
    assert "0 acts" in (await everything.open("/administration/log?act=dispute.rule")).text
    await everything.open(page)
    await everything.send(check, ruling="DISMISSED", note="No payment.")
    form = everything.form(f"{page}/ruling")
    assert dict(form.fields)["note"] == "No payment."
    for _ in range(2):
        ruled = await everything.post(form.action, form.fields)
        assert (ruled.status_code, "The ruling is carried out." in ruled.text) == (200, True)
    assert "1 acts" in (await everything.open("/administration/log?act=dispute.rule")).text
    bundle = await everything.open(f"{page}/bundle.json")
    assert bundle.json()["signatures"]


async def test_a_job_is_retried_and_deleted_and_a_scheduled_one_is_not_deleted(registry, everything):
    job_id = await registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO plumbing_job (kind, key, payload, state, due_at, dead_at, last_error)"
            " VALUES ('mail', 'x', '{}', 'dead', now(), now(), '<b>421</b>') RETURNING id"
        )
    )
    await everything.open("/administration/jobs?state=dead")
    assert "&lt;b&gt;421" in everything.text
    assert "The job runs now." in (await everything.send(f"/administration/jobs/{job_id}/retry")).text
    await everything.open("/administration/mail")
    form = everything.form(f"/administration/jobs/{job_id}/drop")
    for _ in range(2):
        assert "The job is deleted." in (await everything.post(form.action, form.fields)).text
    scheduled = await registry.database.read(
        lambda tx: tx.fetchval("SELECT min(id) FROM plumbing_job WHERE key = 'schedule'")
    )
    await everything.open("/administration/jobs")
    key = dict(everything.form(f"/administration/jobs/{scheduled}/retry").fields)["form_key"]
    refused = await everything.post(f"/administration/jobs/{scheduled}/drop", form_key=key)
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)


async def test_events_that_a_reactor_set_aside_are_shown_and_retried(registry, everything):
    administrator = await registry.administrator("admin_platform", "admin_enforcement")
    did = await suspend_by_api(administrator)
    await spoil(registry)
    await until_set_aside(administrator, 1)
    await mend(registry)
    await everything.open("/administration/reactors")
    assert "AgentSuspended" in everything.text
    retried = await everything.send(f"/administration/reactors/{NAME}/retry")
    assert (retried.status_code, "have been retried" in retried.text) == (200, True)
    assert "AgentSuspended" not in retried.text
    assert await registry.database.read(lambda tx: federation.is_blocklisted(tx, did))


async def test_the_status_of_card_pulls_names_what_is_not_pulled(registry, everything):
    await registry.agent()
    text = (await everything.open("/administration/pulls")).text
    assert re.search(r"<dt>Cards</dt><dd>1</dd>", text)


async def test_an_act_asks_for_the_password_again_after_ten_minutes(registry):
    administrator = await registry.administrator("admin_enforcement")
    browser = await browser_of(registry, administrator)
    agent = await registry.agent()
    await browser.idle(minutes=11)
    await browser.open("/administration/agents")
    asked = await browser.send("/administration/agents/check", dids=agent.did, act="suspend", reason="Fraud")
    assert (asked.status_code, "Confirm your password" in asked.text) == (403, True)


async def test_another_site_or_another_area_carries_out_no_act(registry, everything):
    agent = await registry.agent()
    await everything.open("/administration/agents")
    await everything.send("/administration/agents/check", dids=agent.did, act="suspend", reason="Fraud")
    form = everything.form("/administration/agents/act")
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        answer = await everything.http.post(form.action, data=dict(form.fields), headers=headers)
        assert answer.status_code == 403
    other = await browser_of(registry, await registry.administrator("admin_support"))
    await other.open("/account/sessions")
    key = dict(other.form("/account/sessions/end-all").fields)["form_key"]
    answer = await other.post(form.action, form_key=key, agent_dids=agent.did, act="suspend", reason="x")
    assert answer.status_code == 403
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200


async def test_a_page_of_the_administration_is_kept_by_no_cache_and_shown_in_no_frame(everything):
    answer = await everything.open("/administration")
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


async def test_the_settings_in_effect_are_shown_with_secrets_masked(start_registry):
    secret = "correct-horse-battery-staple-0123456789"
    registry = await start_registry(internal_api_key=secret, registry_name="Bergen <kontor>")
    browser = await browser_of(registry, await registry.administrator("admin_platform"))
    text = (await browser.open("/administration/settings")).text
    assert secret not in text
    assert "Bergen &lt;kontor&gt;" in text
    assert "REGISTRY_NAME" in text


@pytest.mark.parametrize(
    "url", ["postgresql://ada:hunter2@db.example/hansa", "postgresql://db.example/hansa?password=hunter2"]
)
def test_a_password_in_an_address_is_masked(url):
    values = dict(settings_view(read_settings(database_url=url)))
    assert "hunter2" not in values["DATABASE_URL"]
    assert "db.example/hansa" in values["DATABASE_URL"]
