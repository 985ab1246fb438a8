"""Page of one agent: facts of the registry, texts of its owner, and the call of the agent."""

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.doors.console.agent_page import (
    AgentPage,
    export_path_of,
    interfaces_of,
    path_of,
    payment_steps,
    snippets_of,
    wallet_step,
)
from hansa.doors.console.prices import price_of
from hansa.rooms import catalogue
from hansa.rooms.agents import revoke
from hansa.rooms.commerce import Networks
from tests.doors.pages_read import ReadPage
from tests.organizations import found
from tests.registry import TestRegistry, card_of

HOSTILE = '"><svg onload=alert(1)><script>alert(2)</script>{{ 7*7 }}'
BIDI = "safe\u202egnp.exe"


async def page_of(registry: TestRegistry, did: str) -> str:
    answer = await registry.http.get(f"/agents/{did}")
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_an_agent_has_a_page_by_its_did_and_by_every_id_of_its_card(registry: TestRegistry):
    agent = await registry.agent(
        name="Cog builder", pricing={"model": "per_request", "base_rate": 2.5}, tags=["ships"]
    )
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()
    for key in (agent.did, card["id"], card["card_id"]):
        text = await page_of(registry, key)
        for shown in (
            "Cog builder",
            agent.did,
            "#",
            "ships",
            "2.5 <bdi>AVT</bdi>",
            "per request",
            "Not checked yet",
        ):
            assert shown in text, (key, shown)
        assert f'rel="canonical" href="{registry.settings.base_url}/agents/{agent.did}"' in text


async def test_whom_nobody_knows_has_no_page(registry: TestRegistry):
    for key in ("did:hansa:nobody", "999", "x", HOSTILE.replace("/", ""), "did:" + "x" * 600):
        answer = await registry.http.get("/agents/" + key.replace("%", "%25"))
        assert (key, answer.status_code) == (key, 404)
        assert "Agent not found" in answer.text
        assert "onload" not in ReadPage(answer.text).attributes


async def test_a_suspended_agent_says_so_with_the_day_and_cannot_be_called_from_here(registry: TestRegistry):
    agent = await registry.agent(name="Barred")
    administrator = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "secret reason", "soft_suspend": False}
    answer = await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    assert answer.status_code == 200, answer.text
    since = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_data"]["extensions"][-1]["params"][
        "since"
    ]
    text = await page_of(registry, agent.did)
    assert f'Suspended since <time datetime="{since}">{since}</time>' in text
    assert "secret reason" not in text
    assert ReadPage(text).commands == []
    assert '<meta name="robots" content="noindex">' in text


async def test_what_an_owner_writes_stays_text_wherever_it_stands(registry: TestRegistry):
    skill = {"id": "s", "name": HOSTILE, "description": HOSTILE, "tags": [HOSTILE], "examples": [HOSTILE]}
    agent = await registry.agent(
        name=HOSTILE,
        description=HOSTILE,
        version=HOSTILE,
        provider={"organization": HOSTILE, "url": "https://ok.example.org"},
        skills=[skill],
        tags=[HOSTILE],
        pricing={"model": HOSTILE[:40], "base_rate": "1", "currency": "<b>"},
    )
    text = await page_of(registry, agent.did)
    assert text.count("&lt;svg onload=alert(1)&gt;") >= 8
    page = ReadPage(text)
    assert "b" not in page.elements
    assert set(re.findall(r"<svg[^>]{0,12}", text)) == {'<svg class="icon', '<svg class="avat'}
    assert [name for name in page.attributes if name.startswith("on") or name == "style"] == []
    # The block for search engines is data; nothing in it ends it.
    assert page.inline == ["script"]
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(block)["name"] == HOSTILE
    assert not set("<>&") & set(block)


async def test_what_the_registry_says_stands_apart_from_what_the_owner_wrote(registry: TestRegistry):
    claim = "Verified by the registry. ✓ Sovereign. Status: Active"
    agent = await registry.agent(name=claim, description=claim, tags=["verified"], version=claim)
    text = await page_of(registry, agent.did)
    vouched = text[text.index('class="panel vouched"') : text.index('class="panel theirs"')]
    assert [word for word in ("Verified by", "✓", "Sovereign", "verified") if word in vouched] == []


