"""Credentials that an owner issues in the name of an agent by its pages: certificates for mutual TLS, and capabilities."""

import re
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import SubjectAlternativeName, UniformResourceIdentifier, load_pem_x509_certificate

from tests.browsing import BrowserOf, browser_of
from tests.registry import StartRegistry, TestAgent, TestRegistry, at_once

TOKEN = re.compile(r"att_[0-9a-f]+")


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(
        agent_rbac_mode="enforce", agent_rbac_default_roles="client", agent_delegation_mode="enforce"
    )


async def own(registry: TestRegistry) -> tuple[BrowserOf, TestAgent, str]:
    """A browser of a developer, an agent of the same, and where the agent's settings are."""
    developer = await registry.developer()
    agent = await developer.agent()
    return await browser_of(registry, developer), agent, f"/account/agents/{agent.did}"


async def without_roles(registry: TestRegistry, agent: TestAgent) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET roles = '{}' WHERE did = $1", agent.did)
    )


async def capabilities(registry: TestRegistry, agent: TestAgent) -> list[dict[str, Any]]:
    return (await registry.get("/agents/capabilities/mine", headers=agent.headers)).json()["tokens"]


async def test_mutual_tls_is_enabled_with_a_certificate_whose_key_is_shown_once(registry):
    browser, agent, base = await own(registry)
    await browser.open(f"{base}/credentials")
    await browser.send(f"{base}/enable-mtls")
    pems = re.findall(r"<pre[^>]*>(-----BEGIN .*?)</pre>", browser.text, re.DOTALL)
    key, certificate = (
        load_pem_private_key(pems[0].encode(), None),
        load_pem_x509_certificate(pems[1].encode()),
    )
    assert certificate.public_key() == key.public_key()
    names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    [identity] = names.get_values_for_type(UniformResourceIdentifier)
    status = (await registry.get("/agent/mtls-status", headers=agent.headers)).json()
    assert (status["status"], status["spiffe_id"]) == ("enrolled", identity)
    await browser.open(f"{base}/credentials")
    assert "PRIVATE KEY" not in browser.text
    assert identity in browser.text


async def test_the_form_of_a_certificate_sent_twice_shows_the_same_one_and_a_new_form_renews_it(registry):
    browser, _, base = await own(registry)
    await browser.open(f"{base}/credentials")
    fields = browser.form(f"{base}/enable-mtls").fields
    twin = BrowserOf(registry)
    twin.http.cookies = browser.http.cookies
    await at_once(*(each.post(f"{base}/enable-mtls", fields) for each in (browser, twin)))
    shown = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END", browser.text, re.DOTALL)[0]
    assert shown in twin.text
    await browser.open(f"{base}/credentials")
    assert "Renew the certificate" in browser.text
    await browser.send(f"{base}/enable-mtls")
    assert "-----BEGIN CERTIFICATE-----" in browser.text
    assert shown not in browser.text


async def test_an_agent_whose_roles_do_not_permit_mutual_tls_is_not_enrolled_by_its_owner(registry):
    browser, agent, base = await own(registry)
    await without_roles(registry, agent)
    await browser.open(f"{base}/credentials")
    await browser.send(f"{base}/enable-mtls")
    assert browser.page.status_code == 403
    assert "identity.mtls" in browser.text or "permission" in browser.text
    status = (await registry.get("/agent/mtls-status", headers=agent.headers)).json()
    assert status["status"] == "not_enrolled"


async def test_a_registry_without_an_issuer_offers_no_certificates(start_registry):
    registry = await start_registry(agent_identity_issuer="none")
    browser, _, base = await own(registry)
    await browser.open(f"{base}/credentials")
    assert f"{base}/enable-mtls" not in browser.text
    assert "does not issue workload identities" in browser.text
    key = dict(browser.form(f"{base}/rotate-secret").fields)["form_key"]
    assert (await browser.post(f"{base}/enable-mtls", form_key=key)).status_code == 503


async def test_a_capability_is_issued_within_the_limits_of_the_form_and_its_token_is_shown_once(registry):
    browser, agent, base = await own(registry)
    holder = await registry.agent(name="Holder")
    await browser.open(f"{base}/capabilities")
    await browser.send(
        f"{base}/capabilities",
        permissions=["teg.transfer", "payment.pay"],
        holder_agent_did=holder.did,
        budget_total="5",
        max_per_tx="2.5",
        max_uses="3",
        ttl_seconds="600",
        limits_payees="true",
        payees=f"{agent.did}\n{holder.did}",
        no_redelegate="true",
    )
    token = TOKEN.search(browser.text)[0]
    [issued] = await capabilities(registry, agent)
    assert issued["permissions"] == ["teg.transfer", "payment.pay"]
    assert (issued["holder_did"], issued["budget_total"], issued["max_uses"]) == (holder.did, "5", 3)
    assert issued["caveats"]["max_per_tx"] == "2.5"
    assert issued["caveats"]["counterparty_allow"] == [agent.did, holder.did]
    assert issued["caveats"]["no_redelegate"] is True
    await browser.open(f"{base}/capabilities")
    assert issued["id"] in browser.text
    assert token not in browser.text


