"""Third-party validators find nothing in the served description."""

import json
from pathlib import Path

import pytest

from hansa.doors.reference_map import empty_app
from tests.openapi.tools import Tools, installed


@pytest.fixture(scope="module")
def tools() -> Tools:
    return installed()


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("description")
    document = directory / "openapi.json"
    document.write_text(json.dumps(empty_app(directory).openapi()))
    return document


def test_redocly_finds_nothing(tools: Tools, described: Path):
    assert tools.redocly(described) == []


def test_spectral_finds_nothing(tools: Tools, described: Path):
    assert tools.spectral(described) == []


def test_what_the_validators_find_fails(tools: Tools, tmp_path: Path):
    paths = {"/x": {"get": {"responses": {"200": {"description": "No name, no tag, no security."}}}}}
    faulty = tmp_path / "openapi.json"
    faulty.write_text(
        json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": paths})
    )
    assert any("security-defined" in finding for finding in tools.redocly(faulty))
    assert any("operation-tags" in finding for finding in tools.spectral(faulty))
