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

from hansa.doors.console.client_pages import client_wheels
from tests.client.clean_environment import OWN, ROOT, make_with_dependencies, pip
from tests.doors.pages_read import ReadPage
from tests.registry import StartRegistry, TestRegistry


async def test_the_page_states_the_digest_of_each_wheel_that_it_links(registry: TestRegistry):
    page = await registry.http.get("/client/")
    addresses = [one for one in ReadPage(page.text).addresses if "#sha256=" in one]
    assert len(addresses) == len(client_wheels()) == 2
    for address in addresses:
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
    page = (await registry.http.get("/client/")).text
    guide = (await registry.http.get("/guides/client")).text
    for wheel in client_wheels():
        assert f" https://registry.example.org/client/{wheel.name}" in page
        assert f"https://registry.example.org}}/client/{wheel.name}" in guide


def test_the_wheels_have_the_same_bytes_each_time():
    first = client_wheels()
    client_wheels.cache_clear()
    assert client_wheels() == first


@pytest.mark.parametrize(("place", "directory"), enumerate(OWN.values()))
def test_the_metadata_is_that_of_the_distribution(place: int, directory: str):
    archive = zipfile.ZipFile(io.BytesIO(client_wheels()[place].content))
    (name,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
    stated = Parser().parsestr(archive.read(name).decode())
    project = tomllib.loads((ROOT / directory / "pyproject.toml").read_text())["project"]
    assert (stated["Name"], stated["Version"]) == (project["name"], project["version"])
    requirements = [Requirement(one) for one in stated.get_all("Requires-Dist") or []]
    wanted = [Requirement(one) for one in project["dependencies"]]
    assert [one for one in requirements if one.marker is None] == wanted
    extras = project.get("optional-dependencies", {})
    assert len(requirements) == len(wanted) + sum(map(len, extras.values()))
    assert (stated.get_all("Provides-Extra") or []) == list(extras)
    assert {name.partition("/")[0].partition("-")[0] for name in archive.namelist()} == {
        project["name"].replace("-", "_")
    }
    assert archive.testzip() is None


@pytest.mark.parametrize("by", ["address", "find-links"])
async def test_pip_installs_it_from_the_registry_and_its_command_works(
    registry: TestRegistry, tmp_path: Path, by: str
):
    programs = await asyncio.to_thread(make_with_dependencies, tmp_path)
    async with registry.listening() as place:
        page = f"http://{place}/client/"
        wanted = (
            (*OWN, "--find-links", page)
            if by == "find-links"
            else tuple(page + wheel.name for wheel in client_wheels())
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