async def test_the_token_of_an_issued_capability_works(registry):
    developer = await registry.developer()
    issuer, presenter = await developer.agent(name="Issuer"), await developer.agent(name="Presenter")
    browser, base = await browser_of(registry, developer), f"/account/agents/{issuer.did}"
    await browser.open(f"{base}/capabilities")
    await browser.send(
        f"{base}/capabilities", permissions="teg.transfer", budget_total="1", holder_agent_did=""
    )
    token = TOKEN.search(browser.text)[0]
    [issued] = await capabilities(registry, issuer)
    body = {"amount": "1", "permission": "teg.transfer"}
    path = f"/agents/capabilities/{issued['id']}/consume"
    headers = {**presenter.headers, "X-Capability-Token": token}
    used = await registry.post(path, json=body, headers=headers)
    assert used.status_code == 200, used.text
    again = await registry.post(path, json=body, headers=headers)
    assert again.status_code in {402, 403, 409}, again.text


async def test_the_form_of_a_capability_sent_twice_issues_one(registry):
    browser, agent, base = await own(registry)
    await browser.open(f"{base}/capabilities")
    fields = [*browser.form(f"{base}/capabilities").fields, ("permissions", "payment.pay")]
    twin = BrowserOf(registry)
    twin.http.cookies = browser.http.cookies
    await at_once(*(each.post(f"{base}/capabilities", fields) for each in (browser, twin)))
    assert TOKEN.search(browser.text)[0] == TOKEN.search(twin.text)[0]
    assert len(await capabilities(registry, agent)) == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"permissions": []}, "permissions"),
        ({"permissions": "everything"}, "permissions"),
        ({"permissions": "payment.pay", "budget_total": "-1"}, "budget_total"),
        ({"permissions": "payment.pay", "max_per_tx": "much"}, "max_per_tx"),
        ({"permissions": "payment.pay", "max_uses": "0"}, "max_uses"),
        ({"permissions": "payment.pay", "ttl_seconds": "59"}, "ttl_seconds"),
        ({"permissions": "payment.pay", "ttl_seconds": "a day"}, "ttl_seconds"),
        ({"permissions": "payment.pay", "payees": "did:hansa:a"}, "limits_payees"),
    ],
    ids=str,
)
async def test_a_refused_capability_says_why_beside_its_field(registry, fields, field):
    browser, agent, base = await own(registry)
    await browser.open(f"{base}/capabilities")
    await browser.send(f"{base}/capabilities", **fields)
    assert browser.page.status_code == 422
    assert f'id="{field}-trouble"' in browser.text
    assert await capabilities(registry, agent) == []


async def test_a_permission_that_the_agent_does_not_hold_and_a_holder_that_is_unknown_are_refused(registry):
    browser, agent, base = await own(registry)
    for fields in (
        {"permissions": "staking.manage"},
        {"permissions": "payment.pay", "holder_agent_did": "did:hansa:hansa.local:nobody"},
    ):
        await browser.open(f"{base}/capabilities")
        await browser.send(f"{base}/capabilities", **fields)
        assert browser.page.status_code in {403, 404, 422}, fields
        assert "<title>Error: " in browser.text
    await without_roles(registry, agent)
    await browser.open(f"{base}/capabilities")
    await browser.send(f"{base}/capabilities", permissions="payment.pay")
    assert browser.page.status_code == 403
    assert await capabilities(registry, agent) == []


async def test_neither_is_issued_to_an_agent_of_another_account(registry):
    _, agent, base = await own(registry)
    other = await browser_of(registry)
    await other.open("/account/api-keys")
    key = dict(other.form("/account/api-keys").fields)["form_key"]
    for act in ("enable-mtls", "capabilities"):
        await other.post(f"{base}/{act}", form_key=key, permissions="payment.pay")
        assert other.page.status_code == 404
    assert await capabilities(registry, agent) == []