async def test_only_http_addresses_become_links_and_they_lend_nothing(registry: TestRegistry):
    agent = await registry.agent(
        documentationUrl="https://docs.example.org/a\u202eb?x='\"",
        provider={"organization": "O", "url": "https://bücher.example.org/"},
    )
    text = await page_of(registry, agent.did)
    links = re.findall(r'<a href="(https?://(?!registry)[^"]*)"([^>]*)>', text)
    assert links == [
        ("https://xn--bcher-kva.example.org/", ' rel="nofollow noopener noreferrer"'),
        ("https://docs.example.org/a%E2%80%AEb?x=&#39;%22", ' rel="nofollow noopener noreferrer"'),
    ]


async def test_a_mirrored_card_of_odd_members_is_shown_all_the_same(registry: TestRegistry):
    """A card that another registry accepted was never validated here."""
    agent = await registry.agent()
    card = await registry.database.read(lambda tx: catalogue.card_of(tx, agent.did))
    odd = {
        "name": BIDI,
        "provider": "text",
        "documentationUrl": "javascript:alert(1)",
        "tags": "text",
        "skills": [1, {"name": 5, "tags": {}}],
        "supportedInterfaces": [1, {"url": "javascript:alert(1)"}, {"url": 7}],
        "pricing": {"base_rate": 10**300, "payment_required": True},
        "extensions": 5,
    }
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET card_data = $2, name = $3, source_registry = 'odd', developer_id = NULL, description = $4 WHERE did = $1",
            agent.did,
            json.dumps({**odd, "pricing": {"base_rate": "10e5000", "payment_required": True}}),
            BIDI,
            "\x1b[31mred\x1b[0m a\u200bb\u2066c\U000e0041",
        )
    )
    text = await page_of(registry, agent.did)
    assert "<bdi>safegnp.exe</bdi>" in text
    assert "[31mred[0m abc" in text
    assert 'href="javascript' not in text
    assert "Not in a known format" in text
    page = AgentPage.of(replace(card, card_data=odd), registry.settings, is_exported=False)
    assert page.price.amount is None


async def mirrored(registry: TestRegistry, **card) -> str:
    """The DID of an agent that is at home in another registry."""
    did = f"did:hansa:north.example.org:{uuid4()}"
    result = await registry.database.transaction(
        lambda tx: catalogue.mirror_cards(
            tx,
            source_registry="north",
            trust_domain="north.example.org",
            settlement_currency="NRD",
            items=[{"did": did, "version": 1, "card_data": card_of("Wanderer", **card)}],
        )
    )
    assert result.written == 1, result
    return did


@pytest.mark.parametrize("card", [{}, {"pricing": {"base_rate": 2}}], ids=["free", "paid"])
async def test_whatever_the_page_of_an_agent_from_elsewhere_names_here_is_to_be_had_here(
    registry: TestRegistry, card
):
    did = await mirrored(registry, **card)
    await registry.indexed()
    base = registry.settings.base_url
    text = await page_of(registry, did)
    page = ReadPage(text)
    code = "\n".join(page.commands)
    named = {
        *page.addresses,
        *re.findall(r"""https?://[^\s'"\\]+""", code),
        *re.findall(r'"(/[^"]*)"', code),
        *re.findall(r'data-(?:signed|keys)="([^"]*)"', text),
    }
    elsewhere = {address for address in named if not address.startswith(("/", "#", base))}
    assert elsewhere == {"https://agent.example.org/a2a"}, "the agent's own"
    for address in named - elsewhere:
        answer = await registry.http.get(address.removeprefix(base) or "/")
        assert answer.status_code == (303 if address.startswith("/account") else 200), address


async def test_the_page_of_an_agent_from_elsewhere_says_who_serves_its_signed_card(
    registry: TestRegistry,
):
    did = await mirrored(registry)
    text = await page_of(registry, did)
    signed = text[text.index("Signed card") :]
    assert "<bdi>north</bdi>" in signed
    assert f">/api/v1/agents/{did}/card-export</code>" in signed
    assert "data-signed" not in text
    (command,) = ReadPage(text).commands
    assert command.startswith("curl ")


