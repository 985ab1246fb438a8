"""`deploy/compose.yaml`: its settings are those of the guide, its networks are closed, and its proxy is configured by its variables."""

import re
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from hansa.foundation.plumbing.settings import read_settings
from tests import debian_packages
from tests.operation.proxies import CADDYFILE, DEPLOYED, certify, variables_in
from tests.operation.test_production_guide import GUIDE, stated_settings

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
    # In a container 127.0.0.1 is the container, and no port but that of the proxy is open: the metrics need a token.
    assert here.pop("METRICS_TOKEN_FILE") == f"/run/secrets/{SERVICES['registry']['secrets'][0]}"
    own_places = {"DATABASE_URL", "TRUSTED_PROXIES"}
    assert {name: value for name, value in here.items() if name not in own_places} == {
        name: value for name, value in there.items() if name not in own_places
    }
    assert here.keys() == there.keys()
    assert {*VARIABLE.findall((DEPLOY / "compose.yaml").read_text())} == {*stated_variables()}


def test_a_registry_accepts_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    token = tmp_path / "metrics-token"
    token.write_text("a-token-of-tests-for-metrics")
    for name, value in {**settings_of_compose(), "METRICS_TOKEN_FILE": str(token)}.items():
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
    assert registry["secrets"] == [*COMPOSE["secrets"]]
    assert COMPOSE["secrets"]["metrics-token"]["file"].removeprefix("./") in GUIDE.replace("deploy/", "")
    build = registry["build"]
    assert ((DEPLOY / build["context"]).resolve() / build["dockerfile"]) == DEPLOY / "Containerfile"


def test_caddy_understands_the_file_as_it_stands_with_the_variables_of_each_deployment(tmp_path: Path):
    packages = debian_packages.unpack("caddy")
    command = (packages.program("caddy"), "adapt", "--adapter", "caddyfile", "--validate")
    of_compose = {name: filled_in(value) for name, value in SERVICES["proxy"]["environment"].items()}
    certify(tmp_path)
    stated = (DEPLOYED / "caddy.conf").read_text().replace("/etc/caddy", str(tmp_path))
    used = {*re.findall(r"\{\$([A-Z_]+)\}", CADDYFILE.read_text())}
    assert used == {*variables_in(stated)} == {*of_compose, "REGISTRY_TLS"}
    for variables in (of_compose, variables_in(stated)):
        environment = {**packages.environment, "HOME": str(tmp_path), **variables}
        ended = subprocess.run(
            [*command, "--config", CADDYFILE], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
