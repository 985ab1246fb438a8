"""Metadata documents of clients: fetched by the guard after the login, believed only of their own address, kept as they say."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.connections import REDIRECT, ConnectedClient, client_of
from tests.outside import Authority, Host, host
from tests.registry import StartRegistry, TestRegistry


@dataclass
class DocumentHost:
    """A host with the metadata document of a client, and a registry that may call it."""

    registry: TestRegistry
    host: Host
    answer: "Answer"
    client: ConnectedClient

    @property
    def fetched(self) -> int:
        return len(self.host.heads)

    async def ask(self) -> str:
        """Ask for access as this client; returns the page."""
        return (await self.client.ask()).text

    @property
    def status(self) -> int:
        return self.client.browser.page.status_code


@dataclass
class Answer:
    """What the host answers; members set to None are left out of the document."""

    members: dict[str, Any] = field(default_factory=dict)
    status: str = "200 OK"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    waits_seconds: float = 0
    client_id: str = ""

    def bytes(self) -> bytes:
        document = {
            "client_id": self.client_id,
            "client_name": "Documented client",
            "redirect_uris": [REDIRECT],
            **self.members,
        }
        text = json.dumps({name: one for name, one in document.items() if one is not None}).encode()
        body = text if self.body is None else self.body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status}\r\n{head}Connection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def documented(start_registry: StartRegistry, tmp_path: Path) -> AsyncIterator[DocumentHost]:
    authority, answer = Authority(), Answer()

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(answer.waits_seconds)
        writer.write(answer.bytes())

    async with host(speak, tls=authority.server(tmp_path, "localhost")) as listening:
        registry = await start_registry(outgoing_allow_user_hosts=[f"localhost:{listening.port}"])
        trust: ssl.SSLContext = authority.trust()
        registry.runtime.outgoing._given_trust = trust
        answer.client_id = f"https://localhost:{listening.port}/client.json"
        client = await client_of(registry)
        client.client_id = answer.client_id
        yield DocumentHost(registry, listening, answer, client)


@pytest.fixture
async def place(start_registry: StartRegistry, tmp_path: Path) -> AsyncIterator[DocumentHost]:
    async with documented(start_registry, tmp_path) as opened:
        yield opened


async def test_a_client_with_a_document_is_shown_with_its_host_and_gets_tokens(place: DocumentHost):
    text = await place.ask()
    assert place.status == 200, text
    for shown in ("Documented client", "<code>localhost</code>"):
        assert shown in text
    led_back = await place.client.allow()
    assert (await place.client.exchange(led_back["code"])).status_code == 200
    (row,) = await place.client.connections()
    assert (row["client_host"], row["client_name"]) == ("localhost", "Documented client")
    assert "Authorization" not in place.host.heads[0]
    assert "ookie" not in place.host.heads[0]


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        ("", 300),
        ("max-age=10", 300),
        ("max-age=3600", 3600),
        ("no-store", 300),
        ("public, max-age=999999", 86400),
    ],
)
async def test_a_document_is_kept_from_five_minutes_to_a_day(place: DocumentHost, cache_control, seconds):
    if cache_control:
        place.answer.headers["Cache-Control"] = cache_control
    await place.ask()
    await place.ask()
    assert place.fetched == 1
    left = await place.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT extract(epoch FROM expires_at - now())::float FROM people_client_document"
        )
    )
    assert seconds - 120 < left <= seconds


@pytest.mark.parametrize(
    "changed",
    [
        {"members": {"client_id": "https://localhost/client.json"}},
        {"members": {"client_id": None}},
        {"members": {"redirect_uris": None}},
        {"members": {"redirect_uris": []}},
        {"members": {"redirect_uris": [REDIRECT] * 21}},
        {"members": {"redirect_uris": ["javascript:alert(1)", REDIRECT]}},
        {"members": {"redirect_uris": REDIRECT}},
        {"members": {"token_endpoint_auth_method": "client_secret_post"}},
        {"members": {"token_endpoint_auth_method": "private_key_jwt"}},
        {"status": "404 Not Found"},
        {"status": "302 Found", "headers": {"Location": "/client.json"}},
        {"status": "301 Moved Permanently", "headers": {"Location": "http://169.254.169.254/"}},
        {"headers": {"Content-Type": "text/html"}},
        {"body": b"not JSON"},
        {"body": b"[" * 5000},
        {"body": b'{"client_id": "' + b"x" * (16 * 1024) + b'"}'},
        {"body": b""},
    ],
)
async def test_a_document_that_does_not_count_is_refused_without_a_link_and_never_kept(
    place: DocumentHost, changed
):
    for name, value in changed.items():
        setattr(place.answer, name, value)
    text = await place.ask()
    assert place.status == 400
    assert REDIRECT not in text
    place.answer.__init__(client_id=place.answer.client_id)
    await place.ask()
    assert place.status == 200, "a failure is not kept"


async def test_a_host_that_answers_slowly_is_given_up_after_five_seconds(place: DocumentHost):
    place.answer.waits_seconds = 30
    async with asyncio.timeout(25):
        await place.ask()
    assert place.status == 400


async def test_ten_documents_of_a_host_are_fetched_in_a_minute(place: DocumentHost):
    place.answer.status = "404 Not Found"
    for _ in range(10):
        await place.ask()
        assert place.status == 400
    await place.ask()
    assert (place.status, place.fetched) == (429, 10)


async def test_nothing_is_fetched_for_a_stranger(place: DocumentHost):
    request = place.client.request()
    await place.client.browser.open("/account")
    await place.client.browser.send("/logout")
    await place.client.browser.open(request)
    assert (place.client.browser.page.url.path, place.fetched) == ("/login", 0)


INNER = [
    "https://127.0.0.1/client.json",
    "https://localhost/client.json",
    "https://[::1]/client.json",
    "https://10.0.0.1/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://192.168.1.1/client.json",
    "https://0x7f.1/client.json",
    "https://2130706433/client.json",
    "https://metadata.internal/client.json",
    "https://example.org:22/client.json",
    "https://example.org:5432/client.json",
]
MALFORMED = [
    "http://example.org/client.json",
    "https://example.org",
    "https://example.org/",
    "https://example.org/a/../client.json",
    "https://example.org/./client.json",
    "https://example.org/%2e%2e/client.json",
    "https://user@example.org/client.json",
    "https://user:secret@example.org/client.json",
    "https://example.org/client.json#fragment",
    "https://example.org\\@evil.example/client.json",
    "https:///client.json",
    "https://example.org/" + "a" * 2040,
    "HTTPS://example.org/client.json",
]


@pytest.mark.parametrize("client_id", [*INNER, *MALFORMED])
async def test_inner_hosts_and_addresses_of_another_form_are_never_called(registry, client_id):
    called: list[str] = []

    async def get(url: str, **_: Any) -> None:
        called.append(url)
        raise AssertionError(url)

    client = await client_of(registry)
    if client_id in MALFORMED:
        registry.runtime.outgoing.get = get
    page = await client.ask(client_id=client_id)
    assert (page.status_code, called) == (400, [])
    kept = await registry.database.read(lambda tx: tx.fetchval("SELECT count(*) FROM people_client_document"))
    assert kept == 0