async def held(registry: TestRegistry, **limits: Any) -> tuple[BrowserOf, TestAgent, str, dict[str, Any]]:
    """A browser of a developer whose agent holds a capability of another agent, and the page that narrows it."""
    browser, agent, base = await own(registry)
    issuer = await registry.agent(name="Issuer")
    caveats = {"permissions": ["teg.transfer", "payment.pay"], "max_per_tx": "5"}
    body = {"caveats": caveats, "budget_total": "10", "holder_agent_did": agent.did, **limits}
    made = await registry.post("/agents/capabilities", json=body, headers=issuer.headers)
    assert made.status_code == 200, made.text
    return browser, agent, f"{base}/capabilities/{made.json()['id']}/narrow", made.json()


async def test_a_held_capability_is_narrowed_for_an_agent_named_by_its_handle_and_its_token_is_shown_once(
    registry,
):
    browser, agent, page, parent = await held(registry)
    holder = await registry.agent(name="Courier")
    handle = (await registry.get(f"/agents/by-did/{holder.did}")).json()["human_readable_id"]
    text = (await browser.open(page)).text
    assert "10 AVT" in text
    assert "The new capability permits at most what this one does" in text
    form = browser.form(page)
    narrower = [(name, value) for name, value in form.fields if name != "permissions"]
    fields = {
        "permissions": "teg.transfer",
        "holder_agent_did": handle,
        "budget_total": "2,5",
        "max_per_tx": "1",
        "limits_payees": "true",
        "payees": f"{handle}\n{agent.did}",
    }
    narrower = [pair for pair in narrower if pair[0] not in fields]
    await browser.post(page, narrower, **fields)
    token = TOKEN.search(browser.text)[0]
    await browser.post(page, narrower, **fields)
    assert TOKEN.search(browser.text)[0] == token
    [drawn] = await capabilities(registry, holder)
    assert (drawn["issuer_did"], drawn["parent_token_id"]) == (agent.did, parent["id"])
    assert (drawn["permissions"], drawn["budget_total"]) == (["teg.transfer"], "2.5")
    assert drawn["caveats"]["max_per_tx"] == "1"
    assert drawn["caveats"]["counterparty_allow"] == [holder.did, agent.did]
    await browser.open(page.rpartition("/capabilities")[0] + "/capabilities")
    assert token not in browser.text


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"budget_total": "11"}, 403, "budget_total"),
        ({"max_per_tx": "6"}, 403, "max_per_tx"),
        ({"permissions": "staking.manage"}, 403, "permissions"),
        ({"permissions": []}, 422, "permissions"),
        ({"budget_total": "1,500"}, 422, "budget_total"),
        ({"ttl_seconds": "1"}, 422, "ttl_seconds"),
    ],
    ids=str,
)
async def test_a_limit_that_is_wider_than_its_capability_is_refused_beside_its_field(
    registry, fields, status, field
):
    browser, agent, page, _ = await held(registry)
    await browser.open(page)
    await browser.send(page, **{"permissions": "teg.transfer", **fields})
    assert (browser.page.status_code, f'id="{field}-trouble"' in browser.text) == (status, True)
    assert len(await capabilities(registry, agent)) == 1


async def test_an_issuer_narrows_what_has_no_holder_and_not_what_another_agent_holds(registry):
    browser, agent, base = await own(registry)
    holder = await registry.agent()
    for did, status in (("", 200), (holder.did, 403)):
        await browser.open(f"{base}/capabilities")
        await browser.send(f"{base}/capabilities", permissions="teg.transfer", holder_agent_did=did)
        parent, *_ = await capabilities(registry, agent)
        page = f"{base}/capabilities/{parent['id']}/narrow"
        offered = (await browser.open(f"{base}/capabilities")).text
        assert (f'href="{page}"' in offered) is (status == 200)
        assert (await browser.open(page)).status_code == status
    [free] = [one for one in await capabilities(registry, agent) if one["holder_did"] is None]
    page = f"{base}/capabilities/{free['id']}/narrow"
    await browser.open(page)
    await browser.send(page, budget_total="1")
    assert TOKEN.search(browser.text)
    assert len(await capabilities(registry, agent)) == 3


async def test_a_capability_of_others_has_no_page_to_narrow_it(registry):
    _, _, page, parent = await held(registry)
    browser, agent, base = await own(registry)
    assert (await browser.open(page)).status_code == 404
    assert (await browser.open(f"{base}/capabilities/{parent['id']}/narrow")).status_code == 404
    await browser.open("/account/api-keys")
    key = dict(browser.form("/account/api-keys").fields)["form_key"]
    await browser.post(f"{base}/capabilities/{parent['id']}/narrow", form_key=key, permissions="teg.transfer")
    assert browser.page.status_code == 404
    assert await capabilities(registry, agent) == []
