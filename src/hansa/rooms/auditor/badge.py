"""The supply as a badge: one word that anyone may show on a page of theirs."""

from html import escape

import msgspec

from hansa.foundation.values.money import format_amount

from . import rules
from .watch import SupplyWatch

LABEL = "supply"
HEIGHT = 20
PADDING = 6
# Wide enough for any of the usual sans-serif fonts; the text is fitted to it.
CHARACTER_WIDTH = 7


class SupplyBadge(msgspec.Struct, frozen=True):
    """Content of the badge; `color` is `brightgreen` or `red`."""

    label: str
    message: str
    color: str
    status: str
    delta: str

    @classmethod
    def of(cls, watch: SupplyWatch) -> "SupplyBadge":
        """The badge of a reading."""
        delta = format_amount(watch.supply.delta)
        if watch.status == rules.SOUND:
            return cls(LABEL, "in balance", "brightgreen", watch.status, delta)
        return cls(LABEL, f"breach {delta}" if watch.supply.delta else "breach", "red", watch.status, delta)


def draw(badge: SupplyBadge) -> str:
    """The badge as SVG, complete in itself."""
    left, right = _width(badge.label), _width(badge.message)
    title = escape(f"{badge.label}: {badge.message}")
    fill = "#2e7d32" if badge.status == rules.SOUND else "#c62828"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="{HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{HEIGHT}" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{fill}"/></g>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_text(badge.label, 0, left)}{_text(badge.message, left, right)}</g></svg>"
    )


def _width(text: str) -> int:
    return len(text) * CHARACTER_WIDTH + 2 * PADDING


def _text(text: str, start: int, width: int) -> str:
    fitted = width - 2 * PADDING
    return f'<text x="{start + width / 2:g}" y="14" textLength="{fitted}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