async def test_the_page_of_a_revoked_agent_offers_its_signed_card_as_long_as_it_is_exported(
    registry: TestRegistry,
):
    agent = await registry.agent()
    await registry.database.transaction(lambda tx: revoke(tx, agent.did, by="owner"))
    older = "UPDATE catalogue_card SET hidden_since = hidden_since - interval '31 days' WHERE did = $1"
    for status in (200, 404):
        export = f"/api/v1/agents/{agent.did}/card-export"
        assert (await registry.http.get(export)).status_code == status
        text = await page_of(registry, agent.did)
        assert ("data-signed" in text, export in text) == (status == 200, status == 200)
        await registry.database.transaction(lambda tx: tx.execute(older, agent.did))


@pytest.mark.parametrize(
    ("card", "shown_price"),
    [
        ({}, ("0", "")),
        ({"pricing": {"model": "free"}}, ("0", "")),
        ({"pricing": {"base_rate": 0}}, ("0", "")),
        ({"pricing": {"base_rate": 100, "model": "per-token"}}, ("100", "AVT")),
        ({"pricing": {"base_rate": 1e-7, "currency": "EUR"}}, ("0.0000001", "EUR")),
        ({"pricing": {"base_rate": "0.50"}}, ("0.5", "AVT")),
        ({"pricing": {"base_rate": 1e308}}, (None, "AVT")),
        ({"pricing": {"base_rate": -1}}, (None, "AVT")),
        ({"pricing": {"base_rate": True}}, (None, "AVT")),
        ({"pricing": {"base_rate": float("nan")}}, (None, "AVT")),
        ({"pricing": {"payment_required": True}}, (None, "AVT")),
        ({"pricing": {"payment_required": True, "base_rate": 0}}, (None, "AVT")),
        ({"pricing": {"base_rate": "1e3"}}, (None, "AVT")),
        (
            {
                "extensions": [
                    {"uri": "https://x/extensions/v1/auth/a2a-payment", "params": {"base_rate": "3"}}
                ]
            },
            ("3", "AVT"),
        ),
        (
            {
                "capabilities": {
                    "extensions": [{"uri": "https://x/extensions/v1/auth/a2a-payment", "params": 5}]
                }
            },
            (None, "AVT"),
        ),
    ],
)
def test_a_price_is_shown_as_stated_and_never_guessed(card, shown_price):
    price = price_of(card, "AVT")
    assert (price.amount, price.unit) == shown_price


def listed_at(url):
    """The interfaces of a card with this one."""
    return interfaces_of({"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC"}]})


def test_an_address_of_a_card_stays_one_word_in_every_snippet():
    listed = listed_at('https://agent.example.org/$(touch+pwned)\'";`id`#"')
    curl, python = snippets_of(listed, export_path="/$(id)'\"", is_paid=True, base_url="https://r.example/'")
    (wallet,) = wallet_step(listed, "eip155:1", "0x1")
    for snippet in (python, wallet):
        compile(snippet.code, "snippet", "exec")
    first = shlex.split(curl.code)
    assert first[:4] == ["curl", "-sSw", "\\n", "https://agent.example.org/$(touch+pwned)'%22;%60id%60#%22"]


def test_an_agent_that_nobody_can_dial_gets_no_snippet():
    for url in ("javascript:alert(1)", "https://agent.example.org/ a", "https://a:b@agent.example.org", 7):
        assert list(snippets_of(listed_at(url), export_path=None, is_paid=False, base_url="")) == []


def test_the_page_of_a_card_without_an_agent_is_under_the_number_of_the_card():
    assert path_of(None, 7) == "/agents/7"
    assert path_of("did:hansa:a/b?c", 7) == "/agents/did:hansa:a%2Fb%3Fc"


