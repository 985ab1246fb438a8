"""The administration of treasury, invitations, event policies, licences and the registry card in a browser."""

import re

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import ledger
from tests.browsing import BrowserOf, browser_of
from tests.registry import TestRegistry, at_once

PAGES = {
    "/administration/invites": "admin_support",
    "/administration/treasury": "admin_treasury",
    "/administration/events": "admin_platform",
    "/administration/licences": "admin_federation",
    "/administration/admissions": "admin_federation",
    "/administration/registry-card": "admin_platform",
    "/administration/jurisdiction": "admin_platform",
}
HOSTILE = "<script>alert(1)</script> \u202etxt"
MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["hansa.local"]}
KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


@pytest.fixture
async def everything(registry: TestRegistry):
    """A browser of an administrator of every area."""
    return await browser_of(registry, await registry.administrator(*ADMIN_AREAS))


async def twice(browser, form, **fields):
    """Send a form two times, and return the second answer."""
    pairs = [pair for pair in form.fields if pair[0] not in fields]
    await browser.post(form.action, pairs, **fields)
    return await browser.post(form.action, pairs, **fields)


async def test_each_page_needs_its_area(registry):
    for area in ADMIN_AREAS:
        browser = await browser_of(registry, await registry.administrator(area))
        for path, needed in PAGES.items():
            answer = await browser.open(path)
            assert (area, path, answer.status_code) == (area, path, 200 if needed == area else 403)


async def test_units_are_issued_once_for_a_reference_and_the_supply_shows_them(registry, everything):
    before = (await registry.supply())["tokens_issued"]
    await everything.open("/administration/treasury")
    form = everything.form("/administration/treasury/issue")
    issued = await twice(everything, form, amount="25", ref="board-2026-07")
    assert "The units are issued." in issued.text
    supply = await registry.supply()
    assert float(supply["tokens_issued"]) == float(before) + 25
    assert supply["status"] == "OK"
    again = await everything.send("/administration/treasury/issue", amount="25", ref="board-2026-07")
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    log = (await everything.open("/administration/log?act=units.mint")).text
    assert "1 acts" in log
    assert "board-2026-07" in log


async def test_units_are_destroyed_once_after_a_preview_of_treasury_and_supply(registry, everything):
    before = await registry.supply()
    await everything.open("/administration/treasury")
    preview = await everything.send("/administration/treasury/burn/check", burned="12,5", burn_ref="board-8")
    assert "Nothing is destroyed yet." in preview.text
    assert "Destroy 12.5 AVT" in preview.text
    assert (await registry.supply())["tokens_destroyed"] == before["tokens_destroyed"]
    burned = await twice(everything, everything.form("/administration/treasury/burn"))
    assert "The units are destroyed." in burned.text
    supply = await registry.supply()
    assert float(supply["tokens_destroyed"]) == float(before["tokens_destroyed"]) + 12.5
    assert (supply["status"], supply["delta"]) == ("OK", "0")
    again = await everything.send("/administration/treasury/burn/check", burned="1", burn_ref="board-8")
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    log = (await everything.open("/administration/log?act=units.burn")).text
    assert ("1 acts" in log, "board-8" in log) == (True, True)


async def test_an_authorization_is_recorded_once_stated_by_the_card_and_withdrawn(registry, everything):
    page = "/administration/jurisdiction"
    await everything.open(page)
    assert "No profile is declared" in everything.text
    fields = {
        "action": "fiat.lane",
        "authority": "Authority <1>",
        "tier": "reference",
        "reference": "Register no. 42",
        "valid_until": "2999-01-01T12:00",
    }
    recorded = await twice(everything, everything.form(page), **fields)
    assert "The authorization is recorded." in recorded.text
    assert "Authority &lt;1&gt;" in recorded.text
    live = (await registry.get("/jurisdiction/authorizations")).json()
    assert live["count"] == 1
    (one,) = live["authorizations"]
    assert (one["subject"], one["valid_until"]) == ("hansa.local", "2999-01-01T12:00:00+00:00")
    card = (await registry.http.get("/.well-known/registry-card.json")).json()
    assert card["compliance"]["authorizations"] == [one]
    assert "are parked again" in everything.text
    withdrawn = await twice(everything, everything.form(f"{page}/{one['id']}/withdraw"))
    assert "The authorization is withdrawn." in withdrawn.text
    assert (await registry.get("/jurisdiction/authorizations")).json()["count"] == 0


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"authority": ""}, "authority"),
        ({"tier": "reference", "reference": ""}, "reference"),
        ({"tier": "hash", "sha256": "XYZ"}, "sha256"),
        ({"tier": "hash", "sha256": ""}, "sha256"),
        ({"tier": "contract", "contract_id": "1"}, "evidence.contract_id"),
        ({"tier": "contract", "contract_id": "one"}, "contract_id"),
        ({"contract_id": "1"}, "contract_id"),
        ({"tier": "rumour"}, "tier"),
        ({"valid_until": "soon"}, "valid_until"),
        ({"valid_until": "2001-01-01T12:00"}, "valid_until"),
        ({"action": "flight"}, "action"),
    ],
    ids=str,
)
async def test_an_authorization_without_what_it_needs_is_not_recorded(registry, everything, fields, name):
    page = "/administration/jurisdiction"
    await everything.open(page)
    whole = {"action": "fiat.lane", "authority": "A", "tier": "reference", "reference": "42"}
    refused = await everything.send(page, **{**whole, **fields})
    assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
    assert f'id="{name.removeprefix("evidence.")}-trouble"' in refused.text
    assert (await registry.get("/jurisdiction/authorizations")).json()["count"] == 0


