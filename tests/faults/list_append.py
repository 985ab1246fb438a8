"""Is there one order of all transfers that explains everything the clients saw?

Each account's transfers, in the order of their ids, are a list. A transfer appends its key to the payer's list and to
the payee's at once, and to the fee collector's when it is charged a fee; a reader sees the end of one list.

1. A transfer stands once in each list it belongs to and in no other; nobody appended a transfer that no client requested.
2. An acknowledged transfer is there as it was answered; a refused one is nowhere.
3. In a list each balance follows from the one before it.
4. Whatever a reader saw is a row of neighbours in the list, so that readings of one list are prefixes of each other.
5. The order in each list, the rows that readers saw and did not see yet, and the operations that were over before another was asked
   for, together make no circle.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

SHOWN_AT_MOST = 5


class Rule(Enum):
    """Rule that a history can break."""

    APPENDED_ONCE = "a transfer is in its lists some other number of times than once"
    ASKED_FOR = "a list holds what nobody asked for"
    ACKNOWLEDGED = "an acknowledged transfer is missing, or not as it was answered"
    REFUSED = "a refused transfer is in a list"
    BALANCE = "a balance does not follow from the one before"
    READING = "a reading is not a row of neighbours of its list"
    CIRCLE = "no order of the transfers explains what was seen"


@dataclass(frozen=True)
class Finding:
    """A broken rule, with an example."""

    rule: Rule
    example: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list."""

    tx_id: int
    key: str
    delta: int
    balance_after: int