@pytest.mark.parametrize(("version", "price"), [("1.0", "0.5"), ("0.3.0", "0")])
async def test_the_snippets_call_the_agent_as_they_stand(version, price):
    """Each is run, against an agent that answers and a registry that serves its card."""
    heard: list[tuple[str, dict[str, str]]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or "null")
        document = card if body is None else reply_to(body)
        if body is not None:
            heard.append((body["method"], headers))
        content = json.dumps(document).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (len(content), content)
        )
        await writer.drain()
        writer.close()

    def reply_to(body):
        if body["method"] == "message/send":
            message = {
                "kind": "message",
                "messageId": "a",
                "role": "agent",
                "parts": [{"kind": "text", "text": "Here I am"}],
            }
        else:
            message = {"message": {"messageId": "a", "role": "ROLE_AGENT", "parts": [{"text": "Here I am"}]}}
        return {"jsonrpc": "2.0", "id": body["id"], "result": message}

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    interface = {"url": f"http://127.0.0.1:{port}/", "protocolBinding": "JSONRPC", "protocolVersion": version}
    card = card_of(supportedInterfaces=[interface])
    snippets = snippets_of(
        interfaces_of(card),
        export_path=export_path_of("did:hansa:x"),
        is_paid=price != "0",
        base_url=f"http://127.0.0.1:{port}",
    )
    environment = {**os.environ, "PAYMENT_TOKEN": "apt_for_once"}
    assert shutil.which("curl")
    for snippet in snippets:
        command = (
            ["bash", "-c", snippet.code] if snippet.title == "curl" else [sys.executable, "-c", snippet.code]
        )
        run = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await run.communicate()
        assert "Here I am" in out.decode(), err.decode()
    server.close()
    assert [method for method, _ in heard] == [{"1.0": "SendMessage"}.get(version, "message/send")] * 2
    for _, headers in heard:
        assert headers.get("x-payment-token") == (None if price == "0" else "apt_for_once")
        assert headers.get("x-payment-issuer") == (None if price == "0" else f"http://127.0.0.1:{port}")


async def test_the_snippets_of_the_page_are_those_that_were_tried(registry: TestRegistry):
    agent = await registry.agent(pricing={"model": "per_request", "base_rate": 2})
    text = await page_of(registry, agent.did)
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_data"]
    expected = snippets_of(
        interfaces_of(card),
        export_path=export_path_of(agent.did),
        is_paid=True,
        base_url=registry.settings.base_url,
    )
    paid = payment_steps(agent.did, "2", registry.settings.base_url)
    networks = Networks.of(registry.settings)
    wallet = wallet_step(interfaces_of(card), networks.wallet, networks.asset)
    assert ReadPage(text).commands == [snippet.code for snippet in (*paid, *wallet, *expected)]


async def test_a_call_is_paid_by_the_steps_of_the_page(registry: TestRegistry, tmp_path):
    payer, payee = await registry.agent(), await registry.agent(pricing={"base_rate": 2})
    _, authorize, settle = payment_steps(payee.did, "2", "http://registry.invalid")
    said = tmp_path / "said"
    curl = tmp_path / "curl"
    curl.write_text(f'#!/bin/sh\nfor word; do echo "$word" >> {said}; done\necho \'{{"token": "apt_1"}}\'\n')
    curl.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "AGENT_TOKEN": "agent-token"}
    script = f"set -e\n{authorize.code}\n{settle.code}\n"
    run = await asyncio.create_subprocess_exec(
        "bash", "-c", script, env=environment, stdout=asyncio.subprocess.PIPE
    )
    await run.communicate()
    assert run.returncode == 0
    words = said.read_text().splitlines()
    bodies = [json.loads(word) for word in words if word.startswith("{")]
    assert bodies[1] == {"token": "apt_1"}
    assert words.count("Authorization: Bearer agent-token") == 2
    paths = [word.removeprefix("http://registry.invalid") for word in words if word.startswith("http:")]
    made = await registry.http.post(paths[0], json=bodies[0], headers=payer.headers)
    settled = await registry.http.post(paths[1], json={"token": made.json()["token"]}, headers=payer.headers)
    assert (made.status_code, settled.status_code) == (200, 200)


async def test_the_page_of_an_agent_shows_grade_components_and_record(registry: TestRegistry):
    agent = await registry.agent()
    text = await page_of(registry, agent.did)
    for shown in (
        "Unrated",
        "0 of 1000",
        "Volume received",
        "0 won, 0 lost",
        f"/api/v1/agents/{agent.did.replace(':', '%3A')}/track-record",
    ):
        assert shown in text, shown


