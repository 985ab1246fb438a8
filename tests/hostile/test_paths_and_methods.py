"""Unknown paths and wrong methods: 404 and 405 in the envelope of every other refusal."""

from itertools import cycle, islice
from pathlib import Path

import pytest

from hansa.doors.http.guard import NAMES_WITH_SLASHES
from hansa.doors.http.problems import WITHOUT_HEAD
from hansa.doors.reference_map import empty_app, entrances
from tests.hostile.refusals import fault_of
from tests.hostile.well_formed import with_some_id
from tests.properties.scale import by_tier
from tests.registry import TestRegistry

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "BREW")
# Each path is asked with so many of them in turn; the deeper tiers ask each path with all.
METHODS_EACH = by_tier(4, len(METHODS), len(METHODS))
NOWHERE = [
    *(
        "/nowhere",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/health",
        "/api/v1/nowhere",
        "/API/V1/teg/balance",
    ),
    *("/api/v1/teg/balance/", "/api/v1//teg/balance", "//api/v1/teg/balance"),
    *("/nowhere/", "/health%20", "/%68ealth/x", "/health;a=b", "/static/", "//docs/"),
    *(
        "/static/%2e%2e/pages.py",
        "/static/..%5cpages.py",
        "/.well-known/nothing",
        "/.env",
    ),
    *(
        "/static/hansa.css/x",
        "/static//etc/passwd",
        "/api/v1/openapi.json/",
        "/redoc",
        "/admin",
        "/server-status",
    ),
]


async def test_a_path_that_leads_nowhere_is_a_404_in_the_common_envelope(registry: TestRegistry):
    for path in NOWHERE:
        answer = await registry.http.get(f"http://registry.test{path}")
        assert (answer.status_code, fault_of(answer)) == (404, None), path


async def test_a_method_that_a_path_does_not_take_is_a_405_in_the_common_envelope(
    registry: TestRegistry, tmp_path
):
    found = entrances(empty_app(tmp_path))
    forms = [(entrance.method, entrance.path, entrance.context.path_regex) for entrance in found]
    in_turn = cycle(METHODS)
    for path in sorted({with_some_id(declared) for _, declared, _ in forms}):
        taken = {method for method, _, form in forms if form.match(path)}
        # A path that is declared as it stands names its own methods, not those of a template that fits it too.
        named = {method for method, declared, _ in forms if declared == path} or taken
        for method in set(islice(in_turn, METHODS_EACH)) - taken:
            answer = await registry.http.request(method, path)
            assert (answer.status_code, fault_of(answer)) == (405, None), f"{method} {path}: {answer.text}"
            head = {"HEAD"} if "GET" in named and path not in WITHOUT_HEAD else set()
            assert set(answer.headers["allow"].split(", ")) == named | head, f"{method} {path}"


async def test_a_method_in_a_header_overrides_nothing(registry: TestRegistry):
    for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        answer = await registry.get("/auth/registration-config", headers={header: "DELETE"})
        assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/agents/me", "/api/v1/agent-cards/", "/api/v1/teg/balance", "/"])
async def test_a_path_with_a_line_feed_at_its_end_does_not_pass_for_the_one_without(
    path: str, registry: TestRegistry
):
    answer = await registry.http.get(f"http://registry.test{path}%0A")
    assert (answer.status_code, fault_of(answer)) == (400, None)


@pytest.mark.parametrize(
    "target", ["/a%00b", "/%ff", "/%c0%af", "/%ed%a0%80", "/?q=%00", "/?q=%ff", "/?" + "q" * 9000]
)
async def test_a_target_with_nul_or_broken_text_or_no_end_is_a_400(target: str, registry: TestRegistry):
    answer = await registry.http.get(f"http://registry.test{target}")
    assert (answer.status_code, fault_of(answer)) == (400, None)


async def test_a_refusal_names_the_path_but_shows_nothing_of_the_inside(registry: TestRegistry):
    answer = await registry.http.get("/<script>alert(1)</script>")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert fault_of(answer) is None


async def test_an_encoded_slash_is_taken_only_where_a_name_may_hold_one(
    registry: TestRegistry, tmp_path: Path
):
    routes = {entrance.path for entrance in entrances(empty_app(tmp_path))}
    # The names of tiles hold slashes as they are.
    assert {name.decode() for name in NAMES_WITH_SLASHES} | {"/log/tile/"} == {
        path.partition("{")[0] for path in routes if path.endswith((":path}", ":peer}")) or ":path}/" in path
    }
    for path in ("/static/%2e%2e%2fpages.py", "/api/v1%2Fteg/balance", "/api/v1/agents/a%2fb"):
        answer = await registry.http.get(f"http://registry.test{path}")
        assert (path, answer.status_code, answer.json()["error"]["code"]) == (path, 400, "BAD_REQUEST")
