"""Pictures of a market, drawn by the server: candles, the depth of a book, and the price of a day in a row of a list.

They have no styles of their own. A falling candle is filled, a rising one is not: nothing is said by the colour alone.
"""

from collections.abc import Sequence
from datetime import UTC, timedelta
from html import escape

import msgspec
from markupsafe import Markup

from hansa.foundation.values.money import UNIT, Minor, format_amount
from hansa.rooms import exchange

WIDTH, HEIGHT = 600, 220
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 30, 32
LABEL_ABOVE, LABEL_BELOW = 20, 8
BODY_SHARE, BODY_MIN, BODY_MAX = 0.7, 1.0, 24.0
SMALL_WIDTH, SMALL_HEIGHT, SMALL_EDGE = 120, 32, 3
DEPTH_HEIGHT = 140


class CandlePlot(msgspec.Struct, frozen=True):
    """Candles of one length, the oldest first; never empty. `static/plots.js` draws them anew from their table."""

    candles: Sequence[exchange.Candle]
    span: timedelta
    per_unit: int = UNIT

    @property
    def seconds(self) -> int:
        """Length of a candle."""
        return round(self.span.total_seconds())

    @property
    def summary(self) -> str:
        """Description of the picture in words."""
        first, last = self.candles[0], self.candles[-1]
        high, low = max(one.high for one in self.candles), min(one.low for one in self.candles)
        return (
            f"Price of a point: {format_amount(first.open)} on {_label(first)}, {format_amount(last.close)} on {_label(last)},"
            f" highest {format_amount(high)}, lowest {format_amount(low)}."
        )

    @property
    def rows(self) -> list[tuple[str, str, list[tuple[int, str]], int]]:
        """For each candle its label, the time of HTML, its open, high, low and close with their texts, and its points."""
        return [
            (
                _label(one),
                one.t.astimezone(UTC).isoformat(),
                [(price, format_amount(price)) for price in (one.open, one.high, one.low, one.close)],
                one.volume,
            )
            for one in self.candles
        ]

    @property
    def svg(self) -> Markup:
        """The picture, complete in itself."""
        first, last = self.candles[0], self.candles[-1]
        base = HEIGHT - BOTTOM
        slots = round((last.t - first.t) / self.span) + 1
        step = (WIDTH - LEFT - RIGHT) / slots
        width = min(max(step * BODY_SHARE, BODY_MIN), BODY_MAX)
        high, low = max(one.high for one in self.candles), min(one.low for one in self.candles)

        def y(price: int) -> float:
            share = (price - low) / (high - low) if high > low else 0.5
            return base - share * (base - TOP)

        drawn = []
        for one in self.candles:
            x = LEFT + (round((one.t - first.t) / self.span) + 0.5) * step
            top, bottom = y(max(one.open, one.close)), y(min(one.open, one.close))
            kind = "fall" if one.close < one.open else "rise"
            drawn.append(
                f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{y(one.high):.1f}" y2="{y(one.low):.1f}"/>'
                f'<rect class="{kind}" x="{x - width / 2:.1f}" width="{width:.1f}" y="{top:.1f}" height="{max(bottom - top, 1):.1f}"/>'
            )
        end = "" if slots == 1 else _text(WIDTH - RIGHT, HEIGHT - LABEL_BELOW, _label(last), "end")
        return Markup(  # noqa: S704
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.summary)}">'
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>{"".join(drawn)}'
            f"{_text(LEFT, LABEL_ABOVE, format_amount(high))}{_text(LEFT, HEIGHT - LABEL_BELOW, _label(first))}{end}</svg>"
        )


def depth_of(book: exchange.Depth) -> Markup | None:
    """The points that can be sold and bought at each price or a better one, as steps to both sides of the gap; None for an empty book."""
    prices = [level.price for level in (*book.bids, *book.asks)]
    if not prices:
        return None
    low, high = min(prices), max(prices)
    # The steps of the outermost prices have a width as well.
    edge = max((high - low) / 10, 1)
    bids, asks = _summed(book.bids), _summed(book.asks)
    most = max(points for _, points in (*bids, *asks))
    base = DEPTH_HEIGHT - BOTTOM
    room = (WIDTH - LEFT - RIGHT) / (high - low + 2 * edge)

    def x_of(price: float) -> float:
        return LEFT + (price - low + edge) * room

    def area(steps: Sequence[tuple[Minor, int]], outer: float, kind: str) -> str:
        if not steps:
            return ""
        path = f"M{x_of(steps[0][0]):.1f} {base}"
        for place, (_, points) in enumerate(steps):
            x = x_of(steps[place + 1][0] if place + 1 < len(steps) else outer)
            path += f"V{base - (base - TOP) * points / most:.1f}H{x:.1f}"
        return f'<path class="{kind}" d="{path}V{base}Z"/>'

    said = f"Depth of the book: {bids[-1][1] if bids else 0} points are bid for, {asks[-1][1] if asks else 0} are offered."
    return Markup(  # noqa: S704
        f'<svg class="depth" viewBox="0 0 {WIDTH} {DEPTH_HEIGHT}" role="img" aria-label="{said}">'
        f"{area(bids, low - edge, 'bids')}{area(asks, high + edge, 'asks')}"
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
        f"{_text(LEFT, LABEL_ABOVE, f'{most} points')}{_text(LEFT, DEPTH_HEIGHT - LABEL_BELOW, format_amount(low))}"
        f"{_text(WIDTH - RIGHT, DEPTH_HEIGHT - LABEL_BELOW, format_amount(high), 'end') if high > low else ''}</svg>"
    )


def day_line(prices: Sequence[Minor]) -> Markup:
    """The price of a day as a small line; the figure beside it says the same."""
    low, high = min(prices), max(prices)
    step = SMALL_WIDTH / max(len(prices) - 1, 1)
    room = SMALL_HEIGHT - 2 * SMALL_EDGE

    def y(price: int) -> float:
        return SMALL_HEIGHT - SMALL_EDGE - (room * (price - low) / (high - low) if high > low else room / 2)

    path = f"M0 {y(prices[0]):.1f}" + "".join(
        f"H{place * step:.1f}V{y(price):.1f}" for place, price in enumerate(prices[1:], 1)
    )
    return Markup(  # noqa: S704
        f'<svg class="small-plot" viewBox="0 0 {SMALL_WIDTH} {SMALL_HEIGHT}" aria-hidden="true" focusable="false">'
        f'<path class="line" d="{path}"/></svg>'
    )


def change_of(prices: Sequence[Minor]) -> str:
    """The change from the first price to the last in percent, with its sign."""
    change = (prices[-1] - prices[0]) * 100 / prices[0]
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{abs(change):.2f} %"


def _summed(levels: Sequence[exchange.Level]) -> list[tuple[Minor, int]]:
    """Each price, from the best on, with the points at it and at better ones."""
    sums, points = [], 0
    for level in levels:
        points += level.qty
        sums.append((level.price, points))
    return sums


def _label(candle: exchange.Candle) -> str:
    return f"{candle.t.astimezone(UTC):%Y-%m-%d %H:%M}"


def _text(x: int, y: int, text: str, anchor: str = "") -> str:
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{placed}>{escape(text)}</text>'
