"""The code of the previous schema: this repository as it was before its newest migration was added."""

import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from hansa.foundation.plumbing.storage.migrate import migrations_directory, newest_schema

ROOT = Path(__file__).parents[2]
# All that a registry of that commit reads.
PARTS = ("src", "migrations", "docs", "client", "verify", "CHANGELOG.md")


def former_commit() -> str:
    """Return the commit before the one that added the newest migration; the present one while that is not committed."""
    [newest] = migrations_directory().glob(f"{newest_schema()}_*.py")
    added = _git("log", "-1", "--diff-filter=A", "--format=%H", "--", str(newest.relative_to(ROOT)))
    if not added:
        return _git("rev-parse", "HEAD")
    assert _git("rev-list", "--parents", "-1", added).count(" "), (
        f"the history ends with {added}: this test needs the commit before it (git fetch --unshallow)"
    )
    return _git("rev-parse", f"{added}^")


def check_out(commit: str, directory: Path, parts: Sequence[str] = PARTS, repository: Path = ROOT) -> Path:
    """Write the code of a commit below a directory; returns its folder of packages, for PYTHONPATH."""
    archive = subprocess.run(
        ["git", "archive", commit, *parts], cwd=repository, check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        opened.extractall(directory, filter="data")
    return directory / "src"


def _git(*arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"this test reads the history of the repository: {ended.stderr}"
    return ended.stdout.strip()