async def test_units_are_granted_to_an_agent_once_with_a_reference(registry, everything):
    agent = await registry.agent()
    await everything.open("/administration/treasury")
    form = everything.form("/administration/treasury/grant")
    granted = await twice(everything, form, payee=agent.did, granted="5", grant_ref="Prize")
    assert "The units are granted." in granted.text
    assert await agent.balance() == "105"
    log = (await everything.open("/administration/log?act=units.grant")).text
    assert ("1 acts" in log, "Prize" in log) == (True, True)
    assert (await registry.supply())["status"] == "OK"


async def test_a_balance_is_corrected_once_with_a_reference(registry, everything):
    agent = await registry.agent()
    await everything.open("/administration/treasury")
    form = everything.form("/administration/treasury/correct")
    fields = {"corrected": agent.did, "correction": "5", "correction_ref": "Ticket 7"}
    done = await twice(everything, form, direction="debit", **fields)
    assert "The balance is corrected." in done.text
    assert await agent.balance() == "95"
    again = await everything.send("/administration/treasury/correct", direction="credit", **fields)
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    fields = {**fields, "correction": "96", "correction_ref": "Ticket 8"}
    more = await everything.send("/administration/treasury/correct", direction="debit", **fields)
    assert (more.status_code, await agent.balance()) == (402, "95")
    assert (await registry.supply())["status"] == "OK"


async def test_the_account_for_shortfalls_is_funded_from_the_treasury_and_no_other_system_account_is(
    registry, everything
):
    await everything.open("/administration/treasury")
    form = everything.form("/administration/treasury/grant")
    shortfall = "did:hansa:system:shortfall"
    granted = await twice(everything, form, payee=shortfall, granted="5", grant_ref="After a restore")
    assert "The units are granted." in granted.text
    holding = await registry.database.query(lambda tx: ledger.balance_of(tx, shortfall))
    assert holding.liquid == 5 * 10**8
    for other in ("treasury", "fee_collector", "unclaimed"):
        fields = {"payee": f"did:hansa:system:{other}", "granted": "1", "grant_ref": "No"}
        assert (await everything.send("/administration/treasury/grant", **fields)).status_code == 422
    assert (await registry.supply())["status"] == "OK"


@pytest.mark.parametrize(
    ("act", "fields", "status", "name"),
    [
        ("issue", {"amount": "x", "ref": "a"}, 422, "amount"),
        ("issue", {"amount": "1", "ref": ""}, 422, "ref"),
        ("issue", {"amount": "1000001", "ref": "a"}, 422, None),
        ("issue", {"amount": "1", "ref": "dispute:1"}, 422, None),
        ("grant", {"payee": "did:web:nobody.example", "granted": "1", "grant_ref": "a"}, 422, "payee"),
        ("grant", {"payee": "", "granted": "1", "grant_ref": "a"}, 422, "payee"),
        (
            "correct",
            {"corrected": "", "correction": "1", "direction": "credit", "correction_ref": "a"},
            422,
            "corrected",
        ),
        ("baseline", {"baseline": "1", "baseline_ref": ""}, 422, "baseline_ref"),
        ("baseline", {"baseline": "", "baseline_ref": "a"}, 409, None),
        ("transit", {"transit_ref": ""}, 422, "transit_ref"),
        ("burn/check", {"burned": "x", "burn_ref": "a"}, 422, "burned"),
        ("burn/check", {"burned": "1", "burn_ref": ""}, 422, "burn_ref"),
        ("burn/check", {"burned": "9999999999", "burn_ref": "a"}, 409, None),
    ],
)
async def test_an_act_of_the_treasury_without_what_it_needs_changes_nothing(
    everything, act, fields, status, name
):
    registry = everything.registry
    before = await registry.supply()
    await everything.open("/administration/treasury")
    answer = await everything.send(f"/administration/treasury/{act}", **fields)
    assert (answer.status_code, 'role="alert"' in answer.text) == (status, True)
    assert name is None or f'id="{name}-trouble"' in answer.text
    assert (await registry.supply())["tokens_issued"] == before["tokens_issued"]


