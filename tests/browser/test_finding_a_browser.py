"""The page tests find a browser by themselves, get one where there is none, and else fail with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import chromium

ROOT = Path(__file__).parents[2]
STARTS = "#!/bin/sh\necho Chromium 1.0\n"
DOES_NOT = "#!/bin/sh\necho 'install the snap' >&2; exit 1\n"


def program(directory: Path, name: str, script: str = STARTS) -> str:
    file = directory / name
    file.write_text(script)
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch) -> dict[str, str]:
    """The environment of a machine with no browser and no means to get one; Playwright is not asked for real."""
    monkeypatch.setattr(sys, "executable", program(tmp_path, "python", DOES_NOT))
    return {"PATH": str(tmp_path), "HOME": str(tmp_path)}


def test_a_browser_of_the_path_or_of_a_usual_place_is_taken(machine, tmp_path: Path):
    (tmp_path / "opt").mkdir()
    elsewhere = program(tmp_path / "opt", "chrome")
    assert chromium.find(machine, places=(elsewhere,)) == elsewhere
    on_the_path = program(tmp_path, "chromium")
    assert chromium.find(machine, places=(elsewhere,)) == on_the_path


def test_a_browser_without_windows_is_preferred_wherever_it_is(machine, tmp_path: Path):
    program(tmp_path, "chromium")
    shell = program(tmp_path, "chromium-headless-shell")
    assert chromium.find(machine, places=()) == shell
    (tmp_path / "opt").mkdir()
    elsewhere = program(tmp_path / "opt", "chromium-headless-shell")
    Path(shell).unlink()
    assert chromium.find(machine, places=(elsewhere,)) == elsewhere
    assert chromium.get(machine, places=(elsewhere,), may_install=True) == elsewhere


def test_where_none_without_windows_can_be_had_an_installed_browser_is_taken(machine, tmp_path: Path):
    apt = program(tmp_path, "apt-get", '#!/bin/sh\necho "$@" >> $0.was-called\n')
    installed = program(tmp_path, "chromium")
    assert chromium.get(machine, places=(), may_install=False) == installed
    assert not Path(f"{apt}.was-called").exists()
    assert chromium.get(machine, places=(), may_install=True) == installed
    assert "chromium-headless-shell" in Path(f"{apt}.was-called").read_text()


def test_the_browser_that_is_named_is_taken_or_nothing(machine, tmp_path: Path):
    program(tmp_path, "chromium")
    named = program(tmp_path, "mine")
    assert chromium.find({**machine, "CHROMIUM": named}) == named
    with pytest.raises(chromium.NoBrowser, match="CHROMIUM=/nowhere"):
        chromium.find({**machine, "CHROMIUM": "/nowhere"})


def test_a_program_that_only_bears_the_name_is_passed_over(machine, tmp_path: Path):
    program(tmp_path, "chromium-browser", DOES_NOT)
    assert chromium.find(machine, places=()) is None


def test_who_may_install_packages_gets_that_of_debian(machine, tmp_path: Path):
    made = tmp_path / "chromium-headless-shell"
    script = f'#!/bin/sh\n[ "$2" = update ] || {{ /bin/cp {program(tmp_path, "pattern")} {made}; }}\n'
    program(tmp_path, "apt-get", script)
    assert chromium.get(machine, places=(), may_install=True) == str(made)


def test_who_may_not_install_packages_gets_the_build_of_playwright(machine, tmp_path: Path, monkeypatch):
    program(tmp_path, "apt-get", "#!/bin/sh\n/bin/touch $0.was-called\n")
    build = tmp_path / ".cache/ms-playwright/chromium_headless_shell-1/chrome-headless-shell-linux64"
    made = build / "chrome-headless-shell"
    script = f"#!/bin/sh\n/bin/mkdir -p {build}; /bin/cp {program(tmp_path, 'pattern')} {made}\n"
    monkeypatch.setattr(sys, "executable", program(tmp_path, "python", script))
    assert chromium.get(machine, places=(), may_install=False) == str(made)
    assert not (tmp_path / "apt-get.was-called").exists()


def test_where_none_can_be_had_it_is_said_what_was_tried(machine):
    with pytest.raises(chromium.NoBrowser, match="Tried without success: Playwright's own build"):
        chromium.get(machine, places=(), may_install=True)


def test_without_a_browser_a_page_test_fails_and_says_so():
    name = "tests/browser/test_pages_in_a_browser.py::test_a_command_is_copied_whole"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", name],
        env={**os.environ, "CHROMIUM": "/nowhere"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout
    assert "CHROMIUM=/nowhere is no browser that starts." in run.stdout
