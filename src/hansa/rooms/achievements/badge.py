"""Badge of an agent as SVG: its name, the mark that it earned and its flares. Complete in itself: no script, style or reference.

The lower half of the ring is dashed where the record includes work for other registries.
"""

import math
from xml.sax.saxutils import escape

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.visible_text import seen
from hansa.rooms import agents, catalogue

from . import store

WIDTH, HEIGHT = 260, 72
CENTRE_X, CENTRE_Y, RADIUS = 38, 36, 20
NAME_MAX = 19
TEXT_X, TEXT_WIDTH = 78, 144
INK, PAPER, FAINT, ENDED = "#1b2733", "#ffffff", "#5a6876", "#b3261e"
METALS = ("#8a949e", "#8c6a4a", "#a8743f", "#7d8b99", "#5f7f9c", "#b58a1b", "#9a6fb0", "#0f7c6c")
"""Color of each grade; the first is that of an agent without a mark."""


class Badge(msgspec.Struct, frozen=True):
    """Content of a badge. A status other than `active` stands in place of the mark."""

    name: str
    status: str
    shown: catalogue.FlareShown


async def badge_of(tx: Tx, did: str) -> Badge:
    """The badge of an agent of this registry; without its mark while the owner hides achievements. Raises: AgentUnknown."""
    found = await store.read(tx, did)
    if found is None:
        raise agents.AgentUnknown
    card = await catalogue.card_of_agent(tx, did)
    shown = catalogue.shown_flare(card)
    if not found.is_shown:
        shown = msgspec.structs.replace(shown, mark=None, grade=0, is_foreign=False)
    return Badge(card.name, card.status, shown)


def draw(badge: Badge) -> str:
    """The badge as SVG. Text of others is cut, stripped of what is not printable, and escaped."""
    name = _fitted(badge.name)
    said = badge.status.capitalize() if badge.status != "active" else badge.shown.mark or "No mark yet"
    title = f"{name}: {said}"
    flares = badge.shown.flares
    color = METALS[badge.shown.grade] if badge.status == "active" else ENDED
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' role="img" aria-label="{escape(title, {chr(34): "&quot;"})}"><title>{escape(title)}</title>'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" fill="{PAPER}" stroke="{FAINT}"/>'
        f"{_ENCIRCLEMENTS.get(flares.encirclement or '', '')}{_OVERLAYS.get(flares.overlay or '', '')}"
        f"{_ring(color, is_foreign=badge.shown.is_foreign)}"
        f'<text x="{CENTRE_X}" y="{CENTRE_Y + 6}" font-size="17" font-weight="bold" text-anchor="middle" fill="{color}"'
        f' font-family="sans-serif">{badge.shown.grade or "–"}</text>'
        f'<svg x="{TEXT_X}" y="0" width="{TEXT_WIDTH}" height="{HEIGHT}" font-family="sans-serif">'
        f'<text x="0" y="32" font-size="14" font-weight="bold" fill="{INK}">{escape(name)}</text>'
        f'<text x="0" y="52" font-size="12" fill="{color}">{escape(said)}</text></svg>'
        f"{_CORNERS.get(flares.corner or '', '')}</svg>"
    )


def _fitted(name: str) -> str:
    """Return the visible characters of a name on one line, as many as the badge has room for."""
    visible = " ".join(seen(name).split()) or "Agent"
    return visible if len(visible) <= NAME_MAX else visible[: NAME_MAX - 1].rstrip() + "…"


def _ring(color: str, *, is_foreign: bool) -> str:
    left, right = CENTRE_X - RADIUS, CENTRE_X + RADIUS
    arc = f"A {RADIUS} {RADIUS} 0 0"
    dashes = ' stroke-dasharray="4 3"' if is_foreign else ""
    return (
        f'<g fill="none" stroke="{color}" stroke-width="3"><path d="M {left} {CENTRE_Y} {arc} 1 {right} {CENTRE_Y}"/>'
        f'<path d="M {left} {CENTRE_Y} {arc} 0 {right} {CENTRE_Y}"{dashes}/></g>'
    )


def _around(count: int, radius: float, offset: float = 0) -> list[tuple[float, float]]:
    angles = (2 * math.pi * number / count + offset for number in range(count))
    return [
        (round(CENTRE_X + radius * math.sin(one), 2), round(CENTRE_Y - radius * math.cos(one), 2))
        for one in angles
    ]


def _circle(radius: float, attributes: str) -> str:
    return f'<circle cx="{CENTRE_X}" cy="{CENTRE_Y}" r="{radius:g}" fill="none" {attributes}/>'


def _waves() -> str:
    crests, valleys = _around(12, 31), _around(12, 23.5, math.pi / 12)
    curve = "".join(
        f"Q {x:g} {y:g} {to_x:g} {to_y:g}"
        for (x, y), (to_x, to_y) in zip([*crests[1:], crests[0]], valleys[1:] + valleys[:1], strict=True)
    )
    return f'<path d="M {valleys[0][0]:g} {valleys[0][1]:g}{curve}" fill="none" stroke="#1b6ca8" stroke-width="1.5"/>'


def _rays() -> str:
    lines = "".join(
        f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"/>'
        for (x, y), (to_x, to_y) in zip(_around(16, 29), _around(16, 33), strict=True)
    )
    return f'<g stroke="#c98a00" stroke-width="1.5">{lines}</g>'


def _stars() -> str:
    points = "".join(
        f'<path d="M {x:g} {y - 3:g} l 1 2 2 1 -2 1 -1 2 -1 -2 -2 -1 2 -1 z"/>' for x, y in _around(8, 30)
    )
    return f'<g fill="#c98a00">{points}</g>'


_ENCIRCLEMENTS = {
    "ring": _circle(25, 'stroke="#c98a00" stroke-width="2"'),
    "rope": _circle(25.5, 'stroke="#8c6a4a" stroke-width="4" stroke-dasharray="3 1.5"'),
    "waves": _waves(),
}
_OVERLAYS = {"rays": _rays(), "stars": _stars()}
_CORNERS = {
    "anchor": '<path d="M 240 12 v 16 M 235 16 h 10 M 231 22 q 1 7 9 7 q 8 0 9 -7" fill="none" stroke="#1b6ca8" stroke-width="2"/>',
    "compass": '<g fill="none" stroke="#1b6ca8" stroke-width="1.5"><circle cx="240" cy="20" r="9"/>'
    '<path d="M 240 13 l 2.5 7 -2.5 7 -2.5 -7 z" fill="#1b6ca8"/></g>',
    "laurel": '<path d="M 233 12 q -5 9 5 17 M 247 12 q 5 9 -5 17 M 231 17 l -4 1 M 232 22 l -4 3 M 249 17 l 4 1 M 248 22 l 4 3"'
    ' fill="none" stroke="#2e7d32" stroke-width="2"/>',
}