@dataclass(slots=True)
class Transfer:
    """A transfer as its client knows it, perhaps answered several times: (transaction id, the payer's balance after it).

    Moments are places in the row of everything that clients did.
    """

    key: str
    payer: str
    payee: str
    asked: int
    answered_at: int | None = None
    answers: frozenset[tuple[int, int]] = frozenset()
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The last entries of one list as a reader saw them, oldest first; `is_whole` when there were no more."""

    account: str
    asked: int
    answered_at: int
    entries: tuple[Entry, ...]
    is_whole: bool


@dataclass
class History:
    """Everything that clients asked for and were answered."""

    transfers: dict[str, Transfer] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)


def find_contradictions(
    history: History, lists: Mapping[str, Sequence[Entry]], fee_collector: str
) -> list[Finding]:
    """Every broken rule, a few examples each; empty when the history is strictly serializable."""
    found = [
        *_first(Rule.APPENDED_ONCE, _wrongly_appended(history, lists, fee_collector)),
        *_first(Rule.ASKED_FOR, _unasked(history, lists)),
        *_first(Rule.ACKNOWLEDGED, _lost(history, lists)),
        *_first(Rule.REFUSED, _refused_and_done(history, lists)),
        *_first(Rule.BALANCE, _broken_balances(lists)),
    ]
    places = {account: {one.tx_id: place for place, one in enumerate(row)} for account, row in lists.items()}
    found += _first(Rule.READING, _broken_readings(history, lists, places))
    # Among rows that are no rows a circle would show nothing new.
    return found or list(_first(Rule.CIRCLE, _circles(history, lists, places)))


def _first(rule: Rule, examples: Iterable[str]) -> Iterable[Finding]:
    for _, example in zip(range(SHOWN_AT_MOST), examples, strict=False):
        yield Finding(rule, example)


def _wrongly_appended(
    history: History, lists: Mapping[str, Sequence[Entry]], fee_collector: str
) -> Iterable[str]:
    seen: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for account, row in lists.items():
        for entry in row:
            seen[entry.key].append((account, entry.delta))
    for key, legs in seen.items():
        wanted = history.transfers.get(key)
        accounts = sorted(account for account, _ in legs if not account.startswith(fee_collector))
        fees = len(legs) - len(accounts)
        if wanted and (accounts != sorted([wanted.payer, wanted.payee]) or fees > 1):
            yield f"{key}: {legs}"
        elif sum(delta for _, delta in legs):
            yield f"{key} does not sum to zero: {legs}"


def _unasked(history: History, lists: Mapping[str, Sequence[Entry]]) -> Iterable[str]:
    for account, row in lists.items():
        yield from (f"{account}: {entry}" for entry in row if entry.key not in history.transfers)


def _lost(history: History, lists: Mapping[str, Sequence[Entry]]) -> Iterable[str]:
    paid = {
        (account, entry.key): (entry.tx_id, entry.balance_after)
        for account, row in lists.items()
        for entry in row
    }
    for one in history.transfers.values():
        found = paid.get((one.payer, one.key))
        if one.answers - {found}:
            yield f"{one.key}: answered {set(one.answers)}, in the list {found}"


def _refused_and_done(history: History, lists: Mapping[str, Sequence[Entry]]) -> Iterable[str]:
    refused = {one.key for one in history.transfers.values() if one.is_refused}
    for account, row in lists.items():
        yield from (f"{account}: {entry}" for entry in row if entry.key in refused)


def _broken_balances(lists: Mapping[str, Sequence[Entry]]) -> Iterable[str]:
    for account, row in lists.items():
        for before, after in pairwise(row):
            if before.balance_after + after.delta != after.balance_after:
                yield f"{account}: {before}, {after}"


def _broken_readings(
    history: History, lists: Mapping[str, Sequence[Entry]], places: Mapping[str, Mapping[int, int]]
) -> Iterable[str]:
    for reading in history.readings:
        if not reading.entries:
            continue
        end = places[reading.account].get(reading.entries[-1].tx_id, -1) + 1
        start = end - len(reading.entries)
        row = lists[reading.account]
        if start < 0 or tuple(row[start:end]) != reading.entries or (reading.is_whole and start):
            yield f"{reading.account}: saw {[entry.tx_id for entry in reading.entries]}"


def _circles(
    history: History, lists: Mapping[str, Sequence[Entry]], places: Mapping[str, Mapping[int, int]]
) -> Iterable[str]:
    """The transfers and readings that wait for each other, if any."""
    transfers = list(history.transfers.values())
    numbers = {one.key: number for number, one in enumerate(transfers)}
    after: list[list[int]] = [[] for _ in range(len(transfers) + len(history.readings))]
    for row in lists.values():
        for one, other in pairwise(row):
            after[numbers[one.key]].append(numbers[other.key])
    for number, reading in enumerate(history.readings, len(transfers)):
        row = lists[reading.account]
        end = places[reading.account][reading.entries[-1].tx_id] + 1 if reading.entries else 0
        if end:
            after[numbers[row[end - 1].key]].append(number)
        if end < len(row):
            after[number].append(numbers[row[end].key])
    _order_by_time([*transfers, *history.readings], after)
    stuck = _without_those_that_wait_for_nothing(after)
    if stuck:
        names = [*(one.key for one in transfers), *(f"reading of {one.account}" for one in history.readings)]
        yield " → ".join(names[node] for node in _one_circle(after, stuck) if node < len(names))


def _order_by_time(nodes: Sequence[Transfer | Reading], after: list[list[int]]) -> None:
    """Whatever was answered precedes whatever was asked later.

    A hurdle between the two keeps this linear: those answered lead to the next hurdle, hurdles to each other and to those
    asked behind them.
    """
    moments = [(node.asked, False, number) for number, node in enumerate(nodes)]
    moments += [
        (node.answered_at, True, number) for number, node in enumerate(nodes) if node.answered_at is not None
    ]
    over: list[int] = []
    hurdle = None
    for _, is_answer, number in sorted(moments):
        if is_answer:
            over.append(number)
            continue
        if over:
            after.append([])
            for earlier in [*over, *([hurdle] if hurdle is not None else [])]:
                after[earlier].append(len(after) - 1)
            hurdle, over = len(after) - 1, []
        if hurdle is not None:
            after[hurdle].append(number)


def _without_those_that_wait_for_nothing(after: Sequence[Sequence[int]]) -> set[int]:
    """Return the rest when everything that has an order is removed: circles, and their successors."""
    waits_for = [0] * len(after)
    for followers in after:
        for follower in followers:
            waits_for[follower] += 1
    free = [node for node, count in enumerate(waits_for) if count == 0]
    while free:
        for follower in after[free.pop()]:
            waits_for[follower] -= 1
            if waits_for[follower] == 0:
                free.append(follower)
    return {node for node, count in enumerate(waits_for) if count}


def _one_circle(after: Sequence[Sequence[int]], stuck: set[int]) -> list[int]:
    before = {follower: node for node in stuck for follower in after[node] if follower in stuck}
    walked: dict[int, None] = {}
    node = next(iter(before))
    while node not in walked:
        walked[node] = None
        node = before[node]
    path = list(walked)
    return path[path.index(node) :][::-1]
