"""The services of `deploy/compose.yaml`, started in its order with its settings and health checks, as processes in place of containers.

PostgreSQL and Caddy are Debian's, the registry is this checkout with the variables and the command of `deploy/Containerfile`. Names and
addresses of the networks are those of this machine.
"""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx2
import pytest

from tests.operation.confined import Confinement, open_to_others
from tests.operation.plain_postgresql import CARELESS, PlainPostgresql, plain_postgresql, until_it_answers
from tests.operation.proxies import caddy, certify
from tests.operation.registry_process import COMMAND, START_SECONDS, free_port, run
from tests.operation.test_compose import DEPLOY, SERVICES, VARIABLE, stated_variables
from tests.operation.test_production_guide import NAME, SPOOFED
from tests.outside import Authority

TOKEN = "a-token-of-tests-for-metrics"
GRACE_SECONDS = int(SERVICES["registry"]["stop_grace_period"].removesuffix("s"))
LIMITED = "/api/v1/public/registry-config"


@dataclass(frozen=True)
class Image:
    """What deploy/Containerfile states of a container."""

    variables: dict[str, str]
    command: list[str]
    health_check: list[str]


def image() -> Image:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
    [variables] = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    [command] = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    [check] = re.findall(r"^HEALTHCHECK .*?CMD (.*)$", text, re.MULTILINE)
    return Image(
        dict(word.split("=", 1) for word in shlex.split(variables)),
        [*json.loads(entry), *json.loads(command)],
        json.loads(check),
    )


@dataclass(frozen=True)
class Host:
    """The ports and folders of this machine in place of the networks and volumes of the file."""

    directory: Path
    database: int
    registry: int
    proxy: int

    def variables_of(self, service: str) -> dict[str, str]:
        """The environment of a service, with the file `.env` of the guide and these places."""
        stated = {**stated_variables(), "SMTP_URL": f"smtp://127.0.0.1:{free_port()}"}
        meant = {
            "@database:5432": f"@127.0.0.1:{self.database}",
            "registry:8000": f"127.0.0.1:{self.registry}",
            "/run/secrets/": f"{self.directory}/secrets/",
            SERVICES["proxy"]["networks"]["front"]["ipv4_address"]: "127.0.0.1",
        }
        found = {}
        for name, value in SERVICES[service]["environment"].items():
            filled = VARIABLE.sub(lambda variable: stated[variable[1]], value)
            for one, other in meant.items():
                filled = filled.replace(one, other)
            found[name] = filled
        return found


def order() -> list[str]:
    """The services, each after those that it depends on."""
    found: list[str] = []
    while waiting := [name for name in SERVICES if name not in found]:
        ready = [name for name in waiting if {*SERVICES[name].get("depends_on", ())} <= {*found}]
        assert ready, waiting
        found += ready
    return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    open_to_others(tmp_path)
    for name in ("data", "secrets", "proxy"):
        (tmp_path / name).mkdir()
    (tmp_path / "secrets/metrics-token").write_text(TOKEN)
    return Host(tmp_path, free_port(), free_port(), free_port())


@asynccontextmanager
async def database(host: Host, _: Authority) -> AsyncIterator[None]:
    """PostgreSQL as the image makes it: a superuser with a password, a database, passwords over the network; healthy by its check."""
    stated = host.variables_of("database")
    user, password, name = (stated[f"POSTGRES_{member}"] for member in ("USER", "PASSWORD", "DB"))
    with plain_postgresql() as postgresql:
        cluster = postgresql.make("volume")
        rules = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256", ""]
        (cluster / "pg_hba.conf").write_text("\n".join(rules))
        listening = ("listen_addresses=127.0.0.1", f"port={host.database}")
        with postgresql.running(cluster, *CARELESS, *listening):
            superuser = f"postgresql://{user}@/postgres?host={postgresql.folder}&port={host.database}"
            await until_it_answers(superuser)
            connection = await asyncpg.connect(superuser)
            await connection.execute(f"ALTER ROLE {user} PASSWORD '{password}'")
            await connection.execute(f"CREATE DATABASE {name}")
            await connection.close()
            require_healthy(postgresql, host.database)
            yield


def require_healthy(postgresql: PlainPostgresql, port: int) -> None:
    """Run the health check of the file, at the port of this machine."""
    how, program, *options = SERVICES["database"]["healthcheck"]["test"]
    assert how == "CMD"
    postgresql.run(program, *options, f"--port={port}")


