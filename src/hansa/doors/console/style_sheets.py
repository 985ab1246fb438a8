"""The style sheets of the pages: each stands in the page itself, so that the page is painted as soon as it has arrived.

The content policy names each sheet by its digest; a browser applies no other style within a page. Which sheet a page has, its
template says. The beginning of a page, up to the end of its styles, is the same for all pages with that sheet, and is compressed once.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from markupsafe import Markup

from hansa.foundation.plumbing.web.content_encoding import LEVEL, compressed_after

STATIC = Path(__file__).parent / "static"
PLOTS = "vendor/uplot/uPlot.min"
SHEETS = {
    "plain": ("hansa",),
    "records": ("hansa", "records"),
    "plots": ("hansa", PLOTS, "records"),
    "catalogue": ("hansa", "catalogue"),
    "reference": ("hansa", "reference"),
    "reference-run": ("hansa", "console", "reference"),
    "account": ("hansa", "console"),
    "account-records": ("hansa", "console", "records", "account_records"),
    "account-plots": ("hansa", "console", PLOTS, "records", "account_records"),
}

END = b"</style>"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINES_BETWEEN = re.compile(r"(?<=[{};,])\s*\n\s*")
_LINE_WITHIN = re.compile(r"\s*\n\s*")


@cache
def style_of(name: str) -> Markup:
    """The sheet with this name as an element of a page. Raises: KeyError."""
    return Markup(f"<style>{_sheet(name)}</style>")  # noqa: S704


def style_sources() -> str:
    """The sheets as sources of a content policy: the SHA-256 of each."""
    digests = (b64encode(sha256(_sheet(name).encode()).digest()).decode() for name in SHEETS)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def packed_page(text: bytes, level: int = LEVEL) -> tuple[bytes, bytes]:
    """A page as gzip in two parts: its beginning, which pages with the same sheet share, and the rest."""
    beginning_ends = text.index(END) + len(END)
    return compressed_after(text[:beginning_ends], text[beginning_ends:], level)


@cache
def _sheet(name: str) -> str:
    whole = "\n".join((STATIC / f"{part}.css").read_text(encoding="utf-8") for part in SHEETS[name])
    lines = _LINES_BETWEEN.sub("", _COMMENT.sub("", whole).strip())
    return _LINE_WITHIN.sub(" ", lines)
