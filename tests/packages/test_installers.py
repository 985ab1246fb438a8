"""Installations from the files of a release: by pipx and uv as the production guide shows them, with the lowest versions, for arm64."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.operation.registry_process import READY_LINE, START_SECONDS
from tests.packages.installation import Installation
from tests.packages.release_files import PROJECTS, RELEASE, ROOT, project_of, released
from tests.packages.tools import INSTALLERS

GUIDE = (ROOT / "docs" / "guides" / "production.md").read_text()
INSTALL_SECONDS = 900
OWN = {"hansa-client", "hansa-verify"}


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    INSTALLERS.ready()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory)


def shown(program: str, *more: str) -> list[str]:
    """The one command line of the guide that begins with these words and ends with more, in the shell of its reader."""
    [line] = re.findall(rf"^\$ ({program} .*)$", GUIDE, re.MULTILINE)
    return ["sh", "-c", f'exec {line} "$@"', "sh", *more]


def environment(home: Path) -> dict[str, str]:
    """The environment of a person with the installers on the PATH, and this machine's index and authorities."""
    index = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "UV_", "SSL_CERT"))}
    path = os.pathsep.join([str(INSTALLERS.python.parent), os.environ["PATH"]])
    return {**index, "PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "RUST_LOG": "uv=debug"}


def ran(*command: str | Path, home: Path, cwd: Path) -> str:
    """What a command of an installer prints and logs, which succeeds."""
    done = subprocess.run(
        command,
        env=environment(home),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def require_unasked(log: str) -> None:
    """Require that an index was asked for the packages of others alone: whoever registers the names of this project there would be run."""
    asked = {*re.findall(r"/simple/([a-z0-9-]+)/", log)}
    assert "fastapi" in asked
    assert {name for name in asked if name.startswith("hansa")} == set()


def locked() -> dict[str, str]:
    lines = RELEASE["constraints"](RELEASE["LOCKED_FILE"].read_text()).splitlines()
    pins = [Requirement(line) for line in lines]
    return {
        one.name: next(iter(one.specifier)).version
        for one in pins
        if one.marker is None or one.marker.evaluate()
    }


async def serve_the_tested_versions(home: Path, place: str) -> None:
    """Require the program on the PATH of the account, each package in its tested version and no other one, and that it serves."""
    await installation_of(home, place).serves()


def installation_of(home: Path, place: str) -> Installation:
    [python] = home.glob(place)
    assert (home / ".local/bin/hansa").resolve() == python.with_name("hansa").resolve()
    installed = Installation(python.parent, home)
    others = {"hansa", "hansa-client", "hansa-verify", "pip"}
    assert {name: one for name, one in installed.versions(python).items() if name not in others} == locked()
    return installed


async def test_pipx_installs_the_tested_versions_which_serve(dist: Path, tmp_path: Path):
    def install() -> None:
        ran(*shown("pipx install"), home=tmp_path, cwd=dist)
        require_unasked("".join(file.read_text() for file in tmp_path.glob(".local/state/pipx/log/*")))

    await asyncio.to_thread(install)
    await serve_the_tested_versions(tmp_path, ".local/**/venvs/hansa/bin/python")


async def test_uv_installs_the_tested_versions_which_serve(dist: Path, tmp_path: Path):
    log = await asyncio.to_thread(lambda: ran(*shown("uv tool install"), home=tmp_path, cwd=dist))
    require_unasked(log)
    await serve_the_tested_versions(tmp_path, ".local/share/uv/tools/hansa/bin/python")


async def test_uvx_serves_without_an_installation(dist: Path, tmp_path: Path):
    command = shown("uvx", "--port=0")
    with (tmp_path / "log").open("wb") as log:
        service = await asyncio.create_subprocess_exec(
            *command, env=environment(tmp_path), cwd=dist, stdout=asyncio.subprocess.PIPE, stderr=log
        )
    try:
        assert service.stdout is not None
        async with asyncio.timeout(INSTALL_SECONDS):
            line = (await service.stdout.readline()).decode()
        assert READY_LINE.fullmatch(line), line
        service.send_signal(signal.SIGTERM)
        async with asyncio.timeout(START_SECONDS):
            await service.communicate()
        assert service.returncode == 0, logged(tmp_path)
        require_unasked(logged(tmp_path))
    finally:
        if service.returncode is None:
            service.kill()
            await service.communicate()


def logged(directory: Path) -> str:
    return (directory / "log").read_text()


def lowest(directory: Path, dist: Path, *places: tuple[str, ...]) -> Installation:
    """An environment of these distributions with the lowest versions that they admit."""
    wanted = [Requirement(text) for place in places for text in project_of(*place)["dependencies"]]
    declared = [one for one in wanted if one.name not in OWN]
    wheels = [next(dist.glob(f"{'_'.join(('hansa', *place))}-*.whl")) for place in places]
    python = directory / "lowest/bin/python"
    ran("uv", "venv", "--python", sys.executable, directory / "lowest", home=directory, cwd=dist)
    # The requirements of a wheel count as those of others, and get the highest versions: they are named here as well.
    how = ("--resolution", "lowest-direct", "--python", python)
    ran("uv", "pip", "install", *how, *wheels, *map(str, declared), home=directory, cwd=dist)
    installed = Installation(python.parent, directory)
    versions, bounds = installed.versions(python), dict[str, list[Version]]()
    for one in declared:
        found = [Version(part.version) for part in one.specifier if part.operator in {">=", "=="}]
        bounds.setdefault(one.name, []).extend(found)
    # Two distributions may name one package: the higher of their bounds is the lowest version of both.
    assert {name: Version(versions[name]) for name in bounds} == {
        name: max(found) for name, found in bounds.items()
    }
    return installed


async def test_the_lowest_versions_that_the_distributions_admit_serve(dist: Path, tmp_path: Path):
    installed = await asyncio.to_thread(lowest, tmp_path, dist, *PROJECTS)
    await installed.serves()


async def test_the_lowest_versions_that_the_client_admits_carry_a_conversation(dist: Path, tmp_path: Path):
    client = await asyncio.to_thread(lowest, tmp_path, dist, ("client",), ("verify",))
    tested = Installation(Path(sys.executable).parent, tmp_path)
    service, url, _ = await tested.start(tmp_path / "data")
    try:
        await client.converses(url)
    finally:
        await tested.stop(service, tmp_path / "data")


@pytest.mark.parametrize("platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28"])
def test_each_tested_version_has_a_wheel_for_the_platform(dist: Path, tmp_path: Path, platform: str):
    """The image of a release is built for both, and a build from source would need a compiler in it."""
    for_it = ("--python-platform", platform, "--python-version", "3.11", "--only-binary", ":all:")
    into = ("--target", tmp_path / "nowhere", "--dry-run", "--require-hashes", "--no-deps")
    ran("uv", "pip", "install", *for_it, *into, "-r", RELEASE["LOCKED_FILE"], home=tmp_path, cwd=dist)
