"""`make setup` on machines that lack something: it names the missing thing, leaves nothing half-made, and heals."""

import ast
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.mounted import mounted
from tests.properties.scale import TIER, by_tier

ROOT = Path(__file__).parents[2]
PROJECT = """
[project]
name = "NAME"
version = "1"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# Builds a wheel with nothing in it but its name.
BACKEND = """
import zipfile

def build_editable(directory, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{directory}/NAME-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("NAME-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: NAME\\nVersion: 1\\n")
        wheel.writestr("NAME-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("NAME-1.dist-info/RECORD", "")
    return "NAME-1-py3-none-any.whl"
"""
WANTED = "nothing-of-that-name==1 --hash=sha256:" + "0" * 64 + "\n"
WITHOUT_AN_INDEX = [{"PIP_INDEX_URL": "http://127.0.0.1:1/"}, {"PIP_NO_INDEX": "1"}]
INTERRUPTIONS = [signal.SIGINT, signal.SIGKILL, signal.SIGTERM]
WITHOUT_ENSUREPIP = "raise ImportError('no ensurepip here')\n"
# Instead of making an environment, which takes three seconds of CPU: `python -m venv DIRECTORY` copies one.
COPYING_VENV = """
import shutil, sys

shutil.copytree({made!r}, sys.argv[1], symlinks=True, dirs_exist_ok=True)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with our Makefile and set-up, of a project that needs no packages."""
    return make_checkout(tmp_path / "checkout")


@pytest.fixture(scope="module")
def with_an_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a set-up whose environment is a copy of one, for tests of later steps. The deeper tiers make it."""
    if TIER:
        return {}
    folder = tmp_path_factory.mktemp("environment")
    made, module = folder / "made", folder / "path" / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    pip = distribution("pip")
    [packages] = made.glob("lib/python*/site-packages")
    for name in {file.parts[0] for file in pip.files or () if file.parts[0].startswith("pip")}:
        shutil.copytree(str(pip.locate_file(name)), packages / name)
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    (module / "__main__.py").write_text(COPYING_VENV.format(made=str(made)))
    return {"PYTHONPATH": str(module.parent)}


def make_checkout(folder: Path) -> Path:
    (folder / "requirements").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copy(ROOT / "requirements" / "set_up.py", folder / "requirements")
    for name in ("service", "build", "test"):
        (folder / "requirements" / f"{name}.txt").touch()
    for place, name in {".": "tiny", "client": "tinyclient", "verify": "tinyverifier"}.items():
        (folder / place).mkdir(exist_ok=True)
        (folder / place / "pyproject.toml").write_text(PROJECT.replace("NAME", name))
        (folder / place / "backend.py").write_text(BACKEND.replace("NAME", name))
    return folder


def start(checkout: Path, *targets: str, **variables: str) -> "subprocess.Popen[str]":
    surroundings = {
        "PATH": os.environ["PATH"],
        "HOME": str(checkout.parent),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "0",
    }
    return subprocess.Popen(
        ["make", "--no-print-directory", *(targets or ("setup",)), f"PYTHON={sys.executable}"],
        cwd=checkout,
        env={**surroundings, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def set_up(checkout: Path, *targets: str, **variables: str) -> tuple[int, list[str]]:
    """Return the exit code, and the output without make's own last line."""
    process = start(checkout, *targets, **variables)
    _, complaint = process.communicate()
    return process.returncode, [line for line in complaint.splitlines() if not line.startswith("make")]


def is_made(checkout: Path) -> bool:
    asked = "import importlib.metadata, pip; importlib.metadata.version('tiny')"
    done = subprocess.run([checkout / ".venv/bin/python", "-c", asked], capture_output=True, check=False)
    return done.returncode == 0 and (checkout / ".venv/.service").exists()


def is_as_before(checkout: Path, before: set[Path]) -> bool:
    """Return whether nothing half-made is left: a set-up finds the same as the first one, and heals. The deeper tiers make it."""
    if set(checkout.rglob("*")) != before:
        return False
    return not TIER or (set_up(checkout)[0] == 0 and is_made(checkout))


def leave_an_environment_without_pip(checkout: Path) -> None:
    """Leave the environment of an older set-up, on a machine that lacked the package for it."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (checkout / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")


@pytest.mark.parametrize(
    "found", by_tier(["without pip"], ["nothing", "without pip"], ["nothing", "without pip"])
)
def test_an_environment_is_made_and_then_left_as_it_is_also_when_the_packages_for_tests_cannot_be_downloaded(
    checkout: Path, found: str
):
    if found == "without pip":
        leave_an_environment_without_pip(checkout)
    assert set_up(checkout) == (0, [])
    assert is_made(checkout)
    made = (checkout / ".venv/.service").stat().st_mtime_ns
    (checkout / "requirements" / "test.txt").write_text(WANTED)
    code, [line] = set_up(checkout, ".venv/.test", PIP_INDEX_URL="http://127.0.0.1:1/")
    assert code != 0
    assert "Check the network" in line
    assert is_made(checkout)
    assert set_up(checkout) == (0, [])
    assert (checkout / ".venv/.service").stat().st_mtime_ns == made


def test_a_missing_venv_package_is_named_and_its_installation_heals(checkout: Path, tmp_path: Path):
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "ensurepip.py").write_text(WITHOUT_ENSUREPIP)
    before = set(checkout.rglob("*"))
    code, [line] = set_up(checkout, PYTHONPATH=str(lacking))
    assert code != 0
    assert "apt install python{}.{}-venv".format(*sys.version_info) in line
    assert is_as_before(checkout, before)


def test_a_python_that_is_too_old_is_reported(checkout: Path):
    script = checkout / "requirements" / "set_up.py"
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0);"
        f"sys.argv = ['set_up.py', 'service']; runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    ended = subprocess.run([sys.executable, "-c", pretend], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "Python 3.11 or later is required" in line
    assert "is 3.9" in line
    assert not (checkout / ".venv").exists()


def test_the_set_up_is_understood_by_old_pythons():
    ast.parse((ROOT / "requirements" / "set_up.py").read_text(), feature_version=(3, 4))


def test_a_python_that_is_not_there_is_named(checkout: Path):
    ended = subprocess.run(
        ["make", "--no-print-directory", "setup", "PYTHON=python3.x"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines() == ["Hansa needs Python 3.11 or later; python3.x is not found."]
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("variables", by_tier(WITHOUT_AN_INDEX[:1], WITHOUT_AN_INDEX, WITHOUT_AN_INDEX))
def test_packages_that_cannot_be_downloaded_leave_nothing_half_made(
    checkout: Path, with_an_environment: dict[str, str], variables: dict[str, str]
):
    before = set(checkout.rglob("*"))
    (checkout / "requirements" / "service.txt").write_text(WANTED)
    code, [line] = set_up(checkout, **variables, **with_an_environment)
    assert code != 0
    assert "Check the network" in line
    (checkout / "requirements" / "service.txt").write_text("")
    assert is_as_before(checkout, before)


def test_a_full_disk_is_named_and_nothing_half_made_is_left(tmp_path: Path):
    with mounted(tmp_path / "small", "size=6m") as is_small:
        checkout = make_checkout(tmp_path / "small")
        code, lines = set_up(checkout)
        if not is_small:
            # This account may not limit the space of a directory; at least it works there.
            assert (code, lines) == (0, [])
            return
        assert code != 0
        [line] = lines
        assert "the disk is full" in line
        assert not (checkout / ".venv").exists()


@pytest.fixture
def silent_index() -> Iterator[tuple[str, socket.socket]]:
    """A package index that takes a connection and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", listener


@pytest.mark.parametrize("number", by_tier(INTERRUPTIONS[:1], INTERRUPTIONS, INTERRUPTIONS))
def test_an_interrupted_installation_heals(
    checkout: Path, with_an_environment: dict[str, str], silent_index, number: signal.Signals
):
    index, listener = silent_index
    before = set(checkout.rglob("*"))
    (checkout / "requirements" / "service.txt").write_text(WANTED)
    process = start(checkout, PIP_INDEX_URL=index, **with_an_environment)
    connection, _ = listener.accept()
    # As from a terminal: the signal goes to all of them.
    os.killpg(process.pid, number)
    assert process.wait() != 0
    connection.close()
    assert not (checkout / ".venv/.service").exists()
    (checkout / "requirements" / "service.txt").write_text("")
    if number == signal.SIGINT:
        assert is_as_before(checkout, before)
        return
    assert set_up(checkout)[0] == 0
    assert is_made(checkout)
