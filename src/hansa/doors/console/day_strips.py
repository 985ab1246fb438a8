"""Days drawn in a row, the oldest first: of the components of this registry, and of the availability of agents."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from markupsafe import Markup

STRIP_WIDTH, STRIP_HEIGHT = 4, 20
PERCENT = 100
MOSTLY_UP = 0.95
# An image has no style sheet of the page: middle tones, which both colour schemes show.
_STYLES = "<style>.up{fill:#2e8b57}.part{fill:#a8d5b8;stroke:#2e8b57}.down{fill:#c0392b}.unknown{fill:#8a8f98;opacity:.35}</style>"


def strip_of(shares: Sequence[float | None], summary: str, *, is_image: bool = False) -> Markup:
    """The days by their shares as SVG, None: not measured; days alike are one bar. `is_image`: a document of its own, with colours."""
    width = STRIP_WIDTH * max(len(shares), 1)
    names = ' xmlns="http://www.w3.org/2000/svg"' if is_image else ""
    styles = _STYLES if is_image else ""
    return Markup(  # noqa: S704
        f'<svg{names} class="days" viewBox="0 0 {width} {STRIP_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(summary)}">{styles}{"".join(_bars(shares))}</svg>'
    )


def percent(share: float) -> str:
    """A share in percent, rounded down to two places."""
    return f"{int(share * PERCENT * PERCENT) / PERCENT:.2f} %"


def _bars(shares: Sequence[float | None]) -> Iterator[str]:
    place = 0
    for kind, days in groupby(map(_kind_of, shares)):
        length = STRIP_WIDTH * len(list(days))
        yield f'<rect class="{kind}" x="{place}" width="{length}" y="0" height="{STRIP_HEIGHT}"/>'
        place += length


def _kind_of(share: float | None) -> str:
    if share is None:
        return "unknown"
    return "up" if share == 1 else "part" if share >= MOSTLY_UP else "down"
