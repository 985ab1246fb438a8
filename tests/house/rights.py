"""The table of rights: which credential gets which answer at each operation. Kept by hand, apart from the code."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = tomllib.loads(Path(__file__).with_name("rights.toml").read_text())
KINDS: dict[str, str] = TABLE["kinds"]


@dataclass(frozen=True)
class Rights:
    """Expected answer of one operation, by kind of credential: an exact status, or `2xx`."""

    operation: str
    expected: dict[str, str]


def read_rights() -> list[Rights]:
    """Every row of the table."""
    return [
        Rights(operation, {kind: str(status) for kind, status in group["expected"].items()})
        for group in TABLE["group"]
        for operation in group["operations"]
    ]