async def test_no_grant_exceeds_what_the_treasury_holds(start_registry):
    registry = await start_registry(genesis_supply="100", genesis_grant_amount="0")
    browser = await browser_of(registry, await registry.administrator("admin_treasury"))
    agent = await registry.agent()
    await browser.open("/administration/treasury")
    fields = {"payee": agent.did, "granted": "101", "grant_ref": "Prize"}
    answer = await browser.send("/administration/treasury/grant", **fields)
    assert (answer.status_code, "does not hold enough units" in answer.text) == (409, True)
    assert await agent.balance() == "0"


async def test_a_baseline_is_a_record_with_its_reference(registry, everything):
    await everything.open("/administration/treasury")
    form = everything.form("/administration/treasury/baseline")
    recorded = await twice(everything, form, baseline="12.5", baseline_ref="Audit <7>")
    assert "The baseline is recorded." in recorded.text
    newest = (await registry.http.get("/api/auditor/attestations?limit=1")).json()["attestations"][0]
    assert newest["kind"] == "baseline_set"


async def test_invitations_are_made_once_shown_once_and_revoked(registry, everything):
    await everything.open("/administration/invites")
    form = everything.form("/administration/invites")
    fields = {"count": "2", "note": HOSTILE, "areas": ["admin_support"]}
    made = await twice(everything, form, **fields)
    codes = re.findall(r"HANSA(?:-[0-9A-Z]{4}){4}", made.text)
    assert len(set(codes)) == 2
    listed = await everything.open("/administration/invites")
    assert not any(code in listed.text for code in codes)
    assert "&lt;script&gt;" in listed.text
    assert "\u202e" not in listed.text
    revokes = re.findall(r'action="(/administration/invites/inv-\d+/revoke)"', listed.text)
    assert len(revokes) == 2
    gone = everything.form(revokes[0])
    assert "The invitation is revoked." in (await twice(everything, gone)).text
    refused = await everything.send("/administration/invites", count="101")
    assert (refused.status_code, 'id="count-trouble"' in refused.text) == (422, True)


async def test_an_invitation_grants_no_area_that_its_author_does_not_have(registry):
    browser = await browser_of(registry, await registry.administrator("admin_support"))
    await browser.open("/administration/invites")
    assert "area-admin_support" in browser.text
    assert "area-admin_treasury" not in browser.text
    refused = await browser.send("/administration/invites", areas="admin_treasury")
    assert refused.status_code == 403


async def test_an_emission_policy_is_changed_and_a_required_one_is_not(registry, everything):
    await everything.open("/administration/events")
    path = "/administration/events/AgentHeartbeat"
    free = re.findall(r'action="(/administration/events/Agent\w+)"', everything.text)
    path = next(one for one in free if one.endswith("ActTokenIssued"))
    changed = await everything.send(path, emit_from_registry="no")
    assert "The policy is changed." in changed.text
    assert dict(everything.form(path).fields)["emit_from_registry"] == "no"
    refused = await everything.send("/administration/events/LedgerBalanceChanged", emit_from_teg="no")
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)


async def test_a_baseline_of_projections_is_written_where_that_is_on(start_registry):
    registry = await start_registry(enable_projection_snapshots=True)
    browser = await browser_of(registry, await registry.administrator("admin_platform"))
    await browser.open("/administration/events")
    written = await browser.send("/administration/snapshot")
    assert "The baseline of projections is written." in written.text


async def test_the_form_of_a_baseline_sent_twice_writes_one(start_registry):
    registry = await start_registry(enable_projection_snapshots=True)
    browser = await browser_of(registry, await registry.administrator("admin_platform"))
    twin = BrowserOf(registry)
    twin.http.cookies = browser.http.cookies
    await browser.open("/administration/events")
    fields = browser.form("/administration/snapshot").fields
    await at_once(*(each.post("/administration/snapshot", fields) for each in (browser, twin)))
    await browser.post("/administration/snapshot", fields)
    for each in (browser, twin):
        assert "The baseline of projections is written." in each.text
    written = "SELECT count(*) FROM journal_event WHERE event_type = 'ProjectionSnapshot'"
    assert await registry.database.query(lambda tx: tx.fetchval(written)) == 1


