"""The three registries of `deploy/federation`: their settings are those that the registry accepts and the guide names."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from hansa.doors.demo.federation.story import do_agree
from hansa.foundation.plumbing.settings import read_settings

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "federation" / "compose.yaml"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
GUIDE = (ROOT / "docs" / "guides" / "run-a-federation.md").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_a_registry_with_settings_that_exist(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    chosen = SERVICES[name]["environment"]
    for variable, value in chosen.items():
        assert isinstance(value, str), f"{variable} is quoted"
        monkeypatch.setenv(variable, value)
    settings = read_settings(data_dir=tmp_path)
    assert (settings.registry_name, settings.trust_domain) == (name, f"{name}.example")
    assert settings.federation_port is not None
    assert urlsplit(settings.base_url).port == settings.port
    assert urlsplit(settings.federation_url).port == settings.federation_port
    for place in (f"127.0.0.1:{settings.port}", f"127.0.0.1:{settings.federation_port}"):
        assert all(place in other["environment"]["OUTGOING_ALLOW_HOSTS"] for other in SERVICES.values())


def test_the_services_share_one_network_and_keep_their_data_apart():
    hosts = [name for name, service in SERVICES.items() if "network_mode" not in service]
    (host,) = hosts
    others = set(SERVICES) - {host}
    assert all(SERVICES[name]["network_mode"] == f"service:{host}" for name in others)
    ports = [SERVICES[name]["environment"]["PORT"] for name in SERVICES]
    assert SERVICES[host]["ports"] == [f"127.0.0.1:{port}:{port}" for port in ports]
    volumes = [SERVICES[name]["volumes"] for name in SERVICES]
    assert volumes == [[f"{name}:/data"] for name in SERVICES]
    assert set(yaml.safe_load(COMPOSE.read_text())["volumes"]) == set(SERVICES)


def test_the_image_is_built_from_files_that_exist():
    build = next(iter(SERVICES.values()))["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert context == ROOT
    assert context / build["dockerfile"] == CONTAINERFILE
    copied = re.findall(r"^COPY (.+) \S+$", CONTAINERFILE.read_text(), re.MULTILINE)
    assert copied
    for source in " ".join(copied).split():
        assert (context / source).exists(), source
    assert "VOLUME /data" in CONTAINERFILE.read_text()


def test_a_service_that_uses_the_network_of_another_is_restarted_with_it():
    for service in SERVICES.values():
        if "network_mode" in service:
            _, _, host = service["network_mode"].partition(":")
            assert service["depends_on"] == {host: {"condition": "service_started", "restart": True}}


def test_the_guide_names_the_file_and_its_services():
    commands = re.findall(r"^docker compose -f (\S+) exec (\S+)", GUIDE, re.MULTILINE)
    assert commands
    for file, service in commands:
        assert ROOT / file == COMPOSE
        assert service in SERVICES


def a_pair(peer: str, out: str, into: str) -> dict[str, str]:
    return {"peer": peer, "currency": "AVT", "out": out, "in": into}


def test_the_books_agree_only_where_each_states_what_the_other_does():
    right = {"north": [a_pair("south", "3", "1")], "south": [a_pair("north", "1", "3")]}
    assert do_agree(right)
    wrong = {"north": [a_pair("south", "3", "1")], "south": [a_pair("north", "1", "2.99")]}
    assert not do_agree(wrong)
    silent: dict[str, list[dict[str, str]]] = {"north": [a_pair("south", "3", "1")], "south": []}
    assert not do_agree(silent)
