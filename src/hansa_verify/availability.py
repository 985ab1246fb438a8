"""Judge the availability of an agent: probes by hour, signed by their registry day by day, and the bounds that follow from them.

- A day is believed by three things: the statement of the day is signed, it is in the log of the registry under a checkpoint that the auditor
  signed, and the hours of the agent are a leaf of the tree whose root it states.
- A key counts for a statement when it was in force at the time of the signature and at the time that the log states for the entry.
- An hour with probes is measured. The lower bound of a day is the share of its measured hours in which every probe was answered, the upper
  bound that in which any was. A day counts as much as any other; hours and days without probes do not count.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor
from typing import Any

from .canonical import canonical_json, read_json, read_moment
from .card import verify_document
from .keys import CLOCK_SKEW, AuditorKey, RegistryKey
from .log import BadCheckpoint, Checkpoint, leaf_hash, proves_inclusion, read_checkpoint_of, read_hash
from .schema import form_error
from .steps import Decision, Refusal, TextEvaluation, refused_as

AVAILABILITY_KIND = "agent.availability.v1"
STATEMENT_KIND = "registry.availability.v1"
STATEMENT_TYPE = "registry-availability+jws"
LOG_KIND = "availability"
DAYS = 90
HOURS = 24
CLASSES_MS = (100, 300, 1000, 3000, 10_000)
"""Longest times of the classes of answers, milliseconds."""

Hours = Sequence[Sequence[int] | None]
"""For each hour of a day the probes and, by the classes of time, the answers; None: no probe."""

_PLACES = 10_000
_ROOT = re.compile("[0-9a-f]{64}")
_STATEMENT = {"kind": str, "registry": str, "day": str, "agents": int, "root": str}


@dataclass(frozen=True)
class Bounds:
    """Bounds of a share, and the number of hours or days that they are of."""

    lower: Fraction
    upper: Fraction
    measured: int

    @property
    def texts(self) -> tuple[str, str] | tuple[None, None]:
        """Lower bound rounded down and upper bound rounded up, four decimals; None where nothing was measured."""
        if not self.measured:
            return None, None
        return _text(floor(self.lower * _PLACES)), _text(ceil(self.upper * _PLACES))


def bounds_of_day(hours: Hours) -> Bounds:
    """The bounds of one day, of its measured hours."""
    measured = [one for one in hours if one is not None]
    if not measured:
        return Bounds(Fraction(0), Fraction(0), 0)
    whole = sum(sum(one[1:]) == one[0] for one in measured)
    some = sum(any(one[1:]) for one in measured)
    return Bounds(Fraction(whole, len(measured)), Fraction(some, len(measured)), len(measured))


def bounds_of_days(days: Iterable[Bounds]) -> Bounds:
    """The mean of the measured days."""
    measured = [one for one in days if one.measured]
    if not measured:
        return Bounds(Fraction(0), Fraction(0), 0)
    count = len(measured)
    lower, upper = sum(one.lower for one in measured), sum(one.upper for one in measured)
    return Bounds(Fraction(lower) / count, Fraction(upper) / count, count)


def median_class(days: Iterable[Hours]) -> int | None:
    """The longest time, milliseconds, of the class in which the median of all answers is; None without any."""
    counts = [0] * len(CLASSES_MS)
    for hours in days:
        for one in hours:
            if one is not None:
                counts = [count + more for count, more in zip(counts, one[1:], strict=True)]
    place, seen = (sum(counts) + 1) // 2, 0
    for count, longest in zip(counts, CLASSES_MS, strict=True):
        seen += count
        if seen >= place > 0:
            return longest
    return None


def availability_leaf(did: str, day: str, hours: Hours) -> bytes:
    """The hash of the leaf of an agent in the tree of a day."""
    return leaf_hash(canonical_json({"did": did, "day": day, "hours": hours}))


def verify_availability(
    text: bytes | str,
    keys: Sequence[RegistryKey],
    auditor_keys: Iterable[AuditorKey],
    *,
    at: datetime | None = None,
) -> Decision:
    """Judge the text of an answer by the history of keys of its registry and the keys of its auditor, as of `at`. Never raises."""
    return Decision(*_Evaluation(text, keys, tuple(auditor_keys), at).take())


class _Evaluation(TextEvaluation):
    document: Mapping[str, Any]
    checkpoint: Checkpoint

    def __init__(
        self,
        text: bytes | str,
        keys: Sequence[RegistryKey],
        auditor_keys: tuple[AuditorKey, ...],
        at: datetime | None,
    ) -> None:
        super().__init__(text, keys, at)
        self.auditor_keys = auditor_keys

    @property
    def proved(self) -> list[Mapping[str, Any]]:
        return [day for day in self.document["days"] if day["proof"] is not None]

    def form(self) -> str:
        with refused_as("form"):
            self.document = read_json(self.text)
        if error := form_error(self.document, "availability"):
            raise Refusal("form", error)
        for day in self.document["days"]:
            if (day["hours"] is None) != (day["proof"] is None):
                raise Refusal("form", f"{day['day']} has hours without a proof, or a proof without hours")
            for one in day["hours"] or ():
                if one is not None and (one[0] < 1 or sum(one[1:]) > one[0]):
                    raise Refusal("form", f"{day['day']} has an hour with more answers than probes")
        return f"availability of {self.document['agent_did']} at {self.document['registry']}"

    def days(self) -> str:
        first, last = self.document["from"], self.document["to"]
        try:
            begin = date.fromisoformat(first)
        except ValueError:
            raise Refusal("days", f"{first!r} is no date") from None
        expected = [(begin + timedelta(number)).isoformat() for number in range(DAYS)]
        if [day["day"] for day in self.document["days"]] != expected or last != expected[-1]:
            raise Refusal("days", f"the days are not the {DAYS} days from {first}")
        return f"{DAYS} days from {first}, {len(self.proved)} with probes"

    def statements(self) -> str:
        for day in self.proved:
            self._require_statement(day)
        return f"{len(self.proved)} statements signed by their registry"

    def trees(self) -> str:
        for day in self.proved:
            proof = day["proof"]
            stated = proof["statement"]
            leaf = availability_leaf(self.document["agent_did"], day["day"], day["hours"])
            with refused_as("trees", f"{day['day']}: "):
                hashes = [read_hash(one) for one in proof["hashes"]]
            root = bytes.fromhex(stated["root"])
            if not proves_inclusion(proof["index"], stated["agents"], leaf, hashes, root):
                raise Refusal("trees", f"{day['day']}: the hours are no leaf of the tree of the day")
        return "the hours of each day are in its tree"

    def log(self) -> str:
        if not self.proved:
            return "no entries"
        try:
            self.checkpoint = read_checkpoint_of(self.document["checkpoint"] or "", self.auditor_keys)
            for day in self.proved:
                self._require_entry(day)
        except BadCheckpoint as error:
            raise Refusal("log", str(error)) from None
        return f"{len(self.proved)} entries in the log of {self.checkpoint.size} leaves"

    def arithmetic(self) -> str:
        of_days = []
        for day in self.document["days"]:
            bounds = bounds_of_day(day["hours"] or ())
            of_days.append(bounds)
            if (day["lower"], day["upper"], day["measured_hours"]) != (*bounds.texts, bounds.measured):
                raise Refusal("arithmetic", f"the bounds of {day['day']} do not follow from its hours")
        whole = bounds_of_days(of_days)
        median = median_class(day["hours"] or () for day in self.document["days"])
        stated = tuple(self.document[name] for name in ("lower", "upper", "measured_days", "median_ms_max"))
        if stated != (*whole.texts, whole.measured, median):
            raise Refusal("arithmetic", "the bounds do not follow from the days")
        if not whole.measured:
            return "nothing was measured"
        return f"between {stated[0]} and {stated[1]} in {whole.measured} measured days of {DAYS}"

    def _require_statement(self, day: Mapping[str, Any]) -> None:
        name, stated = day["day"], day["proof"]["statement"]
        logged_at = self._logged_at(day)
        if logged_at > self.at + CLOCK_SKEW:
            raise Refusal(
                "statements", f"{name}: logged at {logged_at.isoformat()}, after the time of the verdict"
            )
        verdict = verify_document(canonical_json(stated), self.keys, typ=STATEMENT_TYPE, at=logged_at)
        if verdict.card is None:
            raise Refusal("statements", f"{name}: {verdict.code}: {verdict.steps[-1].said}")
        members = {member: type(value) for member, value in verdict.card.items()}
        about = tuple(verdict.card.get(member) for member in ("kind", "registry", "day"))
        if members != _STATEMENT or about != (STATEMENT_KIND, self.document["registry"], name):
            raise Refusal("statements", f"{name}: the statement is of another registry, day or kind")
        if not _ROOT.fullmatch(verdict.card["root"]):
            raise Refusal("statements", f"{name}: the root is not 64 hexadecimal digits")

    def _entry(self, day: Mapping[str, Any]) -> Mapping[str, Any]:
        with refused_as("log", f"{day['day']}: "):
            entry = read_json(day["proof"]["log"]["entry"])
        if not isinstance(entry, Mapping):
            raise Refusal("log", f"{day['day']}: the entry is no object")
        return entry

    def _logged_at(self, day: Mapping[str, Any]) -> datetime:
        stated = self._entry(day).get("at")
        found = read_moment(stated) if isinstance(stated, str) else None
        if found is None:
            raise Refusal("log", f"{day['day']}: the entry states no time")
        return found

    def _require_entry(self, day: Mapping[str, Any]) -> None:
        name, logged = day["day"], day["proof"]["log"]
        entry = self._entry(day)
        found = sha256(canonical_json(day["proof"]["statement"])).hexdigest()
        if (entry.get("kind"), entry.get("id"), entry.get("sha256")) != (LOG_KIND, name, found):
            raise Refusal("log", f"{name}: the entry is of another statement")
        hashes = [read_hash(one) for one in logged["hashes"]]
        leaf, tree = leaf_hash(logged["entry"].encode()), self.checkpoint
        if not proves_inclusion(logged["index"], tree.size, leaf, hashes, tree.root):
            raise Refusal("log", f"{name}: the entry is not in the log")

    steps = (form, days, statements, trees, log, arithmetic)


def _text(parts: int) -> str:
    return f"{parts // _PLACES}.{parts % _PLACES:04d}"
