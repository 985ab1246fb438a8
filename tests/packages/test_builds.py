"""The files of a release: two builds have the same bytes, each wheel has one package, and an installation without a checkout serves."""

import asyncio
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.client.clean_environment import add_wheels, make_of
from tests.packages.installation import Installation
from tests.packages.release_files import PROJECTS, ROOT, copied_checkout, make_release, project_of, released

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


def test_the_wheel_has_each_template_of_the_agent_builder(dist: Path):
    directory = ROOT / "src" / "hansa" / "rooms" / "operations" / "building" / "templates"
    templates = {
        file.relative_to(ROOT / "src").as_posix(): file.read_bytes() for file in directory.rglob("*.txt")
    }
    assert templates
    with zipfile.ZipFile(next(dist.glob("hansa-*.whl"))) as opened:
        packed = {name: opened.read(name) for name in opened.namelist() if "/building/templates/" in name}
    assert packed == templates


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


async def test_an_installation_without_a_checkout_serves_within_ten_seconds_and_doctor_finds_nothing_wrong(
    dist: Path, tmp_path: Path
):
    wanted = [Requirement(one) for place in PROJECTS for one in project_of(*place)["dependencies"]]
    programs = await asyncio.to_thread(make_of, tmp_path / "environment", wanted)
    await asyncio.to_thread(lambda: add_wheels(programs, *dist.glob("*.whl")))
    installed = Installation(programs, tmp_path)
    await installed.serves()
    assert "find" in await installed.output(tmp_path, "hansa-client", "--help")