async def test_an_agent_has_the_same_page_by_its_human_readable_id(registry: TestRegistry):
    agent = await registry.agent(name="Named")
    name = (await registry.get(f"/agent-cards/{agent.did}")).json()["human_readable_id"]
    text = await page_of(registry, name)
    assert f'rel="canonical" href="{registry.settings.base_url}/agents/{agent.did}"' in text
    assert f'href="/agents/{name}"' in await page_of(registry, agent.did)
    unknown = await registry.http.get("/agents/nothing/here")
    assert unknown.status_code == 404
    assert "Agent not found" in unknown.text


async def test_an_agent_s_page_names_the_other_listed_agents_of_its_owner(registry: TestRegistry):
    developer = await registry.developer()
    one = await developer.agent(name="First of two")
    other = await developer.agent(name="Second of two")
    hidden = await developer.agent(name="Withdrawn third")
    await registry.http.delete(f"/api/v1/agents/{hidden.did}", headers=developer.headers)
    stranger = await registry.agent(name="Of another owner")
    text = await page_of(registry, one.did)
    assert f'<a href="/agents/{other.did}"><bdi>Second of two</bdi></a>' in text
    assert "Withdrawn third" not in text
    assert stranger.did not in text
    assert "Other agents of the owner" not in await page_of(registry, stranger.did)


async def test_the_page_of_a_public_organization_s_agent_names_the_organization_s_other_agents(
    registry: TestRegistry,
):
    guild = await found(registry, visibility="public")
    admin = await guild.member("admin")
    own = await guild.owner.agent(name="Of the founder alone")
    one = await guild.born(name="First of the guild")
    assert "Other agents of the owner" not in await page_of(registry, one.did)
    other = await guild.born(by=admin, name="Second of the guild")
    text = await page_of(registry, one.did)
    assert f'<a href="/agents/{other.did}"><bdi>Second of the guild</bdi></a>' in text
    assert own.did not in text
    assert guild.created["treasury_did"] not in text
    assert "Other agents of the owner" not in await page_of(registry, own.did)


async def test_no_page_groups_the_agents_of_an_organization_that_is_not_public(registry: TestRegistry):
    guild = await found(registry)
    one, other = await guild.born(name="First of the guild"), await guild.born(name="Second of the guild")
    for is_public in (False, True, False):
        changed = {"visibility": "public" if is_public else "private"}
        assert (await guild.send(guild.owner, "PATCH", json=changed)).status_code == 200
        text = await page_of(registry, one.did)
        assert ("Other agents of the owner" in text, other.did in text) == (is_public, is_public)


async def test_an_agent_s_page_lists_the_versions_of_its_card(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="Before")
    assert "Versions of the card" not in await page_of(registry, agent.did)
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()
    changed = await registry.http.put(
        f"/api/v1/agent-cards/{card['id']}",
        json={"card_data": {**card["card_data"], "description": "Changed"}},
        headers=developer.headers,
    )
    assert changed.status_code == 200, changed.text
    text = await page_of(registry, agent.did)
    for version in (1, 2):
        assert (
            f'href="/api/v1/agent-cards/{card["card_id"]}/versions/{version}">Version {version}</a>' in text
        )


async def test_right_to_left_text_has_the_direction_of_its_own(registry: TestRegistry):
    arabic = "\u0645\u062a\u0631\u062c\u0645"
    agent = await registry.agent(name="Reads right to left", description=arabic)
    assert f'<p class="prose" dir="auto">{arabic}</p>' in await page_of(registry, agent.did)


async def test_many_skills_are_folded(registry: TestRegistry):
    skills = [
        {"id": f"s{number}", "name": f"Skill {number}", "description": "d", "tags": ["t"]}
        for number in range(9)
    ]
    agent = await registry.agent(name="Skilled", skills=skills)
    text = await page_of(registry, agent.did)
    assert "<summary>3 more skills</summary>" in text
    assert all(skill["name"] in text for skill in skills)
