"""The API reference: one page with every operation, and a page for each with its code in three languages."""

import ast
import asyncio
import gzip
import json
import os
import re
import sys
from functools import reduce
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from hansa.doors.console import highlighting
from tests.doors.pages_read import ReadPage
from tests.registry import TestRegistry

# A page and what it loads have 120 KB; the font and the scripts are 25 KB.
PAGE_BYTES_MAX = 60_000
LANGUAGES = ("curl", "python", "javascript")
NODE = compute_driver_executable()[0]
PROGRAMS = {"curl": ["sh"], "python": [sys.executable], "javascript": [NODE]}
SUFFIXES = {"curl": ".sh", "python": ".py", "javascript": ".mjs"}


class Samples(HTMLParser):
    """The code of a page, by language."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.code: dict[str, str] = {}
        self._language = ""
        self._is_code = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs).get("class") or ""
        if tag == "div" and named.startswith("sample "):
            self._language = named.removeprefix("sample ")
            self.code[self._language] = ""
        elif tag == "pre":
            self._is_code = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "fieldset":
            self._language = ""
        self._is_code = self._is_code and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._language and self._is_code:
            self.code[self._language] += data


@pytest.fixture(scope="module")
def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


async def test_the_reference_lists_every_operation_with_its_summary_by_subject(registry: TestRegistry):
    document = (await registry.get("/openapi.json")).json()
    text = (await registry.http.get("/docs")).text
    listed = re.findall(r"<b>([A-Z]+)</b> (/[^<]+)</a>", text)
    described = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    assert sorted(listed) == sorted(described)
    subjects = re.findall(r'<h2 id="subject-\d+">([^<]+)</h2>', text)
    assert [subject.lower() for subject in subjects] == [tag["name"].lower() for tag in document["tags"]]
    assert "Transfer units to another agent of this registry" in text
    assert len(gzip.compress(text.encode())) < PAGE_BYTES_MAX


async def test_the_contents_have_every_operation_with_its_path_and_stand_open_at_the_current_one(
    registry: TestRegistry,
):
    document = (await registry.get("/openapi.json")).json()
    text = (await registry.http.get("/docs/operations/file_dispute")).text
    contents = text.partition('<nav aria-label="Operations">')[2].partition("</nav>")[0]
    listed = re.findall(r'<li data-path="([^"]+)"><a href="/docs/operations/(\w+)"', contents)
    described = [
        (path, operation["operationId"])
        for path, methods in document["paths"].items()
        for operation in methods.values()
    ]
    assert sorted(map(tuple, listed)) == sorted(described)
    (opened,) = re.findall(r"<details id=\"in-\d+\" open [^>]*>\s*<summary>([^<]+) <", contents)
    assert opened == "Disputes"
    assert 'href="/docs/operations/file_dispute" aria-current="page"' in contents


async def test_each_operation_has_a_page_with_its_errors_and_its_code(registry: TestRegistry):
    document = (await registry.get("/openapi.json")).json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answer = await registry.http.get(f"/docs/operations/{operation['operationId']}")
            assert (path, answer.status_code) == (path, 200)
            assert path in unescape(answer.text)
            for code in re.findall(r"`([A-Z][A-Z0-9_]+)`: ", json.dumps(operation["responses"])):
                assert (method, path, code, f"/docs/problems/{code}" in answer.text) == (
                    method,
                    path,
                    code,
                    True,
                )
            samples = Samples(answer.text).code
            assert (path, tuple(samples)) == (path, LANGUAGES)
            for code in samples.values():
                assert (path, registry.settings.base_url in code) == (path, True)
            ast.parse(samples["python"])


async def test_the_page_of_an_operation_says_who_may_call_it_and_what_its_body_holds(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/docs/operations/transfer_units")).text)
    command, python, javascript, answer, *_ = page.commands
    assert "Requires an agent token" in page.html
    assert "Authorization: Bearer $AGENT_TOKEN" in command
    assert registry.settings.base_url + "/api/v1/teg/transfer" in command
    assert json.loads(command.partition("-d '")[2].removesuffix("'"))["amount"] == "12.5"
    assert "os.environ['AGENT_TOKEN']" in python
    assert "process.env.AGENT_TOKEN" in javascript
    assert json.loads(answer)["status"] == "completed"
    assert "<dt><code>receiver_agent_id</code>" in page.html
    assert "at most 256 characters" in page.html
    public = (await registry.http.get("/docs/operations/verify_payment")).text
    assert "Requires no credential" in public


async def test_the_code_of_an_operation_is_carried_out_as_it_stands_in_each_language(
    registry: TestRegistry, tmp_path: Path
):
    document = (await registry.get("/openapi.json")).json()
    payer, payee = await registry.agent(), await registry.agent()
    transfer = document["paths"]["/api/v1/teg/transfer"]["post"]["requestBody"]["content"]
    stranger = transfer["application/json"]["example"]["receiver_agent_id"]
    login = document["paths"]["/api/v1/auth/agent/token"]["post"]["requestBody"]["content"]
    ((_, form),) = login.items()
    own = {
        form["example"]["username"]: payer.created["client_id"],
        form["example"]["password"]: payer.created["client_secret"],
        stranger: payee.did,
    }
    expected = {
        "discover_agents": '"results"',
        "transfer_units": '"completed"',
        "issue_agent_token": '"access_token"',
    }
    async with registry.listening() as place:
        for name, found in expected.items():
            samples = Samples((await registry.http.get(f"/docs/operations/{name}")).text).code
            here = {registry.settings.base_url: f"http://{place}", **own}
            for language, code in samples.items():
                file = tmp_path / f"{name}{SUFFIXES[language]}"
                file.write_text(reduce(lambda text, pair: text.replace(*pair), here.items(), code))
                output = await run(file, language, payer.token)
                assert (name, language, found in output) == (name, language, True), output
    assert await payee.balance() == "137.5"


async def run(file: Path, language: str, token: str) -> str:
    """The output of a file of code in a program of its own."""
    running = await asyncio.create_subprocess_exec(
        *PROGRAMS[language],
        str(file),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "AGENT_TOKEN": token, "NO_PROXY": "*"},
    )
    output, _ = await running.communicate()
    return output.decode()


def test_highlighting_changes_no_character_of_a_code():
    for language, code in (
        ("sh", "echo '<b>' \\\n  -d \"$X\" # &amp;"),
        ("python", "\n\nprint(f'{x}')\r\n"),
        ("json", '{"a": [1, null, "<script>"]}'),
        ("no-language", "a < b"),
        ("", "<"),
    ):
        marked = str(highlighting.highlighted(code, language))
        assert unescape(re.sub(r"<[^>]+>", "", marked)) == code
        assert "<script>" not in marked


async def test_an_unknown_operation_is_404(registry: TestRegistry):
    assert (await registry.http.get("/docs/operations/nothing")).status_code == 404


async def test_the_page_of_an_error_code_shows_a_response_and_links_the_operations(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/docs/problems/INSUFFICIENT_BALANCE")).text)
    example = json.loads(page.commands[0])
    assert (example["status"], example["error"]["type"]) == (402, "payment_required")
    assert example["type"] == f"{registry.settings.base_url}/docs/problems/INSUFFICIENT_BALANCE"
    assert "/docs/operations/transfer_units" in page.addresses
