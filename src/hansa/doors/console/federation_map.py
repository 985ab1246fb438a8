"""The drawing of the federation: registries in rows by their tier, connections by how fresh they are. SVG from the server."""

from collections.abc import Sequence
from html import escape
from typing import Literal

import msgspec
from markupsafe import Markup

from hansa.foundation.values.visible_text import apart
from hansa.rooms import federation

WIDTH, ROW_HEIGHT, TOP, RADIUS = 720, 96, 48, 9
DRAWN_AT_MOST = 60
IN_A_ROW = 6
# A name stands below its circle, that of this registry above it: most lines begin there and lead down.
NAME_BELOW, NAME_ABOVE = 26, 18
LABEL_CHARACTERS = 18
LATE_INTERVALS, STALE_SECONDS = 2, 3600
TIERS = ("sovereign-mainframe", "regional-mainframe", "standalone", "cloud-operator", "sandbox")

# By the distance: this registry, a peer, and one that is known by a peer.
KINDS = ("own", "peer", "far")
FAR = len(KINDS) - 1

Freshness = Literal["fresh", "late", "stale", "closed"]


def freshness(status: str, lag_seconds: int | None, interval: int) -> Freshness:
    """How fresh a connection is: late after two intervals, stale after that and an hour; closed while nothing is exchanged."""
    if status != "active":
        return "closed"
    late_after = LATE_INTERVALS * interval
    if lag_seconds is None or lag_seconds > late_after + STALE_SECONDS:
        return "stale"
    return "late" if lag_seconds > late_after else "fresh"


class Place(msgspec.Struct, frozen=True):
    """Position of a registry on the drawing."""

    name: str
    kind: str
    x: float
    y: float


def drawing(topology: federation.TopologyOut, interval: int) -> Markup:
    """The drawing, complete in itself; of a large federation its first registries. The table beside it has them all."""
    places = _placed(topology.nodes[:DRAWN_AT_MOST])
    height = max(place.y for place in places.values()) + ROW_HEIGHT / 2
    edges = "".join(
        f'<line class="edge {freshness(edge.status, edge.lag_seconds, interval)}"'
        f' x1="{places[edge.start].x:.0f}" y1="{places[edge.start].y:.0f}"'
        f' x2="{places[edge.to].x:.0f}" y2="{places[edge.to].y:.0f}"/>'
        for edge in topology.edges
        if edge.start in places and edge.to in places
    )
    nodes = "".join(_node(place) for place in places.values())
    peers = sum(node.hop_distance == 1 for node in topology.nodes)
    farther = len(topology.nodes) - 1 - peers
    known = f" and {farther} registries known by a peer" if farther else ""
    label = f"{topology.self} with {peers} peers{known}; the tables list each of them."
    return Markup(  # noqa: S704
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(apart(label))}">{edges}{nodes}</svg>'
    )


def _placed(nodes: Sequence[federation.NodeOut]) -> dict[str, Place]:
    rows: list[Sequence[federation.NodeOut]] = []
    for tier in (*TIERS, None):
        found = [node for node in nodes if (node.tier if node.tier in TIERS else None) == tier]
        rows += [found[start : start + IN_A_ROW] for start in range(0, len(found), IN_A_ROW)]
    return {
        node.name: Place(
            node.name,
            KINDS[min(node.hop_distance, FAR)],
            WIDTH * (place + 1) / (len(row) + 1),
            TOP + number * ROW_HEIGHT,
        )
        for number, row in enumerate(rows)
        for place, node in enumerate(row)
    }


def _node(place: Place) -> str:
    name = place.name
    label = name if len(name) <= LABEL_CHARACTERS else f"{name[: LABEL_CHARACTERS - 1]}…"
    return (
        f'<circle class="node {place.kind}" cx="{place.x:.0f}" cy="{place.y:.0f}" r="{RADIUS}"/>'
        f'<text x="{place.x:.0f}" y="{place.y + (-NAME_ABOVE if place.kind == KINDS[0] else NAME_BELOW):.0f}" text-anchor="middle">{escape(apart(label))}</text>'
    )
