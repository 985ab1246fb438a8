"""The guide of production as it stands: its settings, its service of systemd, its nginx, its role of PostgreSQL."""

import asyncio
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.settings import Settings
from tests.operation.nginx import proxying
from tests.operation.registry_process import RegistryProcess, free_port, until
from tests.operation.test_systemd import UNITS, service_of
from tests.outside import Authority
from tests.registry import PASSWORD, text_of

DIRECTORY = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (DIRECTORY / "production.md").read_text()
CERTIFICATES = "/etc/nginx/hansa"
NAME = "registry.example.org"
SPOOFED = "203.0.113.9"


def block(language: str) -> str:
    """The one block of the guide in this language."""
    [text] = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return str(text)


def stated_settings() -> dict[str, str]:
    return dict(line.split("=", 1) for line in block("properties").splitlines())


def server_of_guide(port: int, upstream: int, certificates: Path) -> str:
    """nginx as the guide configures it, with the places of this test."""
    server = block("nginx")
    for stated, meant in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        CERTIFICATES: str(certificates),
    }.items():
        assert stated in server
        server = server.replace(stated, meant)
    return server


@asynccontextmanager
async def database_of_guide(server: str, stated: str) -> AsyncIterator[str]:
    """The address of the database that the guide makes, under a name that no other test has."""
    name = f"hansa_{uuid4().hex[:8]}"
    connection = await asyncpg.connect(server)
    for statement in re.sub(r"\bhansa\b", name, block("sql")).splitlines():
        await connection.execute(statement)
    password = urlsplit(stated).password
    host = urlsplit(server).netloc.rpartition("@")[2]
    try:
        yield urlunsplit(urlsplit(server)._replace(netloc=f"{name}:{password}@{host}", path=f"/{name}"))
    finally:
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await connection.execute(f"DROP ROLE {name}")
        await connection.close()


@pytest.fixture(scope="module")
async def deployed(
    postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[RegistryProcess, httpx2.AsyncClient]]:
    """A registry with the settings and the database of the guide, and a client of its nginx."""
    directory, authority = tmp_path_factory.mktemp("production"), Authority()
    authority.server(directory, NAME)
    for file in ("fullchain.pem", "privkey.pem"):
        (directory / file).write_text((directory / f"{NAME}.pem").read_text())
    port, https = free_port(), free_port()
    # Mails are files here: there is no mail server of that name.
    settings = {name: value for name, value in stated_settings().items() if name != "SMTP_URL"}
    async with database_of_guide(postgres, settings["DATABASE_URL"]) as database:
        settings["DATABASE_URL"] = database
        registry = RegistryProcess(directory / "data", port=port, workers=2, **settings)
        try:
            await registry.start()
            async with (
                proxying(directory / "run", server_of_guide(https, port, directory), https),
                httpx2.AsyncClient(
                    base_url=f"https://127.0.0.1:{https}",
                    verify=authority.trust(),
                    headers={"Host": NAME, "Accept": "text/html", "X-Forwarded-For": SPOOFED},
                    timeout=60,
                ) as client,
            ):
                yield registry, client
            ended = await registry.stop()
            assert ended.code == 0, ended
        finally:
            await registry.kill()


async def ask(client: httpx2.AsyncClient, method: str, path: str, **request: Any) -> httpx2.Response:
    return await client.request(method, path, extensions={"sni_hostname": NAME}, **request)


async def send(client: httpx2.AsyncClient, path: str, **fields: str) -> httpx2.Response:
    """A form as a page of the registry sends it."""
    headers = {"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
    return await ask(client, "POST", path, data=fields, headers=headers)


async def test_a_person_logs_in_over_the_proxy_and_the_session_states_the_address_that_the_proxy_saw(
    deployed,
):
    registry, client = deployed
    body = {"name": "Ada", "email": "ada@example.org", "password": PASSWORD}
    consent = {"tos_accepted": True, "age_confirmed": True}
    made = await ask(client, "POST", "/api/v1/auth/register", json={**body, **consent})
    assert made.status_code == 201, made.text
    login = {"email": body["email"], "password": PASSWORD}
    assert (await send(client, "/login", **login)).status_code == 403
    await until(lambda: list((registry.data_dir / "outbox").glob("*.eml")))
    [mail] = (registry.data_dir / "outbox").glob("*.eml")
    link = re.search(
        rf"https://{NAME}(/\S+)", text_of(message_from_bytes(mail.read_bytes(), policy=default))
    )[1]
    assert (await ask(client, "GET", link)).status_code == 200
    logged_in = await send(client, "/login", **login)
    assert logged_in.status_code == 303, logged_in.text
    cookie = logged_in.headers["set-cookie"]
    assert cookie.startswith("__Host-hansa_session=")
    assert "Secure" in cookie
    assert logged_in.headers["strict-transport-security"].startswith("max-age=31536000")
    sessions = await ask(client, "GET", "/account/sessions", headers={"Cookie": cookie.partition(";")[0]})
    assert "127.0.0.1" in sessions.text
    assert SPOOFED not in sessions.text


async def test_the_live_stream_of_events_passes_the_proxy_and_stays_open(deployed):
    _, client = deployed
    stream = client.stream("GET", "/events/stream", extensions={"sni_hostname": NAME})
    async with asyncio.timeout(60), stream as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert await anext(answer.aiter_bytes())


def test_every_variable_of_the_guide_is_a_setting():
    known = {str(member.validation_alias or name).upper() for name, member in Settings.model_fields.items()}
    assert set(stated_settings()) - known == set()


def test_the_guides_install_each_unit_and_reads_the_settings_file_that_the_service_reads():
    guides = GUIDE + (DIRECTORY / "backups.md").read_text()
    installed = {*re.findall(r"deploy/systemd/([\w.-]+[a-z])", guides)}
    assert installed == {file.name for file in UNITS.iterdir()} - {"hansa.sysusers"}
    arguments = shlex.split(service_of("hansa.service")["ExecStart"])
    assert arguments[arguments.index("--config") + 1] in GUIDE.partition("```properties")[0]
