"""Pages that are sent again as they were: only while all that they show is unchanged, and never with anything of a person."""

import asyncio
import gzip
import random
from datetime import UTC, datetime, timedelta
from time import time

import httpx2
from fastapi import Request
from msgspec.structs import replace

from hansa.doors.console.agent_page import AgentPage
from hansa.doors.console.cached_agent_pages import AGENT_PAGES, PARTS, CachedPage, CachedPages
from hansa.rooms import catalogue
from hansa.rooms.agents import revoke
from tests.registry import TestAgent, TestRegistry, another_process

SCORED = """
WITH epoch AS (INSERT INTO reputation_epoch (epoch, through, formula) VALUES ('2026-01-02', 0, 'f'))
INSERT INTO reputation_score (agent_did, epoch, score, grade, paid_work, payments_made, disputes_won, disputes_lost, on_card)
VALUES ($1, '2026-01-02', 512, 'high', 3, 0, 0, 0, 512)
"""
CONTRACTED = """
INSERT INTO commerce_contract (version, title, contract_type, amount, currency, contractor_did, terms,
  acceptance_criteria, auto_approve, funded, status, expires_at, created_at)
VALUES (1, 'In public', 'attestation', 1, 'AVT', $1, '""', '""', false, false, 'PROPOSED', now(), now())
"""
STYLES = b"<!doctype html><style>p{margin:0}</style>"
# What another process, or a job, writes for each part of the page.
CHANGES = {
    "card": "UPDATE catalogue_card SET liveness = 'alive', liveness_checked_at = now() WHERE did = $1",
    "score": SCORED,
    "record": "INSERT INTO reputation_record (agent_did, jobs_verified, volume) VALUES ($1, 7, 100)",
    "grades": "INSERT INTO reputation_grade VALUES ($1, '2026-01-02', 'high', 512)",
    "achievements": "INSERT INTO achievements_earned VALUES ($1, 'first_bond', now(), 1)",
    "contracts": CONTRACTED,
}


async def page_of(registry: TestRegistry, did: str, **headers: str) -> httpx2.Response:
    return await registry.http.get(f"/agents/{did}", headers={"Accept": "text/html", **headers})


async def kept_tag(registry: TestRegistry, did: str) -> str:
    """The tag of a page of which the registry then answers that it is unchanged."""
    tag = (await page_of(registry, did)).headers["ETag"]
    assert (await page_of(registry, did, **{"If-None-Match": tag})).status_code == 304
    return tag


