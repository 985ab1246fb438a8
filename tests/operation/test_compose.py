"""`deploy/compose.yaml`: its settings are those of the guide, and its proxy passes on the address of the client that it saw."""

import os
import re
import shutil
import subprocess
from asyncio import create_subprocess_exec
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from hansa.foundation.plumbing.settings import read_settings
from tests import debian_packages
from tests.operation.conftest import Launch
from tests.operation.nginx import until_it_listens
from tests.operation.registry_process import free_port
from tests.operation.test_production_guide import GUIDE, NAME, SPOOFED, stated_settings
from tests.outside import Authority

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::\?[^}]*)?\}")


def stated_variables() -> dict[str, str]:
    """The file `.env` of the guide."""
    [text] = re.findall(r"`deploy/\.env`:\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
    return dict(line.split("=", 1) for line in text.splitlines())


def filled_in(value: str) -> str:
    return VARIABLE.sub(lambda variable: stated_variables()[variable[1]], value)


def settings_of_compose() -> dict[str, str]:
    environment = SERVICES["registry"]["environment"]
    assert all(isinstance(value, str) for value in environment.values()), "quoted"
    return {name: filled_in(value) for name, value in environment.items()}


def test_the_settings_are_those_of_the_guide():
    here, there = settings_of_compose(), stated_settings()
    # In a container 127.0.0.1 is the container.
    own_places = {"DATABASE_URL", "TRUSTED_PROXIES"}
    assert {name: value for name, value in here.items() if name not in own_places} == {
        name: value for name, value in there.items() if name not in own_places
    }
    assert here.keys() == there.keys()
    assert {*VARIABLE.findall((DEPLOY / "compose.yaml").read_text())} == {*stated_variables()}


def test_a_registry_accepts_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, value in settings_of_compose().items():
        monkeypatch.setenv(name, value)
    settings = read_settings(data_dir=tmp_path)
    assert settings.base_url == f"https://{settings.trust_domain}"


def test_the_proxy_that_is_trusted_is_the_one_of_the_file_and_the_database_is_out_of_reach():
    [trusted] = settings_of_compose()["TRUSTED_PROXIES"].split(",")
    assert SERVICES["proxy"]["networks"]["front"]["ipv4_address"] == trusted
    [front] = COMPOSE["networks"]["front"]["ipam"]["config"]
    assert ip_address(trusted) in ip_network(front["subnet"])
    assert SERVICES["database"]["networks"] == ["back"]
    assert COMPOSE["networks"]["back"]["internal"]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    database = settings_of_compose()["DATABASE_URL"]
    stated = {name: filled_in(value) for name, value in SERVICES["database"]["environment"].items()}
    user, password, name = (stated[f"POSTGRES_{member}"] for member in ("USER", "PASSWORD", "DB"))
    assert database == f"postgresql://{user}:{password}@database:5432/{name}"


def test_the_registry_runs_without_rights_on_a_root_that_is_read_only():
    registry = SERVICES["registry"]
    assert registry["read_only"]
    assert registry["cap_drop"] == ["ALL"]
    assert registry["tmpfs"] == ["/tmp"]
    assert "no-new-privileges:true" in registry["security_opt"]
    assert {volume.partition(":")[0] for volume in registry["volumes"]} <= {*COMPOSE["volumes"]}
    build = registry["build"]
    assert ((DEPLOY / build["context"]).resolve() / build["dockerfile"]) == DEPLOY / "Containerfile"


@cache
def caddy() -> str:
    """The program. Where there is none, Debian's package is installed."""
    if shutil.which("caddy") is None:
        debian_packages.install("caddy")
    found = shutil.which("caddy")
    assert found, "caddy is needed: apt-get install caddy"
    return found


@asynccontextmanager
async def proxying(directory: Path, port: int, upstream: int) -> AsyncIterator[None]:
    """Caddy as the file configures it, with a certificate and the ports of this test."""
    text = (DEPLOY / "Caddyfile").read_text()
    assert "registry:8000" in text
    text = text.replace("registry:8000", f"127.0.0.1:{upstream}")
    text = text.replace(
        "{$REGISTRY_HOST} {",
        "{$REGISTRY_HOST} {\n\ttls " + f"{directory}/fullchain.pem {directory}/privkey.pem",
        1,
    )
    (directory / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "REGISTRY_HOST": f"{NAME}:{port}"}
    process = await create_subprocess_exec(
        *(caddy(), "run", "--config", directory / "Caddyfile", "--adapter", "caddyfile"),
        env=environment,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    try:
        await until_it_listens(process, port)
        yield
    finally:
        process.terminate()
        await process.communicate()


async def test_a_client_of_the_proxy_names_no_other_address_and_no_certificate(
    operated: Launch, tmp_path: Path
):
    authority, port, https = Authority(), free_port(), free_port()
    authority.server(tmp_path, NAME)
    for file in ("fullchain.pem", "privkey.pem"):
        (tmp_path / file).write_text((tmp_path / f"{NAME}.pem").read_text())
    registry = operated(port=port, TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="2")
    await registry.start()
    async with (
        proxying(tmp_path, https, port),
        httpx2.AsyncClient(
            base_url=f"https://127.0.0.1:{https}", verify=authority.trust(), timeout=60
        ) as client,
    ):
        statuses = []
        for number in range(3):
            forged = {"X-Forwarded-For": f"{SPOOFED[:-1]}{number}", "Client-Cert": ":bm9uZQ==:", "Host": NAME}
            answer = await client.get(
                "/api/v1/public/registry-config", headers=forged, extensions={"sni_hostname": NAME}
            )
            statuses.append(answer.status_code)
        assert statuses == [200, 200, 429]
        assert answer.headers["strict-transport-security"].startswith("max-age=31536000")


def test_caddy_understands_the_file_as_it_stands(tmp_path: Path):
    command = [caddy(), "adapt", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile", "--validate"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REGISTRY_HOST": NAME}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
