"""Consent: the request is checked after the login, and nothing leads to an address that is not the client's own."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from tests.browsing import BrowserOf
from tests.connections import REDIRECT, STATE, client_of, connect, pkce, register
from tests.registry import PASSWORD

OTHER = "https://client.example.org/callback"
_HREF = re.compile(r'href="([^"]*)"')


def links(text: str) -> list[str]:
    return [unescape(link) for link in _HREF.findall(text)]


def leads_out(text: str) -> list[str]:
    """The links of a page that lead to no page of the registry."""
    return [link for link in links(text) if not link.startswith(("/", "#", "data:"))]


async def test_a_stranger_logs_in_first_and_is_led_back_to_the_request(registry):
    client = await client_of(registry)
    request = client.request()
    browser = BrowserOf(registry)
    await browser.open(request)
    assert browser.page.url.path == "/login"
    await browser.send("/login", email=client.developer.email, password=PASSWORD)
    assert "Connect a client" in browser.text


async def test_a_stranger_s_request_is_not_looked_at_before_the_login(registry):
    browser = BrowserOf(registry)
    page = await browser.open("/oauth/authorize?client_id=https://client.example.org/a.json&redirect_uri=x")
    assert page.url.path == "/login"
    assert [answer.status_code for answer in page.history] == [303]


async def test_the_page_shows_account_client_and_where_the_answer_goes(registry):
    client = await client_of(registry)
    text = (await client.ask()).text
    for shown in (client.developer.email, "Test client", "Unverified", "127.0.0.1:33418", "on this computer"):
        assert shown in text
    https = await client_of(registry, redirect_uri=OTHER)
    text = (await https.ask()).text
    assert "client.example.org" in text
    assert "on this computer" not in text


async def test_only_the_scopes_of_reading_are_ticked_beforehand(registry):
    client = await client_of(registry)
    await client.ask(scope="mcp:read wallet:read wallet:pay contracts:act")
    ticked = [value for name, value in client.browser.form("/oauth/authorize").fields if name == "scopes"]
    assert ticked == ["mcp:read", "wallet:read"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scopes": "wallet:pay", "agent_did": ""}, "Choose the agent"),
        ({"scopes": "wallet:pay", "agent_did": "did:hansa:hansa.local:nobody"}, "no agent of yours"),
        ({"scopes": "mcp:read", "days": "0"}, "greater than or equal to 1"),
        ({"scopes": "mcp:read", "days": "366"}, "less than or equal to 365"),
        ({"scopes": "mcp:read", "per_call": "-1"}, "required format"),
        ({"scopes": "admin"}, "at least one"),
    ],
)
async def test_a_decision_that_does_not_fit_is_shown_again_and_grants_nothing(registry, fields, message):
    client = await client_of(registry)
    await client.ask()
    page = await client.browser.send("/oauth/authorize", decision="allow", **fields)
    assert page.status_code == 422
    assert message in page.text
    assert await client.connections() == []


async def test_another_s_agent_cannot_be_connected(registry):
    client, agent = await client_of(registry), await registry.agent()
    await client.ask()
    page = await client.browser.send(
        "/oauth/authorize", decision="allow", scopes="wallet:pay", agent_did=agent.did
    )
    assert (page.status_code, await client.connections()) == (422, [])


async def test_acting_scopes_need_the_password_of_the_last_ten_minutes(registry):
    client = await client_of(registry)
    agent = await client.developer.agent()
    await client.ask()
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_session SET proved_at = proved_at - interval '11 minutes'")
    )
    fields = {"decision": "allow", "agent_did": agent.did}
    page = await client.browser.send("/oauth/authorize", scopes="wallet:pay", **fields)
    assert page.status_code == 403
    assert "Confirm your password" in page.text
    assert await client.connections() == []
    await client.browser.send("/confirm", password=PASSWORD)
    reading = await client_of(registry, client.developer)
    await reading.ask()
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_session SET proved_at = proved_at - interval '11 minutes'")
    )
    assert "code" in await reading.allow("mcp:read")


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"scope": "mcp:read admin"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
async def test_a_fault_of_the_request_is_a_page_whose_link_leads_back(registry, parameters, error):
    client = await client_of(registry)
    page = await client.ask(**parameters)
    assert page.status_code == 400
    assert page.history == []
    assert "<script" not in page.text.partition("<main")[2]
    led_back = client.led_back()
    assert (led_back["error"], led_back["state"], led_back["iss"]) == (
        error,
        STATE,
        registry.settings.base_url,
    )


async def test_a_refusal_is_a_page_whose_link_leads_back(registry):
    client = await client_of(registry)
    await client.ask()
    assert (await client.refuse())["error"] == "access_denied"
    assert client.browser.page.history == []
    assert "led-back.js" not in client.browser.text
    assert await client.connections() == []


async def test_consent_leads_back_by_link_and_script_and_by_no_redirect(registry):
    client = await client_of(registry)
    await client.ask()
    led_back = await client.allow()
    page = client.browser.page
    assert (page.status_code, page.history) == (200, [])
    assert "location" not in page.headers
    assert "/static/led-back.js" in page.text
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert set(led_back) == {"code", "state", "iss"}


async def test_a_consent_sent_twice_grants_once(registry):
    client = await client_of(registry)
    await client.ask()
    fields = client.browser.form("/oauth/authorize").fields
    codes = []
    for _ in range(2):
        await client.browser.post("/oauth/authorize", fields, decision="allow")
        codes.append(client.led_back()["code"])
    assert codes[0] == codes[1]
    assert len(await client.connections()) == 1


async def test_a_consent_under_another_key_of_a_form_grants_nothing_more(registry):
    client = await client_of(registry)
    await client.ask()
    sealed = dict(client.browser.form("/oauth/authorize").fields)["request"]
    await client.allow()
    await client.ask()
    fields = [("request", sealed) if name == "request" else (name, value)
              for name, value in client.browser.form("/oauth/authorize").fields]  # fmt: skip
    page = await client.browser.post("/oauth/authorize", fields, decision="allow")
    assert page.status_code == 409
    assert len(await client.connections()) == 1


async def test_a_consent_of_another_session_grants_nothing(registry):
    client = await client_of(registry)
    await client.ask()
    form = client.browser.form("/oauth/authorize")
    elsewhere = await BrowserOf(registry).log_in(client.developer.email)
    page = await elsewhere.post("/oauth/authorize", form.fields, decision="allow")
    assert page.status_code == 409
    stranger = await BrowserOf(registry).log_in((await registry.developer()).email)
    page = await stranger.post("/oauth/authorize", form.fields, decision="allow")
    assert page.status_code == 409
    assert await client.connections() == []
    assert leads_out(page.text) == []


async def test_the_twenty_first_connection_asks_which_to_end(registry):
    developer = await registry.developer()
    first = await connect(registry, developer=developer)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO people_grant (developer_id, client_id, client_name, scopes, per_call, per_day, ask_above, ends_at)"
            " SELECT developer_id, client_id, 'Filled', scopes, 1, 1, 1, ends_at FROM people_grant, generate_series(1, 19)"
            " WHERE id = (SELECT g.id FROM people_grant g JOIN people_developer d ON d.id = g.developer_id"
            " WHERE d.email = $1)",
            developer.email,
        )
    )
    client = await client_of(registry, developer)
    await client.ask()
    assert "Connections to end" in client.browser.text
    page = await client.browser.send("/oauth/authorize", decision="allow", scopes="mcp:read")
    assert page.status_code == 409
    ends = next(row["id"] for row in await client.connections() if row["client_name"] != "Filled")
    await client.ask()
    assert "code" in await client.allow(ends=ends)
    assert len(await client.connections()) == 20
    assert first.client_id


NEAR_MISSES = [
    "http://127.0.0.1:33418/callback/",
    "http://127.0.0.1:33418/callback?",
    "http://127.0.0.1:33418/Callback",
    "http://127.0.0.1:33418/callback#x",
    "http://127.0.0.1:33418/callback%2f",
    "http://127.0.0.1:33418//callback",
    "http://127.0.0.1:33418/./callback",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1.example.org:33418/callback",
    "http://127.0.0.1@example.org:33418/callback",
    "http://user@127.0.0.1:33418/callback",
    "http://127.1:33418/callback",
    "http://2130706433:33418/callback",
    "http://[::ffff:127.0.0.1]:33418/callback",
    "http://localhost:33418/callback",
    "https://127.0.0.1:33418/callback",
    "HTTP://127.0.0.1:33418/callback",
    "http:\\\\127.0.0.1:33418\\callback",
    "//127.0.0.1:33418/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://example.org/callback",
    " http://127.0.0.1:33418/callback",
    "http://127.0.0.1:33418/callback\n",
    "",
]


@pytest.mark.parametrize("address", NEAR_MISSES)
async def test_a_near_miss_of_the_redirect_address_is_a_page_that_leads_nowhere(registry, address):
    client = await client_of(registry)
    for parameters in ({}, {"response_type": "token"}):
        page = await client.ask(redirect_uri=address, **parameters)
        assert page.status_code == 400, address
        assert page.history == []
        assert leads_out(page.text) == []


@pytest.mark.parametrize("port", ["", ":1", ":65535"])
async def test_a_loopback_address_may_have_any_port(registry, port):
    client = await client_of(registry)
    address = f"http://127.0.0.1{port}/callback"
    await client.ask(redirect_uri=address)
    client.redirect_uri = address
    led_back = await client.allow()
    assert (await client.exchange(led_back["code"])).status_code == 200


async def test_a_parameter_that_stands_twice_is_refused_without_a_link(registry):
    client = await client_of(registry)
    page = await client.browser.open(f"{client.request()}&redirect_uri={OTHER}")
    assert (page.status_code, leads_out(page.text)) == (400, [])


@pytest.mark.parametrize(
    "client_id", ["", "hcl_x", "hcl_a.b.c", "https://", "ftp://x/y", "client", "hcl_" + "a" * 3000]
)
async def test_an_unknown_client_is_refused_without_a_link(registry, client_id):
    client = await client_of(registry)
    page = await client.ask(client_id=client_id)
    assert (page.status_code, leads_out(page.text)) == (400, [])


async def test_a_client_id_that_was_changed_is_unknown(registry):
    client = await client_of(registry)
    for place in (10, len(client.client_id) // 2, -5):
        signs = list(client.client_id)
        signs[place] = "A" if signs[place] != "A" else "B"
        assert (await client.ask(client_id="".join(signs))).status_code == 400


async def test_an_access_token_is_no_client_and_a_client_no_access_token(registry):
    client = await connect(registry)
    assert (await client.ask(client_id=f"hcl_{client.access_token}")).status_code == 400
    answer = await registry.http.post(
        "/oauth/revoke", data={"token": client.client_id.removeprefix("hcl_"), "client_id": client.client_id}
    )
    assert answer.status_code == 200
    assert len(await client.connections()) == 1


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/callback",
        "http://127.0.0.1.example.org/",
        "https://user:secret@example.org/",
        "https://example.org/#fragment",
        "https://example.org\\@evil.example/",
        "https:///callback",
        "https://exa mple.org/",
        "https://example.org:99999/",
        "javascript:alert(1)",
        "javascript://example.org/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "myapp://callback",
        "cursor:callback",
        "urn:ietf:wg:oauth:2.0:oob",
        "https://example.org/" + "a" * 1100,
        "",
    ],
)
async def test_a_redirect_address_of_another_kind_is_not_registered(registry, address):
    answer = await register(registry, REDIRECT, address)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


async def test_schemes_of_programs_are_those_of_the_setting(start_registry):
    registry = await start_registry(oauth_redirect_schemes=["cursor"])
    address = "cursor://anysphere.cursor-mcp/oauth/callback"
    client = await client_of(registry, redirect_uri=address)
    await client.ask()
    assert "opens" in client.browser.text
    assert (await client.allow())["state"] == STATE
    assert (await register(registry, "vscode://x/y")).status_code == 400


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT] * 6}, "invalid_redirect_uri"),
        ({"redirect_uris": REDIRECT}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"client_name": 5}, "invalid_client_metadata"),
        ({"client_name": "\u202e\u200b"}, "invalid_client_metadata"),
        ({"redirect_uris": ["https://example.org/" + "a" * 900] * 3}, "invalid_client_metadata"),
    ],
)
async def test_metadata_that_is_not_accepted_is_a_fault_of_registration(registry, metadata, error):
    answer = await register(registry, **metadata)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


async def test_a_registered_client_authenticates_by_nothing_whatever_it_asks_for(registry):
    answer = await register(
        registry, token_endpoint_auth_method="client_secret_post", logo_uri="https://x.example/l"
    )
    assert answer.status_code == 201
    assert answer.json()["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in answer.json()


async def test_a_thousand_registrations_store_nothing(registry):
    before = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'people_%'"
        )
    )
    ids = set()
    for number in range(1000):
        answer = await register(registry, client_name=f"Client {number}")
        assert answer.status_code == 201
        ids.add(answer.json()["client_id"])
    after = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'people_%'"
        )
    )
    assert (len(ids), after) == (1000, before)


async def test_the_text_of_a_client_is_shown_and_never_run(registry):
    developer = await registry.developer()
    browser = await BrowserOf(registry).log_in(developer.email)
    name = '<script>alert(1)</script>"><a href="https://evil.example">'
    client_id = (await register(registry, client_name=name)).json()["client_id"]
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": REDIRECT, "state": '"><b>'}
    query |= {"code_challenge": pkce()[1], "code_challenge_method": "S256"}
    page = await browser.open(f"/oauth/authorize?{urlencode(query)}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert leads_out(page.text) == []
