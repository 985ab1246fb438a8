"""The reputation of agents, computed from the events of a registry; all arithmetic is in whole numbers.

Formula `hansa-reputation/2`, for the epoch of one UTC day:
- A signal is a settled payment, a completed contract or a ruling. Those of earlier days count; `fee` is in minor units. A payment
  from another registry is one for the payee's registry, which states in `counted_fee` the counted part of the fee that it kept; the
  payer's states none.
- Fees are added up for each pair of agents and each day, then halved every 90 days by the table below.
- A payment is evidence for both agents: 5/8 of its fee for the payee, 1/8 for the payer, each times the weight of the other
  agent. A ruling in favor of the defendant is evidence of 1/8 of the fee in question, times the weight of the complainant.
  A signal with `counts` false is no evidence.
- A ruling against the defendant is a penalty of three times the fee in question, or of 1.5 units if that is more.
- The weight of an agent grows from 1/4 at a score of 0 to 1 at a score of 1000. Scores begin at 0; eight rounds
  compute evidence from weights, and weights from evidence.
- score = 1000 × (evidence - penalty) / (evidence + penalty + 5 units), rounded down, at least 0.

All evidence from one payment is at most its fee, so agents that pay each other gain no more than the fees they pay.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias, get_args

FORMULA = "hansa-reputation/2"
ROUNDS = 8
HALF_LIFE_DAYS = 90
UNIT = 10**8
HALF_SCORE = 5 * UNIT
PENALTY_FACTOR = 3
PENALTY_FEE_MIN = UNIT // 2
SCORE_MAX = 1000
FULL_WEIGHT = 1 << 16
LEAST_WEIGHT = FULL_WEIGHT // 4
# Eighths of a fee that are evidence.
FOR_PAYEE, FOR_PAYER, FOR_DEFENDANT, PARTS = 5, 1, 1, 8

GRADES = ((800, "excellent"), (600, "high"), (400, "good"), (200, "fair"), (1, "initial"), (0, "unrated"))

# 2^32 times 2^(-day/90), rounded down, for each day of a half-life.
_DECAY = (
    4294967296, 4262016076, 4229317659, 4196870107, 4164671494, 4132719910, 4101013461, 4069550266, 4038328457,
    4007346184, 3976601609, 3946092908, 3915818271, 3885775903, 3855964021, 3826380858, 3797024658, 3767893681,
    3738986198, 3710300495, 3681834871, 3653587636, 3625557115, 3597741646, 3570139579, 3542749276, 3515569113,
    3488597478, 3461832771, 3435273404, 3408917801, 3382764401, 3356811651, 3331058011, 3305501955, 3280141967,
    3254976541, 3230004186, 3205223420, 3180632774, 3156230789, 3132016016, 3107987021, 3084142378, 3060480672,
    3037000499, 3013700468, 2990579196, 2967635312, 2944867455, 2922274273, 2899854428, 2877606589, 2855529437,
    2833621661, 2811881964, 2790309054, 2768901653, 2747658491, 2726578307, 2705659852, 2684901884, 2664303173,
    2643862495, 2623578640, 2603450404, 2583476593, 2563656021, 2543987515, 2524469906, 2505102037, 2485882759,
    2466810933, 2447885427, 2429105119, 2410468894, 2391975647, 2373624281, 2355413708, 2337342848, 2319410628,
    2301615985, 2283957863, 2266435216, 2249047003, 2231792193, 2214669764, 2197678698, 2180817989, 2164086636,
)  # fmt: skip
_DECAY_BITS = 32
_AMOUNT = re.compile(r"(\d+)(?:\.(\d{1,8}))?", re.ASCII)
_TIMESTAMP = re.compile(
    r"[12]\d{3}-\d\d-\d\dT([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_FIRST_DAY = date(1970, 1, 1).toordinal()

Kind: TypeAlias = Literal["payment", "ruling_for_defendant", "ruling_for_complainant"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# The members that name the giver and the receiver, by the type of the event.
_PARTIES = {
    "A2APaymentSettled": ("caller", "payee"),
    "ContractCompleted": ("contractor_did", "provider_did"),
    "DisputeRuled": ("complainant_did", "defendant_did"),
    "CrossRegistryTransferCompleted": ("sender_did", "receiver_did"),
}
_RULINGS: dict[str, Kind | None] = {
    "IN_FAVOR_OF_COMPLAINANT": "ruling_for_complainant",
    "IN_FAVOR_OF_DEFENDANT": "ruling_for_defendant",
    "DISMISSED": None,
}


class NotASignal(ValueError):
    """An event of a kind that is a signal lacks a member, or one has a form that is not allowed."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A payment from payer to payee, or a ruling between complainant and defendant.

    `day` is the number of the UTC day since 1970-01-01. `giver` is the payer or the complainant, `receiver` the payee or the defendant. `fee` is in minor units.
    """

    kind: Kind
    day: int
    giver: str
    receiver: str
    fee: int
    counts: bool


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an agent, from 0 to 1000, and its components: evidence and penalty in minor units."""

    score: int
    paid_work: int
    payments_made: int
    disputes_won: int
    disputes_lost: int

    @property
    def components(self) -> dict[str, int]:
        """The components by name."""
        return {
            "paid_work": self.paid_work,
            "payments_made": self.payments_made,
            "disputes_won": self.disputes_won,
            "disputes_lost": self.disputes_lost,
        }

    @property
    def grade(self) -> str:
        """The band of the score."""
        return grade_of(self.score)


def grade_of(score: int) -> str:
    """The band of a score."""
    return next(name for least, name in GRADES if score >= least)


