"""`hansa conformance`: this registry passes each suite over HTTP, and the guide has every rule."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.doors.conformance import SUITES
from hansa.rooms import auditor

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "conformance.md"
ROW = re.compile(r"^\| ([A-Z]+-[0-9]{2}) \| (.+) \|$", re.MULTILINE)


def conformance(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["conformance", *arguments])
    return ended.exit_code, ended.stdout + ended.stderr


async def audited_again(registry) -> None:
    """A cycle of the auditor, also when there was one a moment ago."""
    earlier = (
        "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"
    )
    await registry.database.transaction(lambda tx: tx.execute(earlier))
    await auditor.run_cycle(registry.runtime)


async def test_this_registry_passes_the_suite_of_the_card(registry):
    async with registry.listening() as place:
        exit_code, said = await asyncio.to_thread(conformance, "card", f"http://{place}", "--json")
    report = json.loads(said)
    assert (exit_code, report["conforms"]) == (0, True), said
    assert [rule["id"] for rule in report["rules"]] == [rule.id for rule in SUITES["card"].rules]
    assert {rule["outcome"] for rule in report["rules"]} == {"holds"}


async def test_this_registry_passes_the_suite_of_attestations(registry):
    for _ in range(3):
        await audited_again(registry)
    async with registry.listening() as place:
        exit_code, said = await asyncio.to_thread(conformance, "attestations", f"http://{place}", "--json")
    assert exit_code == 0, said
    assert {rule["outcome"] for rule in json.loads(said)["rules"]} == {"holds"}, said


async def test_a_registry_without_attestations_breaks_rules_and_is_exit_1(registry):
    async with registry.listening() as place:
        exit_code, said = await asyncio.to_thread(conformance, "attestations", f"http://{place}")
    assert exit_code == 1
    assert "FAIL ATT-02" in said
    assert said.splitlines()[-1].startswith("does not conform: ")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1",
        "http://registry.example.org",
        "ftp://127.0.0.1",
        "registry.example.org",
        "https://[",
    ],
)
def test_a_host_that_cannot_be_reached_is_exit_2_in_one_line(url: str):
    exit_code, said = conformance("card", url)
    assert (exit_code, len(said.splitlines())) == (2, 1), said


def test_the_guide_has_every_rule_with_its_sentence():
    rules = {rule.id: rule.sentence for suite in SUITES.values() for rule in suite.rules}
    assert dict(ROW.findall(GUIDE.read_text())) == rules
    assert len(rules) == sum(len(suite.rules) for suite in SUITES.values())


class Edited(BaseHTTPRequestHandler):
    """Answers of a registry with one edited: `answers` by path, `edit` changes the content of `path`."""

    answers: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        content = self.answers.get(self.path.partition("?")[0])
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(content or b"{}")

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def served(answers: dict[str, bytes]) -> Iterator[str]:
    """A host that serves the answers; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (Edited,), {"answers": answers}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "http://{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def broken_rules(suite: str, answers: dict[str, bytes]) -> set[str]:
    with served(answers) as url:
        report = json.loads(conformance(suite, url, "--json")[1])
    return {rule["id"] for rule in report["rules"] if rule["outcome"] == "broken"}


OF_CARD = (
    "/.well-known/registry-card.json",
    "/.well-known/registry-jwks.json",
    "/.well-known/registry-jwks-history.json",
)
OF_CHAIN = ("/api/auditor/attestations", "/.well-known/auditor-jwks.json", "/api/auditor/attestations/head")


async def answers_of(registry, paths: tuple[str, ...]) -> dict[str, bytes]:
    return {path: (await registry.http.get(path)).content for path in paths}


async def test_each_defect_of_a_card_is_found_by_its_rule(registry):
    answers = await answers_of(registry, OF_CARD)
    # A host of files answers neither 304 nor 405.
    files = {"CARD-13", "CARD-14"}

    def broken(path: str, *edit: bytes) -> set[str]:
        assert edit[0] in answers[path], edit
        return broken_rules("card", {**answers, path: answers[path].replace(*edit)}) - files

    card, keys, history = OF_CARD
    assert broken_rules("card", answers) <= files
    assert broken(card, b'"tier":"standalone"', b'"tier":"cloud-operator"') == {"CARD-08"}
    assert broken(card, b'"tier":"standalone"', b'"tier":"huge"') == {"CARD-04"}
    assert broken(card, b'"identity.tier",', b"") == {"CARD-07"}
    assert broken(card, b'"kid":"spiffe', b'"kid":"spoffe') == {"CARD-06"}
    assert broken(card, b'"did_namespace":"hansa.local"', b'"did_namespace":"treasury"') == {"CARD-03"}
    assert broken(card, b"{", b"[") >= {"CARD-01", "CARD-02"}
    assert "CARD-05" in broken(keys, b"Ed25519", b"Ed448")
    assert broken(history, b'"valid_from"', b'"valid_since"') == {"CARD-12"}


async def test_each_defect_of_a_chain_is_found_by_its_rule(registry):
    for _ in range(2):
        await audited_again(registry)
    answers = await answers_of(registry, OF_CHAIN)
    listed, keys, head = OF_CHAIN
    page = json.loads(answers[listed])
    for record in page["attestations"]:
        answers[f"{listed}/{record['id']}"] = json.dumps(record).encode()
    # A host of files ignores parameters.
    files = {"ATT-02", "ATT-03", "ATT-15"}

    def broken(**edit: object) -> set[str]:
        edited = [{**page["attestations"][0], **edit}, *page["attestations"][1:]]
        return (
            broken_rules(
                "attestations", {**answers, listed: json.dumps({**page, "attestations": edited}).encode()}
            )
            - files
        )

    assert broken() == set()
    assert broken(kid="0" * 16) == {"ATT-04", "ATT-06"}
    assert broken(digest="0" * 64) == {"ATT-05"}
    assert broken(signature="A" * 86) == {"ATT-06"}
    assert broken(prev_hash="0" * 64) == {"ATT-07", "ATT-08"}
    assert broken(ts="2026-01-01T00:00:00+00:00") == {"ATT-08"}
    assert broken_rules("attestations", {**answers, head: b'{"id":1}'}) - files == {"ATT-12"}
    assert "ATT-01" in broken_rules("attestations", {**answers, keys: b'{"keys":[]}'})
