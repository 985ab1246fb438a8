"""Attacks that forge a score: payments that one attacker arranges, some of them with agents of others.

Agents are numbers. The target is 0, further agents of the attacker follow; agents of others begin at `HONEST`. An attack is a list of
lines, and the search finds the share of all fees that is paid on each line.
"""

from datetime import date

import msgspec

from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Owner
from hansa.rooms import reputation, transfers
from hansa_verify import Signal
from hansa_verify.reputation import UNIT, day_of

EPOCH = date(2026, 1, 1)
TODAY = day_of(EPOCH)
YESTERDAY = 1
HONEST = 100
HONEST_FEE = 10_000 * UNIT
HONEST_PAIRS = ((HONEST, HONEST + 1), (HONEST + 1, HONEST + 2), (HONEST + 2, HONEST))
PEER = 200
PEER_DAYS = 15


class Line(msgspec.Struct, frozen=True):
    """A payment `age` days before the epoch. The attacker pays its fee, also where the payer is an agent of another."""

    payer: int
    payee: int
    age: int = YESTERDAY
    disputed: bool = False
    counts: bool = True

    def signals(self, fee: int) -> list[Signal]:
        """Return the signals of the line if its fee is `fee` minor units; a dispute over it is decided for the payee."""
        kinds = ("payment", "ruling_for_defendant") if self.disputed else ("payment",)
        payer, payee = str(self.payer), str(self.payee)
        return [Signal(kind, TODAY - self.age, payer, payee, fee, self.counts) for kind in kinds]  # type: ignore[arg-type]


GRANTS_ARE_FUNDS = reputation.Funds({}).pay(payer=Owner(1), payee=Owner(0), amount=UNIT, fee=0)
"""True where an owner without other units than its genesis grant pays for a job that counts."""


class PeerLine(msgspec.Struct, frozen=True):
    """Equal payments on `PEER_DAYS` days from `age` days before the epoch back, from an agent of a peer of the highest trust.

    At most `fees_max` of the fees of a day counts.
    """

    payer: int
    payee: int
    age: int
    fees_max: Minor

    def signals(self, fee: int) -> list[Signal]:
        """Return the signals of the line if its border fees are `fee` minor units."""
        counted = transfers.counted_fee(fee // PEER_DAYS, transfers.FULL_WEIGHT, self.fees_max)
        days = range(self.age, self.age + PEER_DAYS)
        return [
            Signal("payment", TODAY - age, str(self.payer), str(self.payee), counted, counts=True)
            for age in days
        ]


class Attack(msgspec.Struct, frozen=True):
    """A name, one sentence for readers, and the lines on which fees are paid."""

    name: str
    sentence: str
    lines: tuple[Line | PeerLine, ...]


def honest_signals() -> list[Signal]:
    """Agents of others with the highest score that real business gives."""
    return [signal for pair in HONEST_PAIRS for signal in Line(*pair).signals(HONEST_FEE)]


def _among(agents: range, *ages: int, disputed: bool = False) -> tuple[Line, ...]:
    return tuple(
        Line(payer, payee, age, disputed)
        for payer in agents
        for payee in agents
        if payer != payee
        for age in ages or (YESTERDAY,)
    )


def _to(payees: range, payers: range, age: int = YESTERDAY) -> tuple[Line, ...]:
    return tuple(Line(payer, payee, age) for payee in payees for payer in payers)


_TARGET, _HELPERS, _RING, _PAIR = range(1), range(1, 4), range(4), range(2)
_OTHERS = range(HONEST, HONEST + 1)

LOCAL_ATTACKS = (
    Attack("star", "new agents of the attacker pay the target", _to(_TARGET, _HELPERS)),
    Attack("ring", "the target and three agents of the attacker pay each other, within a day", _among(_RING)),
    Attack("slow ring", "two agents pay each other over half a year", _among(_PAIR, 1, 30, 60, 90, 180)),
    Attack(
        "ring with disputes",
        "each payment of a ring is also disputed and decided for the payee",
        _among(range(3), disputed=True),
    ),
    Attack(
        "ring and honest services",
        "the agents of a ring also buy from honest agents of the highest score",
        _among(range(3)) + _to(_OTHERS, range(3)),
    ),
    Attack(
        "bought agents",
        "agents with a past of half a year pay the target; their price is what their past cost",
        _among(range(1, 4), 180) + _to(_TARGET, _HELPERS),
    ),
    Attack(
        "bridge",
        "an honest agent of the highest score pays the agents of the attacker and is repaid; its bribe is not counted",
        _to(_PAIR, _OTHERS) + _among(_PAIR),
    ),
    Attack(
        "new owners",
        "any number of new owners pay the target with their genesis grants",
        tuple(Line(payer, 0, counts=GRANTS_ARE_FUNDS) for payer in range(1, 4)),
    ),
    Attack(
        "printing peer",
        "agents of a peer that the attacker runs pay the target in units that the peer issued itself",
        tuple(Line(payer, 0, counts=False) for payer in range(PEER, PEER + 3)),
    ),
)


def attacks_under(peer_fees_max: Minor) -> tuple[Attack, ...]:
    """Return every attack, where this much of the fees of a peer counts on a day."""
    returning = Attack(
        "returning peer",
        "an agent of a peer of the highest trust pays the target in units that the attacker sent there before, over half a year",
        tuple(PeerLine(PEER, 0, age, peer_fees_max) for age in range(YESTERDAY, 180, PEER_DAYS)),
    )
    return (*LOCAL_ATTACKS, returning)
