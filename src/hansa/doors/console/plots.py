"""Plots drawn by the server: SVG without styles of its own, so that the policy of the pages holds.

Each plot has a table of its values, for readers without images; `static/plots.js` reads the table and draws a plot with zoom.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

import msgspec
from markupsafe import Markup

from hansa.foundation.values.money import UNIT

WIDTH, HEIGHT = 600, 200
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 30, 32
LABEL_ABOVE, LABEL_BELOW = 20, 8
BAR_SHARE, BAR_WIDTH_MAX = 0.8, 40


class Plot(msgspec.Struct, frozen=True):
    """A curve over time, or bars; each point is a label of the time and a value. Never empty.

    `shown` is the text of a value, which counts `per_unit` as one. A curve goes in steps: each value holds until the next. It is placed by `positions`, seconds since 1970; bars stand side by side, and
    their labels are days, or hours such as `2026-11-26 14:00` (UTC).
    """

    title: str
    points: Sequence[tuple[str, int]]
    shown: Sequence[str]
    positions: Sequence[float] | None = None
    per_unit: int = UNIT

    @property
    def summary(self) -> str:
        """Description of the plot in words."""
        (first, _), (last, _) = self.points[0], self.points[-1]
        highest = max(range(len(self.points)), key=lambda place: self.points[place][1])
        return (
            f"{self.title}: {self.shown[0]} on {first}, {self.shown[-1]} on {last}, "
            f"highest {self.shown[highest]} on {self.points[highest][0]}."
        )

    @property
    def rows(self) -> list[tuple[str, str, int, str]]:
        """For each point its label, the same as a time of HTML (UTC), its value and the text of it."""
        if self.positions:
            moments = [datetime.fromtimestamp(second, UTC).isoformat() for second in self.positions]
        else:
            moments = [label.replace(" ", "T") + "Z" if " " in label else label for label, _ in self.points]
        return [
            (label, timestamp, value, text)
            for (label, value), timestamp, text in zip(self.points, moments, self.shown, strict=True)
        ]

    @property
    def kind(self) -> str:
        """`line`, or `bars`."""
        return "line" if self.positions else "bars"

    @property
    def svg(self) -> Markup:
        """The plot, complete in itself."""
        drawn = self._curve() if self.positions else self._bars()
        base = HEIGHT - BOTTOM
        highest = max(range(len(self.points)), key=lambda place: self.points[place][1])
        return Markup(  # noqa: S704
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.summary)}">'
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>{drawn}'
            f'<text x="{LEFT}" y="{LABEL_ABOVE}">{escape(self.shown[highest])}</text>'
            f'<text x="{LEFT}" y="{HEIGHT - LABEL_BELOW}">{escape(self.points[0][0])}</text>{self._last_label}</svg>'
        )

    def _height_of(self, value: int) -> float:
        top = max(value for _, value in self.points) or 1
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(value, 0) / top

    @property
    def _last_label(self) -> str:
        # One point has one time.
        if len(self.points) == 1:
            return ""
        place = f'x="{WIDTH - RIGHT}" y="{HEIGHT - LABEL_BELOW}" text-anchor="end"'
        return f"<text {place}>{escape(self.points[-1][0])}</text>"

    def _curve(self) -> str:
        assert self.positions is not None
        heights = [self._height_of(value) for _, value in self.points]
        if len(heights) == 1:
            return f'<circle class="bar" cx="{WIDTH / 2}" cy="{heights[0]:.1f}" r="4"/>'
        start, length = self.positions[0], (self.positions[-1] - self.positions[0]) or 1
        across = [LEFT + (WIDTH - LEFT - RIGHT) * (place - start) / length for place in self.positions]
        path = f"M{across[0]:.1f} {heights[0]:.1f}" + "".join(
            f"H{x:.1f}V{y:.1f}" for x, y in zip(across[1:], heights[1:], strict=True)
        )
        return f'<path class="line" d="{path}"/>'

    def _bars(self) -> str:
        step = (WIDTH - LEFT - RIGHT) / len(self.points)
        width = min(step * BAR_SHARE, BAR_WIDTH_MAX)
        base = HEIGHT - BOTTOM
        return "".join(
            f'<rect class="bar" x="{LEFT + place * step + (step - width) / 2:.1f}" width="{width:.1f}"'
            f' y="{self._height_of(value):.1f}" height="{base - self._height_of(value):.1f}"/>'
            for place, (_, value) in enumerate(self.points)
        )