async def test_a_visitor_who_has_the_page_of_an_agent_gets_304(registry: TestRegistry):
    agent = await registry.agent(name="Kept")
    plain = await page_of(registry, agent.did, **{"Accept-Encoding": "identity"})
    packed = await page_of(registry, agent.did, **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert plain.text == packed.text
    assert "Kept" in plain.text
    assert plain.headers["ETag"] == packed.headers["ETag"]
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["Cache-Control"] == "public, no-cache"
    again = await page_of(registry, agent.did, **{"If-None-Match": f'"other", {plain.headers["ETag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("ETag", "Vary", "Cache-Control", "Content-Security-Policy"):
        assert again.headers[name] == plain.headers[name]
    head = await registry.http.head(f"/agents/{agent.did}")
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", plain.headers["ETag"])
    assert (await page_of(registry, agent.did, **{"If-None-Match": '"other"'})).status_code == 200


async def test_what_this_process_changed_is_on_the_page_at_once(registry: TestRegistry):
    developer = await registry.developer()
    administrator = await registry.administrator("admin_enforcement")
    agent = await developer.agent(name="Before")
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()
    address = f"/api/v1/agent-cards/{card['id']}"

    async def written(method: str, path: str, **body: object) -> None:
        answer = await registry.http.request(method, path, json=body, headers=developer.headers)
        assert answer.status_code == 200, answer.text

    async def suspended() -> None:
        body = {"agent_dids": [agent.did], "reason": "r", "soft_suspend": False}
        answer = await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
        assert answer.status_code == 200, answer.text

    async def ended() -> None:
        await registry.database.transaction(lambda tx: revoke(tx, agent.did, by="owner"))

    acts = (
        (
            lambda: written("PUT", address, card_data={**card["card_data"], "description": "Changed"}),
            "Changed",
        ),
        (lambda: developer.agent(name="Another one"), "Another one"),
        (lambda: written("PATCH", f"{address}/listing", unlisted=True), "This agent is unlisted"),
        (suspended, "Suspended since"),
        (ended, "Revoked since"),
    )
    for act, shown in acts:
        tag = await kept_tag(registry, agent.did)
        assert shown not in (await page_of(registry, agent.did)).text
        await act()
        answer = await page_of(registry, agent.did, **{"If-None-Match": tag})
        assert (answer.status_code, shown in answer.text) == (200, True), shown


async def test_what_another_process_changed_is_on_the_page_at_once(registry: TestRegistry):
    agent = await registry.agent(name="Watched")
    other = another_process(registry.runtime).database
    await other.open()
    try:
        for part, change in CHANGES.items():
            tag = await kept_tag(registry, agent.did)
            await other.transaction(lambda tx, change=change: tx.execute(change, agent.did))  # type: ignore[misc]
            answer = await page_of(registry, agent.did, **{"If-None-Match": tag})
            assert answer.status_code == 200, part
    finally:
        await other.close()
    assert set(CHANGES) == {*PARTS} - {"others"}


async def test_a_kept_page_is_the_same_for_a_person_who_is_logged_in(registry: TestRegistry):
    agent: TestAgent = await registry.agent(name="Same for all")
    anonymous = await page_of(registry, agent.did)
    person = await page_of(registry, agent.did, Cookie="__Host-hansa=something")
    assert anonymous.content == person.content
    assert anonymous.headers["ETag"] == person.headers["ETag"]
    for answer in (anonymous, person):
        assert "Set-Cookie" not in answer.headers
        assert 'type="password"' not in answer.text
        assert 'method="post"' not in answer.text


async def test_a_page_whose_content_the_states_do_not_cover_is_not_kept(registry: TestRegistry):
    listing = await registry.agent(name="By its number")
    number = (await registry.get(f"/agent-cards/{listing.did}")).json()["card_id"]
    for key, status in ((number, 200), ("did:hansa:nobody", 404), ("999999", 404)):
        answer = await page_of(registry, str(key))
        assert (answer.status_code, answer.headers.get("ETag")) == (status, None), key
        assert answer.headers["Cache-Control"] == "no-store"


async def test_an_age_on_a_kept_page_is_written_anew_when_it_reads_otherwise(registry: TestRegistry):
    agent = await registry.agent(name="Young")
    pages = AGENT_PAGES.of(registry.runtime)
    for age, word, seconds in (
        (timedelta(seconds=5), "less than a minute ago", 60),
        (timedelta(minutes=3, seconds=20), "3 minutes ago", 60),
        (timedelta(hours=7, minutes=10), "7 hours ago", 3600),
        (timedelta(days=1, hours=1), "1 day ago", 86_400),
    ):
        moment = datetime.now(UTC) - age
        await registry.database.transaction(
            lambda tx, moment=moment: tx.execute(  # type: ignore[misc]
                "UPDATE catalogue_card SET created_at = $2, updated_at = $2 WHERE did = $1",
                agent.did,
                moment,
            )
        )
        tag = await kept_tag(registry, agent.did)
        assert (await page_of(registry, agent.did)).text.count(word) == 2
        states = await pages.states_of(agent.did)
        assert states is not None
        page = pages.kept.find(agent.did, states)
        assert page is not None
        assert 0 < page.changes_at - time() <= seconds
        # It changes where the unit is complete.
        passed = (page.changes_at - moment.timestamp()) / seconds
        assert abs(passed - round(passed)) < 1e-6
        # What was kept a while ago: its ages are those of another moment.
        old = gzip.decompress(page.packed).replace(f">{word}<".encode(), b">57 minutes ago<")
        earlier = replace(CachedPage.of(states, old), tag='W/"old"', changes_at=time() - 1)
        pages.kept.keep(agent.did, earlier)
        answer = await page_of(registry, agent.did, **{"If-None-Match": 'W/"old"'})
        assert (answer.status_code, answer.headers["ETag"]) == (200, tag)
        assert answer.text.count(word) == 2


async def test_an_owner_cannot_write_an_age(registry: TestRegistry):
    claim = '<time datetime="2026-01-01T00:00:00+00:00" title="x">never ago</time>'
    agent = await registry.agent(name="Claims", description=claim, tags=["never ago"])
    text = (await page_of(registry, agent.did)).content
    renewed = gzip.decompress(CachedPage.of({}, text).packed)
    assert renewed.count(b"never ago") == text.count(b"never ago") >= 2
    assert claim.encode() not in gzip.decompress(CachedPage.of({}, STYLES + claim.encode()).packed)


async def test_other_requests_go_on_while_a_page_is_rendered(registry: TestRegistry):
    skills = [
        {"id": str(number), "name": f"Skill {number}", "description": "word " * 40, "tags": ["a", "b"]}
        for number in range(64)
    ]
    agent = await registry.agent(name="Large", skills=skills)
    turns, is_rendered = 0, asyncio.Event()

    async def count_turns() -> None:
        nonlocal turns
        while not is_rendered.is_set():
            await asyncio.sleep(0)
            turns += 1

    pages = AGENT_PAGES.of(registry.runtime)
    states = await pages.states_of(agent.did)
    assert states is not None
    shown = await registry.database.read(lambda tx: catalogue.card_of(tx, agent.did))
    request = Request({"type": "http", "app": registry.app, "path": "/", "headers": []})
    content = {
        "agent": AgentPage.of(shown, registry.settings, is_exported=True),
        "own_amount": None,
        "reputation": None,
        "contracts": [],
        "versions": [],
        "others": [],
        "achievements": None,
    }
    counting = asyncio.create_task(count_turns())
    page = await pages.kept.render(request, states, "agent.html", **content)
    is_rendered.set()
    await counting
    # Several milliseconds of rendering, in steps of a third of one.
    assert turns >= 4
    assert b"Skill 63" in gzip.decompress(page.packed)


def test_a_page_is_found_by_the_states_it_was_made_from():
    pages = CachedPages()
    pages.keep("one", CachedPage.of({"card": "5"}, STYLES + b"text"))
    assert pages.find("one", {"card": "5"}) is not None
    assert pages.find("one", {"card": "6"}) is None
    assert pages.find("two", {"card": "5"}) is None


def test_kept_pages_hold_one_copy_of_their_styles():
    pages = [CachedPage.of({}, STYLES + f"text {number}".encode()) for number in range(2)]
    assert pages[0].beginning is pages[1].beginning
    assert [gzip.decompress(page.packed) for page in pages] == [STYLES + b"text 0", STYLES + b"text 1"]


def test_the_kept_pages_of_a_process_have_a_bound():
    texts = {str(number): STYLES + random.Random(number).randbytes(5000) for number in range(20)}
    size = len(CachedPage.of({}, texts["0"]).rest)
    pages = CachedPages(bytes_max=5 * size + 10)
    for name, text in texts.items():
        # One that is asked for stays.
        assert name == "0" or pages.find("0", {}) is not None
        pages.keep(name, CachedPage.of({}, text))
    found = {name: page for name in texts if (page := pages.find(name, {})) is not None}
    assert set(found) == {"0", "16", "17", "18", "19"}
    assert all(gzip.decompress(page.packed) == texts[name] for name, page in found.items())
    # A page that is larger than the bound is not kept.
    pages.keep("large", CachedPage.of({}, STYLES + random.Random(1).randbytes(6 * size)))
    assert pages.find("large", {}) is None
