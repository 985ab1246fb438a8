"""The client at a registry: the page that pip reads, the wheel and its digest, and its command in an environment of its own."""

import asyncio
import hashlib
import io
import subprocess
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hansa.doors.console.client_pages import client_wheel
from tests.client.clean_environment import METADATA, declared, make_with_dependencies, pip
from tests.doors.pages_read import ReadPage
from tests.registry import StartRegistry, TestRegistry


async def test_the_page_states_the_digest_of_the_wheel_that_it_links(registry: TestRegistry):
    page = await registry.http.get("/client/")
    (address,) = [one for one in ReadPage(page.text).addresses if "#sha256=" in one]
    path, _, digest = address.partition("#sha256=")
    wheel = await registry.http.get(path)
    assert (wheel.status_code, wheel.headers["content-type"]) == (200, "application/octet-stream")
    assert hashlib.sha256(wheel.content).hexdigest() == digest
    assert f"<code>{digest}</code>" in page.text
    stated = await registry.http.get(f"{path}.sha256")
    assert stated.text == f"{digest}  {path.rpartition('/')[2]}\n"


async def test_another_file_is_unknown(registry: TestRegistry):
    answer = await registry.http.get("/client/hansa-0.1.0-py3-none-any.whl")
    assert answer.status_code == 404


async def test_the_commands_name_the_address_of_the_registry(start_registry: StartRegistry):
    registry = await start_registry(public_base_url="https://registry.example.org")
    wheel = client_wheel().name
    page = (await registry.http.get("/client/")).text
    assert f"pip install https://registry.example.org/client/{wheel}" in page
    guide = (await registry.http.get("/guides/client")).text
    assert f"https://registry.example.org}}/client/{wheel}" in guide


def test_the_wheel_has_the_same_bytes_each_time():
    first = client_wheel()
    client_wheel.cache_clear()
    assert client_wheel() == first


def test_its_metadata_is_that_of_the_distribution():
    archive = zipfile.ZipFile(io.BytesIO(client_wheel().content))
    (name,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
    stated = Parser().parsestr(archive.read(name).decode())
    project = tomllib.loads(METADATA.read_text())["project"]
    assert (stated["Name"], stated["Version"]) == (project["name"], project["version"])
    requirements = [Requirement(one) for one in stated.get_all("Requires-Dist") or []]
    assert [one for one in requirements if one.marker is None] == declared()
    optional = sum(len(one) for one in project["optional-dependencies"].values())
    assert len(requirements) == len(declared()) + optional
    assert stated.get_all("Provides-Extra") == list(project["optional-dependencies"])
    assert archive.testzip() is None


@pytest.mark.parametrize("by", ["address", "find-links"])
async def test_pip_installs_it_from_the_registry_and_its_command_works(
    registry: TestRegistry, tmp_path: Path, by: str
):
    programs = await asyncio.to_thread(make_with_dependencies, tmp_path)
    async with registry.listening() as place:
        page = f"http://{place}/client/"
        wanted = (
            ("hansa-client", "--find-links", page) if by == "find-links" else (page + client_wheel().name,)
        )
        install = ("--python", str(programs / "python"), "install", "--no-deps", "--no-index", *wanted)
        await asyncio.to_thread(pip, *install)
        registering = [
            *(programs / "hansa-client", "register", f"http://{place}", "--name", "Ada", "--accept-terms"),
            *("--email", "ada@example.org", "--recovery-keys", tmp_path / "keys"),
        ]
        environment = {"HANSA_CLIENT_DIR": str(tmp_path), "HANSA_CLIENT_PASSWORD": "Correct-Horse-7-Battery"}
        ended = await asyncio.to_thread(
            subprocess.run, registering, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
