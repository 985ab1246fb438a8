"""The files of a release: two builds have the same bytes, each wheel has one package, and an installation without a checkout serves."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import httpx2
import pytest
from packaging.requirements import Requirement

from tests.client.clean_environment import add_wheels, make_of
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import READY_LINE, START_SECONDS
from tests.packages.release_files import PROJECTS, copied_checkout, make_release, project_of, released

VERSION = project_of()["version"]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory)


def test_a_build_elsewhere_at_another_time_with_another_umask_has_the_same_bytes(dist: Path, tmp_path: Path):
    other = make_release(copied_checkout(tmp_path / "checkout"), tmp_path / "dist", umask=0o077)
    names = sorted(file.name for file in dist.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    assert len(names) == 2 * len(PROJECTS) + 2
    assert [name for name in names if (dist / name).read_bytes() != (other / name).read_bytes()] == []
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=False)
    assert checked.returncode == 0


def test_each_wheel_has_one_package_and_no_compiled_module(dist: Path):
    found = {file.name.partition("-")[0]: zipfile.ZipFile(file).namelist() for file in dist.glob("*.whl")}
    assert {name: {one.partition("/")[0] for one in content} for name, content in found.items()} == {
        name: {name, f"{name}-{VERSION}.dist-info"} for name in ("hansa", "hansa_client", "hansa_verify")
    }
    assert [one for content in found.values() for one in content if "__pycache__" in one] == []


def test_a_source_distribution_has_what_its_wheel_is_made_of(dist: Path, tmp_path: Path):
    for archive in sorted(dist.glob("*.tar.gz")):
        with tarfile.open(archive) as opened:
            opened.extractall(tmp_path, filter="data")
        # A link would lead out of the archive.
        folder = tmp_path / archive.name.removesuffix(".tar.gz")
        assert [path for path in folder.rglob("*") if path.is_symlink()] == []
        build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "wheels")]
        subprocess.run([sys.executable, *build], cwd=folder, check=True, capture_output=True)
    for wheel in dist.glob("*.whl"):
        assert (tmp_path / "wheels" / wheel.name).read_bytes() == wheel.read_bytes(), wheel.name


async def test_an_installation_without_a_checkout_serves_and_doctor_finds_nothing_wrong(
    dist: Path, tmp_path: Path
):
    wanted = [Requirement(one) for place in PROJECTS for one in project_of(*place)["dependencies"]]
    programs = await asyncio.to_thread(make_of, tmp_path / "environment", wanted)
    await asyncio.to_thread(lambda: add_wheels(programs, *dist.glob("*.whl")))
    await serves(programs, tmp_path / "data")


async def serves(programs: Path, data_dir: Path) -> None:
    """An installation whose programs are here starts a registry in an empty directory, and `doctor` finds no problem."""
    environment = {"PATH": os.defpath, "HOME": str(data_dir.parent), "HANSA_DATA_DIR": str(data_dir)}
    pipe = asyncio.subprocess.PIPE
    service = await asyncio.create_subprocess_exec(
        programs / "hansa",
        "serve",
        "--port=0",
        env=environment,
        stdout=pipe,
        stderr=pipe,
        cwd=data_dir.parent,
    )
    assert service.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            ready = READY_LINE.fullmatch((await service.stdout.readline()).decode())
        assert ready
        async with httpx2.AsyncClient(base_url=ready[1], trust_env=False, timeout=60) as http:
            for path in ("/", "/docs", "/guides/tutorial", "/client/", "/readyz"):
                assert (await http.get(path)).status_code == 200, path
        for command in (["doctor", "--json"], ["status", "--json"]):
            judged = await asyncio.create_subprocess_exec(
                programs / "hansa", *command, env=environment, stdout=pipe
            )
            printed, _ = await judged.communicate()
            assert judged.returncode == 0, printed.decode()
            assert '"problem"' not in json.dumps(json.loads(printed))
        version = await asyncio.create_subprocess_exec(
            programs / "hansa-client", "--help", env=environment, stdout=pipe
        )
        printed, _ = await version.communicate()
        assert version.returncode == 0, printed
        assert re.search(rb"find", printed)
        service.send_signal(signal.SIGTERM)
        _, log = await service.communicate()
        assert service.returncode == 0, log.decode()
    finally:
        if service.returncode is None:
            service.kill()
            await service.wait()
        await end_postgres(data_dir)
