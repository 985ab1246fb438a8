"""The files of a release, made once for all tests of this run."""

import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.made_once import made_once

ROOT = Path(__file__).parents[2]
PROJECTS = ((), ("client",), ("verify",))
RELEASE: dict[str, Any] = runpy.run_path(str(ROOT / "deploy" / "release.py"))
# All that a release is made of.
SOURCES = (
    ".gitignore",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "client",
    "verify",
    "requirements",
    "deploy",
)
SOURCES += ("migrations", "docs", "src")


def project_of(*place: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(ROOT.joinpath(*place, "pyproject.toml").read_text())["project"]
    return project


def make_release(checkout: Path, directory: Path, umask: int = 0o022) -> Path:
    """Run the program of that checkout with the build backend of this environment."""
    command = [sys.executable, checkout / "deploy" / "release.py", directory]
    ended = subprocess.run(command, capture_output=True, text=True, umask=umask, check=False)
    assert ended.returncode == 0, ended.stderr
    return directory


def released(factory: pytest.TempPathFactory) -> Path:
    """Directory of the release of this checkout."""
    with made_once(factory, "release") as (directory, is_missing):
        if is_missing:
            make_release(ROOT, directory / "dist")
        return directory / "dist"


def copied_checkout(directory: Path) -> Path:
    """A copy of what a release is made of, as a clone elsewhere has it: links as links, with other times."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(
                ROOT / name, directory / name, symlinks=True, ignore=ignored, copy_function=shutil.copyfile
            )
        else:
            directory.mkdir(exist_ok=True, parents=True)
            shutil.copyfile(ROOT / name, directory / name)
    return directory