async def test_without_snapshots_the_page_offers_none_and_the_act_is_refused(registry, everything):
    await everything.open("/administration/events")
    assert "/administration/snapshot" not in everything.text
    key = dict(everything.form("/administration/events/TokensStaked").fields)["form_key"]
    assert (await everything.post("/administration/snapshot", form_key=key)).status_code >= 400


async def test_a_licence_is_issued_suspended_reinstated_and_revoked(start_registry):
    registry = await start_registry(**MAINFRAME)
    administrator = await registry.administrator("admin_federation")
    genesis = await registry.post(
        "/admin/federation/licences/genesis", json={}, headers=administrator.headers
    )
    assert genesis.status_code == 201, genesis.text
    browser = await browser_of(registry, administrator)
    await browser.open("/administration/licences")
    refused = await browser.send(
        "/administration/licences", trust_domain="frame.example", name="Frame", plan="nothing", key=KEY
    )
    assert (refused.status_code, 'id="plan-trouble"' in refused.text) == (422, True)
    plan = re.findall(r"plan is one of ([\w-]+)", refused.text)[0]
    issued = await browser.send(
        "/administration/licences",
        trust_domain="frame.example",
        name="Frame <b>",
        plan=plan,
        key=KEY,
        days="30",
    )
    assert "The certificate is issued." in issued.text, issued.text
    assert "Frame &lt;b&gt;" in issued.text
    for act, words in (("suspend", "suspended"), ("reinstate", "reinstated"), ("revoke", "revoked")):
        (path,) = re.findall(rf'action="(/administration/licences/[^"/]+/{act})"', browser.text)[:1]
        without = await browser.send(path, reason=" ")
        assert without.status_code == 422
        done = await browser.send(path, reason="For a test.")
        assert f"The certificates are {words}." in done.text


async def test_a_licence_is_not_issued_by_a_registry_that_may_issue_none(registry, everything):
    await everything.open("/administration/licences")
    answer = await everything.send(
        "/administration/licences", trust_domain="frame.example", name="Frame", plan="pro"
    )
    assert (answer.status_code >= 400, 'role="alert"' in answer.text) == (True, True)


async def test_a_registry_is_admitted_once_and_its_key_is_shown_once(registry, everything):
    path = "/administration/admissions"
    await everything.open(path)
    form = everything.form(path)
    admitted = await twice(everything, form, trust_domain="peer.example", note=HOSTILE, expires_in_days="30")
    (key,) = re.findall(r"hfl_v1_[0-9a-f]{64}", admitted.text)
    listed = await everything.open(path)
    assert key not in listed.text
    assert "&lt;script&gt;" in listed.text
    assert "\u202e" not in listed.text
    events = await registry.get("/events/", headers={"X-Federation-License": key})
    assert events.status_code == 200
    for fields, name in (
        ({"trust_domain": "X"}, "trust_domain"),
        ({"expires_in_days": "x"}, "expires_in_days"),
    ):
        given = {"trust_domain": "other.example", "note": "", "expires_in_days": "", **fields}
        refused = await everything.send(path, **given)
        assert (refused.status_code, f'id="{name}-trouble"' in refused.text) == (422, True)
    (suspends,) = re.findall(r'action="(/administration/admissions/[^"/]+/suspend)"', listed.text)
    assert (await everything.send(suspends, reason=" ")).status_code == 422
    assert "The admission is suspended." in (await everything.send(suspends, reason="For a test.")).text
    refused = await registry.get("/events/", headers={"X-Federation-License": key})
    assert refused.status_code == 403


async def test_the_registry_card_is_edited_block_by_block_and_signed(registry, everything):
    path = "/administration/registry-card"
    await everything.open(path)
    signed = await everything.send(
        path,
        description="A registry.",
        tags="ships\ntrade",
        links='[{"title": "Home", "url": "https://a.example"}]',
    )
    assert "The card is changed and signed." in signed.text
    card = (await registry.http.get("/.well-known/registry-card.json")).json()
    assert (card["description"], card["tags"]) == ("A registry.", ["ships", "trade"])
    for fields, name in (
        ({"operator": "{"}, "operator"),
        ({"operator": '{"a":' * 5000}, "operator"),
        ({"operator": "\ud7ff[NaN]"}, "operator"),
        ({"links": '[{"title": 1}]'}, "links"),
        ({"description": "x" * 2001}, "description"),
    ):
        refused = await everything.send(path, **{"operator": "", "links": "", **fields})
        assert (name, refused.status_code, f'id="{name}-trouble"' in refused.text) == (name, 422, True)
    form = dict(everything.form(path).fields)
    assert form["tags"] == "ships\ntrade"
