"""Outcome of a simulation: tables of texts and sentences, as Markdown or as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hansa.foundation.values.money import UNIT

NEVER = "never"


class Table(msgspec.Struct, frozen=True):
    """Rows of cells below the names of their columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        head, *body = [f"| {' | '.join(row)} |" for row in (self.columns, *self.rows)]
        return "\n".join([head, "|" + "---|" * len(self.columns), *body])


class Outcome(msgspec.Struct, frozen=True):
    """Tables of a simulation, each with the sentences that explain it."""

    parts: Sequence[tuple[Table, Sequence[str]]]

    def markdown(self) -> str:
        """Return all of it in Markdown."""
        texts = [
            "\n\n".join([table.markdown(), *(["\n".join(f"- {one}" for one in notes)] if notes else [])])
            for table, notes in self.parts
        ]
        return "\n\n".join(texts)

    def as_json(self) -> list[dict[str, Any]]:
        """Return each table as its rows by the names of their columns, and its sentences."""
        return [
            {
                "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                "notes": list(notes),
            }
            for table, notes in self.parts
        ]


def units(minor: int) -> str:
    """Return an amount of minor units in units, with three decimals below one unit and one above."""
    return f"{minor / UNIT:.3f}" if minor < UNIT else f"{minor / UNIT:.1f}"
