"""Lighthouse judges pages of a registry that `hansa demo` has filled: `make lighthouse`. Then every page is loaded (`every_page`).

Lighthouse loads each page as a slow telephone does (four times slower, 1.6 Mbit/s, 150 ms away), and every category has to reach 95. The audit of
robots.txt is left out: it knows no `Agentmap`, which Agentic Resource Discovery asks for.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx2

from tests.browser import chromium
from tests.browser.pictures import filled_registry
from tests.lighthouse.every_page import judge_every_page
from tests.pinned_tools import PinnedTools
from tests.registry import PASSWORD

SCORE_MIN = 95
FIRST_PAINT_MAX_SECONDS, INTERACTIVE_MAX_SECONDS = 1.0, 1.5
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PUBLIC = (
    "/",
    "/catalogue",
    "/catalogue?q=invoice",
    "agent",
    "/events",
    "/supply",
    "/docs",
    "/docs/operations/transfer_units",
    "/guides",
    "/login",
)
PRIVATE = ("/account", "/account/agents", "/account/agents/new", "/account/security")
# Pages of a person are no matter of search engines.
PRIVATE_CATEGORIES = CATEGORIES[:3]


def session_of(address: str) -> str:
    """The cookie of a person who signed up a moment ago."""
    with httpx2.Client(base_url=address, headers={"Accept": "text/html"}) as client:
        body = {"name": "Ada", "email": "ada@example.org", "password": PASSWORD}
        consent = {"tos_accepted": True, "age_confirmed": True}
        client.post("/api/v1/auth/register", json={**body, **consent}).raise_for_status()
        headers = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
        fields = {"email": body["email"], "password": PASSWORD}
        answer = client.post("/login", data=fields, headers=headers)
        assert answer.status_code == 303, answer.text
        return str(answer.headers["set-cookie"]).partition(";")[0]


def agent_page(address: str) -> str:
    """The page of the first agent that is found."""
    found = httpx2.get(f"{address}/api/v1/discover?query=lingua").json()
    return f"/agents/{found['results'][0]['did']}"


def judge(
    tools: PinnedTools, address: str, path: str, categories: tuple[str, ...], headers: Mapping[str, str]
) -> list[str]:
    """Load a page as Lighthouse does, print its scores, and return those below their bound."""
    # The first request after the start reads templates, and for /docs writes the description of the API.
    httpx2.get(address + path, headers=headers, timeout=60).raise_for_status()
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        done = tools.run(
            [
                tools.node,
                tools.home / "node_modules" / "lighthouse" / "cli" / "index.js",
                address + path,
                "--quiet",
                "--output=json",
                f"--output-path={report}",
                f"--only-categories={','.join(categories)}",
                "--skip-audits=robots-txt",
                "--chrome-flags=--headless=new --no-sandbox",
                f"--extra-headers={json.dumps(headers)}",
            ],
            CHROME_PATH=chromium.get(),
        )
        assert done.returncode == 0, done.stderr
        read = json.loads(report.read_text())
    scores = {name: round(100 * (read["categories"][name]["score"] or 0)) for name in categories}
    paint = read["audits"]["first-contentful-paint"]["numericValue"] / 1000
    interactive = read["audits"]["interactive"]["numericValue"] / 1000
    judged = ", ".join(f"{name} {score}" for name, score in scores.items())
    print(f"{path}: {judged}, first paint {paint:.1f} s, interactive {interactive:.1f} s")
    low = [f"{path}: {name} is {score}" for name, score in scores.items() if score < SCORE_MIN]
    if paint > FIRST_PAINT_MAX_SECONDS:
        low.append(f"{path}: first paint {paint:.1f} s")
    if interactive > INTERACTIVE_MAX_SECONDS:
        low.append(f"{path}: interactive {interactive:.1f} s")
    return low


def judge_all(address: str) -> list[str]:
    """Return the scores below their bound on the pages of a registry."""
    tools = PinnedTools("lighthouse", Path(__file__).parent, "Lighthouse")
    tools.ready()
    low = []
    for path in PUBLIC:
        shown = agent_page(address) if path == "agent" else path
        low += judge(tools, address, shown, CATEGORIES, {})
    cookie = {"Cookie": session_of(address)}
    for path in PRIVATE:
        low += judge(tools, address, path, PRIVATE_CATEGORIES, cookie)
    return low


if __name__ == "__main__":
    given = os.environ.get("REGISTRY")
    if given:
        below = judge_all(given)
    else:
        with filled_registry() as own_address:
            below = judge_all(own_address)
        below += asyncio.run(judge_every_page())
    sys.exit("\n".join(below) or 0)
