"""Comparison of two runs: the balances, the fees and the refused acts of each account. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from .opening import Opening
from .running import ReplayUnfaithful, Run
from .scratch import Place


class AccountLine(msgspec.Struct, frozen=True):
    """One account after the period: all that it holds, and the fees that it paid, as recorded and as replayed; minor units."""

    account: str
    recorded: int
    replayed: int
    fees_recorded: int
    fees_replayed: int
    refused: int

    @property
    def difference(self) -> int:
        """Units that the account holds more than it was recorded with."""
        return self.replayed - self.recorded


def require_faithful(opening: Opening, run: Run) -> None:
    """Require that a run by the recorded rules ends with the recorded balances. Raises: ReplayUnfaithful."""
    for place in sorted({*opening.before, *opening.after}):
        recorded = opening.after.get(place, opening.before.get(place, 0))
        if run.balances.get(place, 0) != recorded:
            account, bucket = place
            raise ReplayUnfaithful(
                f"the {bucket} balance of {account} after the period is recorded with {recorded} minor units and replayed"
                f" with {run.balances.get(place, 0)}"
            )


def lines_of(recorded: Run, replayed: Run) -> list[AccountLine]:
    """Return each account of the period: the greatest differences first, then by name."""
    before, after = _totals(recorded.balances), _totals(replayed.balances)
    refused = Counter(party for one in replayed.refused for party in {*one.movement.parties})
    lines = [
        AccountLine(
            account,
            before[account],
            after[account],
            recorded.fees[account],
            replayed.fees[account],
            refused[account],
        )
        for account in {*before, *after}
    ]
    return sorted(lines, key=lambda line: (-abs(line.difference), line.account))


def _totals(balances: Mapping[Place, int]) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for (account, _), balance in balances.items():
        totals[account] += balance
    return totals
