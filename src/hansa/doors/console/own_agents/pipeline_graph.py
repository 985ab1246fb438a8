"""Drawing of a pipeline: steps as boxes in columns by their depth, lines from each step to those that need it."""

from collections.abc import Mapping, Sequence

import msgspec
from markupsafe import Markup, escape

from hansa.foundation.values.visible_text import apart

BOX_WIDTH, BOX_HEIGHT = 150, 52
GAP_X, GAP_Y, EDGE = 50, 18, 6
NAME_MAX, LINE_MAX = 20, 22


class Node(msgspec.Struct, frozen=True):
    """A step to draw: its id, the steps that it needs, a line below its id, and its status where a run is drawn."""

    id: str
    needs: Sequence[str]
    line: str
    status: str = ""


def drawing_of(nodes: Sequence[Node], label: str) -> Markup:
    """The drawing; readers of screens and phones have the list beside it."""
    depths = _depths(nodes)
    columns: dict[int, list[Node]] = {}
    for node in nodes:
        columns.setdefault(depths[node.id], []).append(node)
    places = {
        node.id: (EDGE + depth * (BOX_WIDTH + GAP_X), EDGE + row * (BOX_HEIGHT + GAP_Y))
        for depth, column in columns.items()
        for row, node in enumerate(column)
    }
    width = 2 * EDGE + len(columns) * (BOX_WIDTH + GAP_X) - GAP_X
    rows = max(len(column) for column in columns.values())
    height = 2 * EDGE + rows * (BOX_HEIGHT + GAP_Y) - GAP_Y
    lines = Markup("").join(
        _line(places[need], places[node.id]) for node in nodes for need in node.needs if need in places
    )
    boxes = Markup("").join(_box(node, *places[node.id]) for node in nodes)
    return Markup(
        '<svg class="pipeline" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">{3}{4}</svg>'
    ).format(width, height, apart(label), lines, boxes)


def _depths(nodes: Sequence[Node]) -> Mapping[str, int]:
    """The length of the longest path to each step; the steps have no cycle."""
    depths: dict[str, int] = {}
    while len(depths) < len(nodes):
        for node in nodes:
            if node.id not in depths and all(need in depths for need in node.needs):
                depths[node.id] = max((depths[need] + 1 for need in node.needs), default=0)
    return depths


def _line(start: tuple[int, int], end: tuple[int, int]) -> Markup:
    x1, y1 = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT // 2
    x2, y2 = end[0], end[1] + BOX_HEIGHT // 2
    middle = (x1 + x2) // 2
    return Markup('<path d="M{} {}C{} {} {} {} {} {}"/>').format(x1, y1, middle, y1, middle, y2, x2, y2)


def _box(node: Node, x: int, y: int) -> Markup:
    return Markup(
        '<g class="{}"><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<text x="{}" y="{}" class="step">{}</text><text x="{}" y="{}">{}</text></g>'
    ).format(
        escape(node.status or "planned"),
        x,
        y,
        BOX_WIDTH,
        BOX_HEIGHT,
        x + 10,
        y + 21,
        _short(node.id, NAME_MAX),
        x + 10,
        y + 39,
        _short(node.line, LINE_MAX),
    )


def _short(text: str, most: int) -> str:
    shown = apart(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