@asynccontextmanager
async def registry(host: Host, _: Authority) -> AsyncIterator[None]:
    """The command of the image as an account without rights, on a root that is read-only."""
    made = image()
    data = host.directory / "data"
    assert made.variables["HANSA_DATA_DIR"] == "/data"
    assert SERVICES["registry"]["volumes"] == ["data:/data"]
    environment = {
        "PATH": os.defpath,
        "HOME": str(data),
        **{name: value for name, value in made.variables.items() if name != "PATH"},
        "HANSA_DATA_DIR": str(data),
        "PORT": str(host.registry),
        "RATE_LIMIT_READS": "2",
        **host.variables_of("registry"),
    }
    program, *arguments = made.command
    assert program == COMMAND.name
    confinement = Confinement((data,), 0o022)
    confinement.own()
    with (host.directory / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *confinement.command(str(COMMAND), *arguments),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=log,
            env=environment,
            cwd="/",
        )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        assert line == f"ready http://0.0.0.0:{host.registry}\n".encode(), (
            host.directory / "log"
        ).read_text()
        confinement.require(process.pid)
        python, *check = made.health_check
        assert python == "python"
        checked = await asyncio.create_subprocess_exec(
            sys.executable, *check, env={"PORT": str(host.registry)}
        )
        assert await checked.wait() == 0
        status = await run("status", data_dir=data, **host.variables_of("registry"))
        assert status.code == 0, status
        yield
        await stopped(process, host)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def stopped(process: Process, host: Host) -> None:
    """Require that the stop of a container ends it in its time."""
    assert re.search(r"^STOPSIGNAL SIGTERM$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(GRACE_SECONDS):
        assert await process.wait() == 0, (host.directory / "log").read_text()


@asynccontextmanager
async def proxy(host: Host, _: Authority) -> AsyncIterator[None]:
    """Caddy with the file that is mounted, and a certificate of this test in place of one that it would fetch."""
    assert "./Caddyfile:/etc/caddy/Caddyfile:ro" in SERVICES["proxy"]["volumes"]
    stated = host.variables_of("proxy")
    assert stated["REGISTRY_HOST"] == NAME
    folder = host.directory / "proxy"
    certificate = f"tls {folder}/fullchain.pem {folder}/privkey.pem"
    named = {**stated, "REGISTRY_HOST": f"{NAME}:{host.proxy}", "REGISTRY_TLS": certificate}
    async with caddy(folder, host.proxy, **named):
        yield


STARTED = {"database": database, "registry": registry, "proxy": proxy}


@pytest.fixture
async def client(host: Host) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the proxy, once every service runs."""
    authority = certify(host.directory / "proxy")
    async with AsyncExitStack() as running:
        assert {*order()} == STARTED.keys()
        for name in order():
            await running.enter_async_context(STARTED[name](host, authority))
        yield await running.enter_async_context(
            httpx2.AsyncClient(
                base_url=f"https://127.0.0.1:{host.proxy}",
                verify=authority.trust(),
                headers={"Host": NAME},
                timeout=60,
            )
        )


def test_the_database_is_healthy_before_the_registry_starts_and_the_proxy_is_the_last():
    assert order() == ["database", "registry", "proxy"]
    assert SERVICES["registry"]["depends_on"] == {"database": {"condition": "service_healthy"}}


async def test_the_services_start_in_order_answer_through_the_proxy_and_stop(client: httpx2.AsyncClient):
    async def ask(path: str, **headers: str) -> httpx2.Response:
        return await client.get(path, headers=headers, extensions={"sni_hostname": NAME})

    ready = await ask("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    assert ready.headers["strict-transport-security"].startswith("max-age=31536000")
    assert (await ask("/metrics")).status_code == 401
    metrics = await ask("/metrics", Authorization=f"Bearer {TOKEN}")
    assert (metrics.status_code, "hansa_build_info" in metrics.text) == (200, True)
    # A client that states other addresses and a certificate is limited as the one that it is.
    statuses = []
    for number in range(3):
        forged = {"X-Forwarded-For": f"{SPOOFED[:-1]}{number}", "Client-Cert": ":bm9uZQ==:"}
        statuses.append((await ask(LIMITED, **forged)).status_code)
    assert (statuses[0], statuses[-1]) == (200, 429)
