"""The web pages over HTTP: their content, their headers, and that nothing an owner writes gets out of its place."""

import hashlib
import re
from pathlib import Path

import httpx2
import pytest

from hansa.doors.console import rendering, style_sheets
from hansa.doors.console.first_steps import first_steps
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.web.problem_docs import every_refusal
from tests.doors.pages_read import ADDRESS, ReadPage
from tests.properties.scale import by_tier
from tests.registry import TestRegistry

PAGES = {
    "/": "Trust domain",
    "/catalogue": "Catalogue",
    "/first-steps": "bootstrap",
    "/supply": "hansa verify attestations",
    "/status": "Components",
    "/guides": "Register your first agent",
    "/guides/first-agent": "bootstrap token",
    "/changelog": "Changes for users of Hansa",
    "/events": "Apply filters",
    "/events/1": "Event 1",
    "/transactions/tx-1": "Registry data",
    "/set-password": "New password",
    "/terms": "has not published terms of its own",
    "/privacy": "What this software stores",
    "/docs": "openapi.json",
    "/docs/operations/transfer_units": "INSUFFICIENT_BALANCE",
    "/docs/problems": "INSUFFICIENT_BALANCE",
    "/docs/problems/INSUFFICIENT_BALANCE": "402 Payment Required",
}
CHECKED_FILES = ("agent.js", "canonical.js", "catalogue.css", "catalogue.js", "verify.js")
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {style_sheets.style_sources()}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
REFUSED = (
    ("GET", "/nothing/here", 404),
    ("PUT", "/health", 405),
    ("GET", "/api/v1/public/eventstore-recent?limit=x", 422),
    ("GET", "/health?a=%00", 400),
    ("GET", "/api/v1/teg/balance", 401),
)


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    """A registry with an agent, whose card names a picture elsewhere."""
    await shared_registry.agent(name="Elsewhere", iconUrl="https://pictures.example.org/icon.png")
    await shared_registry.indexed()
    return shared_registry


@pytest.fixture(scope="module")
async def answers(registry: TestRegistry) -> dict[str, httpx2.Response]:
    """Each page, by its path."""
    return {path: await registry.http.get(path) for path in PAGES}


async def test_every_page_answers_with_its_content(answers: dict[str, httpx2.Response]):
    for path, content in PAGES.items():
        answer = answers[path]
        assert (path, answer.status_code) == (path, 200)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert content in answer.text


async def test_every_page_lets_the_browser_load_only_what_the_registry_serves(
    answers: dict[str, httpx2.Response],
):
    for path, answer in answers.items():
        headers = answer.headers
        assert (path, headers["content-security-policy"]) == (path, POLICY)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


async def test_no_page_refers_to_another_host(answers: dict[str, httpx2.Response]):
    for answer in answers.values():
        page = ReadPage(answer.text)
        assert page.addresses
        assert [address for address in page.addresses if not re.match(r"/(?!/)|#", address)] == []


async def test_no_page_carries_a_script_or_a_style_that_its_policy_does_not_name(
    answers: dict[str, httpx2.Response],
):
    for answer in answers.values():
        page = ReadPage(answer.text)
        assert page.inline == []
        assert [name for name in page.attributes if name == "style" or name.startswith("on")] == []


async def test_every_address_on_a_page_leads_somewhere(
    registry: TestRegistry, answers: dict[str, httpx2.Response]
):
    found = {address for answer in answers.values() for address in ReadPage(answer.text).addresses}
    # These pages have a test that asks for all of them.
    tested = {address for address in found if address.startswith(("/docs/operations/", "/docs/problems/"))}
    followed = {address for address in found if address.startswith("/")} - tested
    for address in (*followed, *sorted(tested)[:: by_tier(20, 1, 1)]):
        # A person who is not logged in is led to the login.
        expected = 303 if address.startswith("/account") or address.endswith("/run") else 200
        assert (await registry.http.get(address)).status_code == expected, address


async def test_every_page_has_landmarks_a_language_and_one_heading_above_all(
    answers: dict[str, httpx2.Response],
):
    for answer in answers.values():
        text = answer.text
        elements = ReadPage(text).elements
        assert [elements.count(element) for element in ("header", "main", "footer", "h1", "title")] == [1] * 5
        assert '<html lang="en">' in text


async def test_the_front_page_says_which_registry_this_is(start_registry):
    registry = await start_registry(
        registry_name="Bergen <kontor>", trust_domain="bergen.example", settlement_currency="BRG"
    )
    text = (await registry.http.get("/")).text
    assert "Bergen &lt;kontor&gt;" in text
    assert "bergen.example" in text
    assert "BRG" in text