def decayed(amount: int, age_days: int) -> int:
    """Return the rest of an amount after so many days."""
    halvings, day = divmod(age_days, HALF_LIFE_DAYS)
    return amount * _DECAY[day] >> _DECAY_BITS + halvings


def scores_of(signals: Iterable[Signal], epoch: date) -> dict[str, Score]:
    """The scores of the epoch, of every agent in a signal of an earlier day. The order of the signals is irrelevant."""
    return _Evidence.of(signals, day_of(epoch)).scores()


def day_of(timestamp: date) -> int:
    """The number of a day since 1970-01-01."""
    return timestamp.toordinal() - _FIRST_DAY


def read_signal(event: Mapping[str, Any]) -> Signal | None:
    """The signal of an event {event_type, timestamp, data}; None for an event that is none. Raises: NotASignal."""
    try:
        if event["event_type"] not in _PARTIES:
            return None
        day, data = _day(event["timestamp"]), event["data"]
        if event["event_type"] == "CrossRegistryTransferCompleted" and data.get("counts") is None:
            # It paid nothing that is known here, or left this registry.
            return None
        giver, receiver = (data[name] for name in _PARTIES[event["event_type"]])
        kind = _RULINGS[data["ruling"]] if event["event_type"] == "DisputeRuled" else "payment"
        return _signal(kind, day, giver, receiver, data) if kind else None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotASignal(f"an event is not readable: {type(error).__name__} {error}") from None


def _day(timestamp: str) -> int:
    if not _TIMESTAMP.fullmatch(timestamp):
        raise ValueError(f"{timestamp!r} is no timestamp with an offset")
    return day_of(datetime.fromisoformat(timestamp).astimezone(UTC))


def _signal(kind: Kind, day: int, giver: object, receiver: object, data: Mapping[str, Any]) -> Signal:
    counts = data["counts"]
    if not isinstance(giver, str) or not isinstance(receiver, str) or not isinstance(counts, bool):
        raise TypeError("agents are strings, counts is true or false")
    counted_fee = data.get("counted_fee")
    return Signal(
        kind, day, giver, receiver, _minor(data["fee"] if counted_fee is None else counted_fee), counts
    )


def _minor(text: str) -> int:
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no amount")
    whole, fraction = found.groups("")
    return int(whole + fraction.ljust(8, "0"))


_Flow: TypeAlias = list[tuple[int, int, int]]


@dataclass(frozen=True)
class _Evidence:
    """Decayed amounts from one agent to another, by the numbers of the agents."""

    agents: list[str]
    payments: _Flow
    won: _Flow
    penalties: list[int]

    @classmethod
    def of(cls, signals: Iterable[Signal], epoch: int) -> "_Evidence":
        numbers: dict[str, int] = {}
        sums: dict[Kind, Counter[tuple[int, int, int]]] = {kind: Counter() for kind in KINDS}
        for signal in signals:
            if signal.day < epoch:
                giver = numbers.setdefault(signal.giver, len(numbers))
                receiver = numbers.setdefault(signal.receiver, len(numbers))
                sums[signal.kind][giver, receiver, signal.day] += _amount_of(signal)
        flows = {kind: _decayed_flow(amounts, epoch) for kind, amounts in sums.items()}
        penalties = [0] * len(numbers)
        for _, defendant, penalty in flows["ruling_for_complainant"]:
            penalties[defendant] += penalty
        return cls(list(numbers), flows["payment"], flows["ruling_for_defendant"], penalties)

    def scores(self) -> dict[str, Score]:
        """Scores after all rounds."""
        scores = [0] * len(self.agents)
        for _ in range(ROUNDS):
            parts = self._components([_weight(score) for score in scores])
            scores = [_score(work + paid + won, lost) for work, paid, won, lost in zip(*parts, strict=True)]
        return {agent: Score(*members) for agent, *members in zip(self.agents, scores, *parts, strict=True)}

    def _components(self, weights: list[int]) -> tuple[list[int], list[int], list[int], list[int]]:
        """Paid work, payments made, disputes won and lost, by the numbers of the agents."""
        count = len(self.agents)
        work, paid, won = [0] * count, [0] * count, [0] * count
        for payer, payee, fee in self.payments:
            work[payee] += fee * weights[payer]
            paid[payer] += fee * weights[payee]
        for complainant, defendant, fee in self.won:
            won[defendant] += fee * weights[complainant]
        return _share(work, FOR_PAYEE), _share(paid, FOR_PAYER), _share(won, FOR_DEFENDANT), self.penalties


def _decayed_flow(amounts: Mapping[tuple[int, int, int], int], epoch: int) -> _Flow:
    """Return the decayed amounts for each pair; each day is decayed by itself."""
    left: dict[tuple[int, int], int] = {}
    for (giver, receiver, day), amount in amounts.items():
        pair = giver, receiver
        left[pair] = left.get(pair, 0) + decayed(amount, epoch - day)
    return [(*pair, amount) for pair, amount in left.items()]


def _share(weighted: list[int], parts: int) -> list[int]:
    whole = FULL_WEIGHT * PARTS
    return [amount * parts // whole for amount in weighted]


def _score(evidence: int, penalty: int) -> int:
    return SCORE_MAX * max(evidence - penalty, 0) // (evidence + penalty + HALF_SCORE)


def _amount_of(signal: Signal) -> int:
    """Return the amount that a signal adds to the sums of its pair and day. A ruling against the defendant always counts."""
    if signal.kind == "ruling_for_complainant":
        return PENALTY_FACTOR * max(signal.fee, PENALTY_FEE_MIN)
    return signal.fee if signal.counts else 0


def _weight(score: int) -> int:
    return LEAST_WEIGHT + (FULL_WEIGHT - LEAST_WEIGHT) * score // SCORE_MAX
