"""Report of a replay, as text and as JSON. Amounts are minor units inside, decimal strings outside."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hansa.doors.simulation import Table
from hansa.foundation.plumbing.settings import Value
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal, ledger

LINES_MAX = 50
REFUSED_MAX = 1000
COMPUTED_TYPES = ("transfer", "hold", "capture")
MOVING_EVENTS = ("LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected")


class Report(msgspec.Struct, frozen=True):
    """Differences by account and in total; `kept_fees` counts the fees of computed types that are kept as recorded."""

    period: journal.JournalPeriod
    changes: Mapping[str, Value]
    computed: Mapping[str, int]
    kept: Mapping[str, int]
    kept_fees: int
    lines: Sequence[ledger.replay.AccountLine]
    refused: Sequence[ledger.replay.RefusedAct]
    issued: int
    destroyed: int

    @classmethod
    def of(
        cls,
        period: journal.JournalPeriod,
        changes: Mapping[str, Value],
        opening: ledger.replay.Opening,
        recorded: ledger.replay.Run,
        replayed: ledger.replay.Run,
    ) -> "Report":
        """The report on two runs of a period."""
        types = opening.types
        return cls(
            period,
            changes,
            {name: types[name] for name in COMPUTED_TYPES if types[name]},
            {name: types[name] for name in sorted(types) if name not in COMPUTED_TYPES},
            opening.count_kept_fees(recorded.kept_fees),
            ledger.replay.lines_of(recorded, replayed),
            replayed.refused,
            replayed.issued - recorded.issued,
            replayed.destroyed - recorded.destroyed,
        )

    @classmethod
    def of_nothing(cls, period: journal.JournalPeriod, changes: Mapping[str, Value]) -> "Report":
        """The report on a period in which no units moved."""
        return cls(period, changes, {}, {}, 0, [], [], 0, 0)

    @property
    def difference(self) -> int:
        """Sum of the differences of all accounts: units issued more, less units destroyed more."""
        return sum(line.difference for line in self.lines)

    @property
    def unmoved(self) -> dict[str, int]:
        """Events by type that move no units."""
        return {name: count for name, count in self.period.events.items() if name not in MOVING_EVENTS}

    def markdown(self) -> str:
        """Return the report in Markdown."""
        changed = ", ".join(f"{name} = {_shown(value)}" for name, value in self.changes.items())
        recorded, replayed = self._fees()
        differing = [line for line in self.lines if line.difference or line.refused]
        parts = [
            f"Events {self.period.first_sequence} to {self.period.last_sequence}, with {changed or 'the recorded parameters'}",
            "\n".join(
                [
                    f"- Recomputed transactions: {_counted(self.computed)}",
                    f"- Kept with their recorded amounts: {_counted(self.kept)}",
                    f"- Fees kept as recorded, since the recorded rates give another one: {self.kept_fees}",
                    f"- Events that move no units: {_counted(self.unmoved)}",
                    f"- Fees: {format_amount(recorded)} recorded, {format_amount(replayed)} replayed, difference {_signed(replayed - recorded)}",
                    f"- Sum of the differences of all accounts: {_signed(self.difference)} (issued {_signed(self.issued)}, destroyed {_signed(self.destroyed)})",
                    f"- Would have been refused: {len(self.refused)}",
                ]
            ),
            self._accounts(differing),
        ]
        if self.refused:
            parts.append(self._refusals())
        return "\n\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return all of it, with every account; at most the first 1,000 refused acts."""
        recorded, replayed = self._fees()
        return {
            "from": self.period.first_sequence,
            "to": self.period.last_sequence,
            "with": dict(self.changes),
            "recomputed": dict(self.computed),
            "kept": dict(self.kept),
            "kept_fees": self.kept_fees,
            "events_without_movement": self.unmoved,
            "accounts": [
                {
                    "account": line.account,
                    "recorded": format_amount(line.recorded),
                    "replayed": format_amount(line.replayed),
                    "difference": format_amount(line.difference),
                    "fees_difference": format_amount(line.fees_replayed - line.fees_recorded),
                    "refused": line.refused,
                }
                for line in self.lines
            ],
            "total": {
                "difference": format_amount(self.difference),
                "issued_difference": format_amount(self.issued),
                "destroyed_difference": format_amount(self.destroyed),
                "fees_recorded": format_amount(recorded),
                "fees_replayed": format_amount(replayed),
                "fees_difference": format_amount(replayed - recorded),
            },
            "refused": {
                "count": len(self.refused),
                "by_type": dict(sorted(Counter(one.movement.tx_type for one in self.refused).items())),
                "listed": [_refused_json(one) for one in self.refused[:REFUSED_MAX]],
            },
        }

    def _fees(self) -> tuple[int, int]:
        return sum(line.fees_recorded for line in self.lines), sum(line.fees_replayed for line in self.lines)

    def _accounts(self, differing: Sequence[ledger.replay.AccountLine]) -> str:
        if not differing:
            return f"The differences of all {len(self.lines)} accounts are zero."
        rows = [
            [
                line.account,
                format_amount(line.recorded),
                format_amount(line.replayed),
                _signed(line.difference),
                _signed(line.fees_replayed - line.fees_recorded),
                str(line.refused),
            ]
            for line in differing[:LINES_MAX]
        ]
        columns = ("Account", "Recorded", "Replayed", "Difference", "Difference of its fees", "Refused acts")
        rest = (
            f"\n\nAnother {len(differing) - LINES_MAX} accounts differ; --json lists all."
            if len(differing) > LINES_MAX
            else ""
        )
        return Table(columns, rows).markdown() + rest

    def _refusals(self) -> str:
        rows = [
            [
                f"tx-{one.movement.id}",
                one.movement.tx_type,
                one.movement.payer or "",
                one.movement.payee or "",
                format_amount(one.left_out),
                one.reason,
            ]
            for one in self.refused[:LINES_MAX]
        ]
        columns = ("Transaction", "Type", "Payer", "Payee", "Amount", "Reason")
        rest = (
            f"\n\nAnother {len(self.refused) - LINES_MAX} acts; --json lists more."
            if len(self.refused) > LINES_MAX
            else ""
        )
        return Table(columns, rows).markdown() + rest


def _refused_json(one: ledger.replay.RefusedAct) -> dict[str, Any]:
    return {
        "tx_id": one.movement.id,
        "type": one.movement.tx_type,
        "payer": one.movement.payer,
        "payee": one.movement.payee,
        "amount": format_amount(one.left_out),
        "reason": one.reason,
        "follows": one.follows,
    }


def _counted(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    named = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"{total} ({named})" if named else "0"


def _signed(minor: int) -> str:
    return f"+{format_amount(minor)}" if minor > 0 else format_amount(minor)


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