async def test_the_front_page_shows_the_supply_without_a_script(registry: TestRegistry):
    supply = await registry.supply()
    text = (await registry.http.get("/")).text
    assert "In balance" in text
    for member in ("tokens_issued", "tokens_destroyed", "total_circulating", "delta"):
        assert f'data-figure="{member}">{rendering.grouped(supply[member])}</span>' in text


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "0"),
        ("999", "999"),
        ("1000", "1\u202f000"),
        ("-1234567.12345678", "-1\u202f234\u202f567.12345678"),
    ],
)
def test_an_amount_is_shown_in_groups_of_three_up_to_its_point(amount, shown):
    assert rendering.grouped(amount) == shown


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"genesis_grant_enabled": False}, "a new agent has no balance"),
        ({"genesis_grant_amount": "7"}, "receives 7 AVT"),
        ({"beta_invite_required": True}, "INVITE_CODE="),
        ({"email_verification_required": True}, "sends you an e-mail"),
        ({"public_base_url": "https://registry.example"}, "REGISTRY=https://registry.example/api/v1"),
    ],
)
def test_the_first_steps_speak_of_this_registry(settings, words):
    steps = first_steps(read_settings(**settings))
    assert words in "\n".join(step.reason + step.command for step in steps)


async def test_the_password_of_the_first_steps_is_drawn_at_random(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/first-steps")).text)
    passwords = re.findall(r"PASSWORD=(.*)", "\n".join(page.commands))
    assert len(passwords) == 1
    assert "/dev/urandom" in passwords[0]


async def test_every_refusal_has_a_page_and_stands_in_the_table(registry: TestRegistry):
    table = (await registry.http.get("/docs/problems")).text
    for code, kinds in every_refusal().items():
        assert f'href="/docs/problems/{code}"' in table
        answer = await registry.http.get(f"/docs/problems/{code}")
        assert answer.status_code == 200
        assert code in answer.text
        assert all(str(kind.status) in answer.text for kind in kinds), code
        assert "What to do" in answer.text


async def test_the_page_of_a_refusal_names_what_to_do_and_the_routes_that_return_it(registry: TestRegistry):
    page = (await registry.http.get("/docs/problems/INSUFFICIENT_BALANCE")).text
    assert "transfer units to the payer first" in page
    assert "<code>POST /api/v1/teg/transfer</code>" in page
    assert "GET /api/v1/teg/balance" not in page


async def test_a_code_with_two_statuses_names_both_on_its_page(registry: TestRegistry):
    page = (await registry.http.get("/docs/problems/CAPABILITY_UNKNOWN")).text
    assert "403 Forbidden, 404 Not Found" in page


async def test_a_code_that_is_never_used_has_no_page(registry: TestRegistry):
    answer = await registry.http.get("/docs/problems/%3Csvg%20onload%3D1%3E")
    assert answer.status_code == 404
    assert "&lt;svg onload=1&gt;" in answer.text


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_the_type_of_a_refusal_leads_to_its_page(registry: TestRegistry):
    for method, path, status in REFUSED:
        refusal = await registry.http.request(method, path)
        assert (path, refusal.status_code) == (path, status)
        page = await registry.http.get(refusal.json()["type"].removeprefix(registry.settings.base_url))
        assert (path, page.status_code) == (path, 200)
        assert refusal.json()["error"]["code"] in page.text


async def test_the_pages_are_no_part_of_the_api_description(registry: TestRegistry):
    described = (await registry.get("/openapi.json")).json()["paths"]
    assert not {path for path in described if path in PAGES or path.startswith("/docs")}


async def test_a_file_of_the_console_is_kept_by_the_browser_and_asked_for_again(registry: TestRegistry):
    first = await registry.http.get("/static/hansa.css")
    assert first.headers["cache-control"] == "no-cache"
    again = await registry.http.get("/static/hansa.css", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


async def test_a_page_has_its_styles_in_itself_and_asks_for_none_before_it_is_painted(registry: TestRegistry):
    for path in PAGES:
        page = (await registry.http.get(path, headers={"Accept": "text/html"})).text
        assert page.count("<style>") == 1
        head = page.partition("</head>")[0]
        assert (path, re.findall("stylesheet", head)) == (path, [])
        assert (path, re.findall(r'<script (?!type="module" fetchpriority="low"|defer)', head)) == (path, [])


@pytest.mark.parametrize("name", style_sheets.SHEETS)
def test_a_sheet_has_the_rules_of_its_parts_in_their_order(name):
    files = (style_sheets.STATIC / f"{part}.css" for part in style_sheets.SHEETS[name])
    rules = re.sub(r"/\*.*?\*/|\s", "", "".join(file.read_text() for file in files), flags=re.DOTALL)
    style = style_sheets.style_of(name)
    assert re.sub(r"\s", "", style) == f"<style>{rules}</style>"
    # Some lines stay, within a rule of others; a sheet takes a fraction of the first packets of a connection.
    assert len(style_sheets.packed_page(style.encode())[0]) < 7000


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_only_files_of_the_console_are_served(registry: TestRegistry):
    for path in ("/static/%2e%2e/pages.py", "/static//etc/passwd", "/static/vendor"):
        assert (path, (await registry.http.get(path)).status_code) == (path, 404)
    assert (await registry.http.get("/static/..%2fpages.py")).status_code == 400


@pytest.mark.parametrize(
    "file",
    [
        "hansa.css",
        "reference.css",
        "front.js",
        "copy.js",
        "reference.js",
        "plots.js",
        "set-password.js",
        "invitation.js",
        *CHECKED_FILES,
    ],
)
def test_our_own_files_name_no_other_host(file):
    assert ADDRESS.findall((style_sheets.STATIC / file).read_text()) == []


def test_vendored_files_are_as_recorded():
    vendor = style_sheets.STATIC / "vendor"
    recorded = dict(
        re.findall(r"^\| (\S+) \| `([0-9a-f]{64})` \|$", (vendor / "README.md").read_text(), re.MULTILINE)
    )
    present = {
        f"{file.parent.name}/{file.name}": _sha256(file)
        for folder in ("uplot",)
        for file in (vendor / folder).iterdir()
    }
    assert recorded == present


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PUBLIC = (
    *("/", "/catalogue", "/docs", "/health", "/robots.txt", "/sitemap.xml", "/terms", "/api/v1/openapi.json"),
    *("/api/v1/public/supply-invariant", "/.well-known/ard.json", "/static/hansa.css"),
)


async def test_head_is_answered_wherever_get_is_with_the_same_headers(registry: TestRegistry):
    agent = await registry.agent()
    await registry.indexed()
    for path in (*PUBLIC, f"/agents/{agent.did}", f"/api/v1/agents/{agent.did}/did.json"):
        got, head = await registry.http.get(path), await registry.http.head(path)
        assert (path, head.status_code) == (path, got.status_code)
        for name in ("content-type", "cache-control", "content-security-policy", "vary"):
            assert (path, name, head.headers.get(name)) == (path, name, got.headers.get(name))
    assert (await registry.http.head("/nothing/here")).status_code == 404
    assert (await registry.http.head("/api/v1/teg/balance")).status_code == 401


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_a_browser_gets_a_refusal_as_a_page_with_navigation(registry: TestRegistry):
    for method, path, status in (("GET", "/nothing/here", 404), ("GET", "/static/nothing.js", 404)):
        answer = await registry.http.request(method, path, headers=BROWSER)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        page = ReadPage(answer.text)
        assert {"/", "/catalogue", "/docs"} <= set(page.addresses)
        assert page.inline == []
        assert answer.headers["content-security-policy"] == POLICY
    for path in ("/api/v1/nothing", "/.well-known/nothing", "/nothing/here"):
        headers = BROWSER if path != "/nothing/here" else {}
        answer = await registry.http.get(path, headers=headers)
        assert (path, answer.headers["content-type"]) == (path, "application/problem+json")


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_a_page_of_a_refusal_shows_an_address_as_text(registry: TestRegistry):
    answer = await registry.http.get("/<script>alert(1)</script>", headers=BROWSER)
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_a_trailing_slash_leads_to_the_page_without_it(registry: TestRegistry):
    for path, meant in (
        ("/catalogue/", "/catalogue"),
        ("/docs/?a=1", "/docs?a=1"),
        ("/agents/x/", "/agents/x"),
    ):
        answer = await registry.http.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (308, meant)
    for path in ("//evil.example/", "/api/v1/teg/balance/", "/nothing/", "//docs/"):
        answer = await registry.http.get(f"http://registry.test{path}", follow_redirects=False)
        assert (path, answer.status_code) == (path, 404)


async def test_pages_files_and_the_description_are_sent_compressed_to_those_who_accept_it(
    registry: TestRegistry,
):
    for path in (
        "/",
        "/docs/problems",
        "/static/hansa.css",
        "/api/v1/openapi.json",
    ):
        plain = await registry.http.get(path, headers={"Accept-Encoding": "identity"})
        packed = await registry.http.get(path, headers={"Accept-Encoding": "br;q=1, gzip"})
        assert (path, packed.headers.get("content-encoding")) == (path, "gzip")
        assert "content-encoding" not in plain.headers
        assert "Accept-Encoding" in plain.headers["vary"]
        assert int(packed.headers["content-length"]) < len(plain.content) * 0.6
        if path != "/":
            assert packed.content == plain.content
    refused = await registry.http.get("/", headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers
    file = await registry.http.get("/static/hansa.css", headers={"Accept-Encoding": "gzip"})
    again = await registry.http.get("/static/hansa.css", headers={"If-None-Match": file.headers["etag"]})
    assert again.status_code == 304


async def test_terms_and_privacy_show_the_text_of_the_operator(start_registry, tmp_path):
    terms = tmp_path / "terms.txt"
    terms.write_text("First rule: be kind.\n\nSecond rule: <b>pay</b>.\n")
    registry = await start_registry(terms_file=str(terms))
    shown = (await registry.http.get("/terms")).text
    assert "<p>First rule: be kind.</p>" in shown
    assert "&lt;b&gt;pay&lt;/b&gt;" in shown
    config = (await registry.get("/auth/registration-config")).json()
    assert config["tos_url"].endswith("/terms")
    assert config["privacy_url"].endswith("/privacy")
