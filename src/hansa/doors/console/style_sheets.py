"""The style sheets of the pages: each page loads one file, made of the parts it needs, so that it is painted after two round trips.

The address of a sheet ends in a digest of its content. A browser keeps it for a year and asks for it again only when it changed.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from hansa.foundation.plumbing.content_encoding import compressed

STATIC = Path(__file__).parent / "static"
FOLDER = "sheets/"
PLOTS = "vendor/uplot/uPlot.min"
SHEETS = {
    "plain": ("hansa",),
    "records": ("hansa", PLOTS, "records"),
    "catalogue": ("hansa", "catalogue"),
    "reference": ("hansa", "reference"),
    "interactive": ("hansa", "vendor/swagger-ui/swagger-ui", "docs"),
    "account": ("hansa", "console"),
    "account-records": ("hansa", "console", PLOTS, "records", "account_records"),
}
DIGEST_CHARACTERS = 16
KEPT_FOR_A_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class StyleSheet:
    """The content of a sheet, as it is and compressed, and a digest of it."""

    content: bytes
    packed: bytes
    digest: str


def sheet_address(name: str) -> str:
    """The address of the sheet with this name. Raises: KeyError."""
    return f"/static/{FOLDER}{name}.css?v={style_sheet(name).digest}"


@cache
def style_sheet(name: str) -> StyleSheet:
    """The sheet with this name. Raises: KeyError."""
    content = b"\n".join((STATIC / f"{part}.css").read_bytes() for part in SHEETS[name])
    return StyleSheet(content, compressed(content), sha256(content).hexdigest()[:DIGEST_CHARACTERS])


def sheet_at(path: str) -> StyleSheet | None:
    """The sheet at a path below `/static/`, or None where the path is that of a file."""
    name = path.removeprefix(FOLDER).removesuffix(".css")
    return style_sheet(name) if path == f"{FOLDER}{name}.css" and name in SHEETS else None
