"""Verify that a chain of supply attestations (SA-1.0) is whole, signed and consistent with its own numbers.

Each record must hold all checks:

- C1 the key is known, its id is derived from it, and it was not retired before the record; C2 the digest is that of the
  payload; C3 the signature is by that key; C4 the record names the digest of the one before, 64 zeros first;
- C5 the envelope agrees with the payload, a provenance record states its change and the reason, ids and times rise; C6 net supply
  and delta follow from the terms, and the
  liabilities add up to the units in circulation; C7 the status follows from the delta, `native.ok` from its gap, and every check is
  one of the standard with a result of its own; C8 the position
  in the log never falls, the native basis changes only after a provenance record, and the head is not from the future.

Members that are null are skipped. A breach, a gap and an old head are warnings: the chain is then honest about something bad.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from hashlib import sha256
from itertools import pairwise
from typing import Any

from .canonical import NotBase64url, NotCanonical, decoded, read_json, read_moment
from .keys import CLOCK_SKEW, AuditorKey, is_signed
from .liabilities import UNIT, read_liabilities
from .steps import Decision, Refusal, Step, code_of

STANDARD = "SA-1.0"
NO_HASH = "0" * 64
WATCHED_WITHIN = timedelta(minutes=10)
PAYLOAD_MAX_CHARACTERS = 16 * 1024
PROVENANCE = ("baseline_set", "baseline_removed", "transit_rebaselined")
KINDS = ("audit", *PROVENANCE)
RAILS = dict(zip(PROVENANCE, ("admin/set-native-baseline",) * 2 + ("admin/rebaseline-transit",), strict=True))
TWO = frozenset({"OK", "BREACH"})
RESULTS: Mapping[str, frozenset[str]] = {
    "supply": TWO,
    "per_user": TWO,
    "staked_guard": TWO | {"MISMATCH"},
    "escrow": TWO | {"ERROR"},
    "transactions": TWO,
    "shares": TWO,
    "solvency": frozenset({"SOLVENT", "LOW", "BREACH"}),
}
"""The checks of an audit, each with the results that it may have."""
BASES = frozenset(
    {
        "typed_mints_complete",
        "writedown_rebaselined",
        "federated_reconciled",
        "pre_baseline_genesis",
        "coverage_unknown",
    }
)
TERMS = ("issued", "destroyed", "transit_net", "net_supply", "circulating")
BASES_WITHOUT_VERDICT = frozenset({"pre_baseline_genesis", "coverage_unknown"})
CHECKS = {
    "C1": "every record is signed under a known key",
    "C2": "every digest is that of its payload",
    "C3": "every signature is by its key",
    "C4": "every record continues the one before",
    "C5": "every envelope says what its payload says, provenance records are complete, ids and times rise",
    "C6": "net supply and delta follow from the terms",
    "C7": "every status follows from its delta, native coverage from its gap, every check has a result of its own",
    "C8": "positions in the log never fall, the basis changes only with a provenance record",
}

# Amounts have at most 60 digits on either side of the point: sums of them are exact here.
_EXACT = Context(prec=200)
_INVARIANT_TOLERANCE, _STATUS_TOLERANCE = Decimal("0.001"), Decimal("0.01")
_BREACH_ABOVE = Decimal("0.000001")


@dataclass(frozen=True)
class Warned:
    """Something that a reader should know although the chain is valid."""

    code: str
    said: str


@dataclass(frozen=True)
class ChainVerdict(Decision):
    """The judgement: `code` is `verified`, or the first check that a record did not hold."""

    warnings: tuple[Warned, ...]
    records: int
    head_id: int | None = None
    head_digest: str | None = None


def read_export(text: bytes | str) -> tuple[list[Any], Any]:
    """The records of an export or of a list of a registry, in the order of the text, and its key set. Raises: NotCanonical."""
    document = read_json(text)
    if not isinstance(document, Mapping) or document.get("standard") != STANDARD:
        raise NotCanonical(f"an export is an object whose standard is {STANDARD}")
    records = document.get("attestations")
    if not isinstance(records, list):
        raise NotCanonical("attestations is a list")
    return records, {"keys": document.get("keys", [])}


def verify_attestations(
    records: Sequence[Any],
    keys: Iterable[AuditorKey],
    *,
    exact: bool = False,
    max_age: timedelta | None = None,
    at: datetime | None = None,
) -> ChainVerdict:
    """Judge a whole chain as of `at`, its first record first, or the newest first as a list of a registry has it. Never raises.

    Amounts may differ by 0.001 (C6) and 0.01 (C7); with `exact` by nothing. With `max_age` an older head fails C8.
    """
    judged = _Evaluation(keys, exact=exact)
    timestamp = at or datetime.now(UTC)
    for record in reversed(records) if falls(records) else records:
        judged.evaluate(record)
    judged.judge_head(timestamp, max_age)
    steps = tuple(
        Step(check, holds=check not in judged.failed, said=judged.failed.get(check, said))
        for check, said in CHECKS.items()
    )
    head = (judged.last_id, judged.last_digest if judged.last_id is not None else None)
    return ChainVerdict(code_of(steps), steps, tuple(judged.warnings(timestamp)), len(records), *head)


def read_record(record: Any, keys: Iterable[AuditorKey]) -> Mapping[str, Any]:
    """Return the payload of one record, if a key of the auditor signed it; its chain is not looked at. Raises: NotCanonical."""
    if not isinstance(record, Mapping):
        raise NotCanonical("an attestation is an object")
    judged = _Evaluation(keys, exact=True)
    try:
        payload = _payload(record)
        for check in (judged.key, judged.digest, judged.signature):
            check(record, payload)
        return judged.envelope(record, payload)
    except Refusal as error:
        raise NotCanonical(f"{error.code}: {error.said}") from None


class _Evaluation:
    """A chain as it is judged; a check raises `Refusal` with its own code."""

    last_id: int | None = None
    last_ts: datetime | None = None
    last_digest = NO_HASH
    frame: object = None
    seq: int | None = None
    basis: str | None = None
    has_provenance = False

    def __init__(self, keys: Iterable[AuditorKey], *, exact: bool) -> None:
        self.keys, self.exact = {key.kid: key for key in keys}, exact
        self.underived = {
            key.kid for key in self.keys.values() if key.kid != sha256(key.public_key).hexdigest()[:16]
        }
        self.failed: dict[str, str] = {}
        self.breaches: list[int] = []
        self.gaps: list[str] = []

    def evaluate(self, record: Any) -> None:
        if not isinstance(record, Mapping):
            self.failed.setdefault("C5", "a record is an object")
            return
        try:
            payload: bytes | None = _payload(record)
        except Refusal as error:
            payload = None
            self._fail(record, error)
        self._each((self.key, self.link), record, record, payload)
        if payload is not None:
            self._each((self.digest, self.signature, self._content), record, record, payload)
        self.last_digest = str(record.get("digest"))

    def judge_head(self, timestamp: datetime, max_age: timedelta | None) -> None:
        if self.last_ts is None:
            self.failed.setdefault("C5", "the chain has no readable record")
        elif self.last_ts > timestamp + CLOCK_SKEW:
            self.failed.setdefault("C8", f"the head is of {self.last_ts.isoformat()}, in the future")
        elif max_age is not None and timestamp - self.last_ts > max_age:
            self.failed.setdefault("C8", f"the head is of {self.last_ts.isoformat()}, older than asked for")

    def warnings(self, timestamp: datetime) -> Iterable[Warned]:
        if self.last_ts is not None and timestamp - self.last_ts > WATCHED_WITHIN:
            yield Warned("unwatched", f"the newest record is of {self.last_ts.isoformat()}")
        if self.breaches:
            yield Warned("breach", f"{len(self.breaches)} records attest a breach, first {self.breaches[0]}")
        if self.gaps:
            yield Warned("gap", f"{len(self.gaps)} gaps without records, last {self.gaps[-1]}")

    def key(self, record: Mapping[str, Any], _: bytes | None) -> None:
        key = self.keys.get(str(record.get("kid")))
        if key is None:
            raise Refusal("C1", "its key is unknown")
        if key.kid in self.underived:
            raise Refusal("C1", "the id of its key is not derived from the key")
        number = record.get("id")
        if key.retired_at_id is not None and (type(number) is not int or number > key.retired_at_id):
            raise Refusal("C1", f"its key was retired after record {key.retired_at_id}")

    def digest(self, record: Mapping[str, Any], payload: bytes) -> None:
        if sha256(payload).hexdigest() != record.get("digest"):
            raise Refusal("C2", "the digest is not that of the payload")

    def signature(self, record: Mapping[str, Any], payload: bytes) -> None:
        key = self.keys.get(str(record.get("kid")))
        if key is None:
            raise Refusal("C3", "there is no key to verify its signature")
        try:
            signature = decoded(record.get("signature"))
        except NotBase64url as error:
            raise Refusal("C3", f"the signature: {error}") from None
        if not is_signed(key.public_key, signature, payload):
            raise Refusal("C3", "the signature is not by its key over the payload")

    def link(self, record: Mapping[str, Any], _: bytes | None) -> None:
        if record.get("prev_hash") != self.last_digest:
            raise Refusal("C4", f"it does not continue the record with digest {self.last_digest}")

    def envelope(self, record: Mapping[str, Any], payload: bytes) -> Mapping[str, Any]:
        """The members of the payload, which the envelope repeats."""
        said = _read_payload(payload)
        for member in ("frame", "ts", "kind", "prev_hash"):
            if type(said.get(member)) is not str or record.get(member) != said[member]:
                raise Refusal("C5", f"the envelope and the payload differ in {member}")
        self.frame = said["frame"] if self.frame is None else self.frame
        if said["frame"] != self.frame:
            raise Refusal("C5", "it belongs to another frame than the records before")
        number, ts = record.get("id"), read_moment(said["ts"])
        if ts is None:
            raise Refusal("C5", "its time is not ISO 8601 with an offset from UTC")
        if type(number) is not int or (self.last_id is not None and number <= self.last_id):
            raise Refusal("C5", "its id does not rise")
        if self.last_ts is not None and ts <= self.last_ts:
            raise Refusal("C5", "its time does not rise")
        self.last_id, self.last_ts = number, ts
        return said

    def _each(self, checks: Iterable[Callable[..., Any]], record: Mapping[str, Any], *judged: Any) -> None:
        for check in checks:
            try:
                check(*judged)
            except Refusal as error:
                self._fail(record, error)

    def _fail(self, record: Mapping[str, Any], error: Refusal) -> None:
        name = f"record {record.get('id')!r}"[:60]
        self.failed.setdefault(error.code, f"{name}: {error.said}")

    def _content(self, record: Mapping[str, Any], payload: bytes) -> None:
        said = self.envelope(record, payload)
        if said["kind"] in PROVENANCE:
            self.has_provenance = True
            _require_provenance(said)
            return
        checks = (
            self._invariant,
            self._liabilities,
            self._status,
            self._native,
            self._results,
            self._progress,
        )
        self._each(checks, record, said)
        if "BREACH" in (said.get("status"), said.get("live_status")):
            self.breaches.append(record["id"])
        if isinstance(gap := said.get("gap"), Mapping):
            self.gaps.append(f"{gap.get('from')} to {gap.get('to')}"[:100])

    def _invariant(self, said: Mapping[str, Any]) -> None:
        terms, delta = said.get("terms"), said.get("delta")
        if terms is None and delta is None:
            return
        if not isinstance(terms, Mapping):
            raise Refusal("C6", "there is a delta without terms")
        issued, destroyed, transit, net, circulating = (_number(terms.get(name), "C6") for name in TERMS)
        supply = _EXACT.add(_EXACT.subtract(issued, destroyed), transit)
        if not self._is_near(net, supply):
            raise Refusal("C6", "net supply is not issued minus destroyed plus transit")
        if not self._is_near(_number(delta, "C6"), _EXACT.subtract(net, circulating)):
            raise Refusal("C6", "the delta is not net supply minus circulating")

    def _liabilities(self, said: Mapping[str, Any]) -> None:
        if said.get("liabilities") is None:
            return
        committed, terms = read_liabilities(said), said.get("terms")
        circulating = terms.get("circulating") if isinstance(terms, Mapping) else None
        if committed is None or _number(circulating, "C6") * UNIT != committed.total:
            raise Refusal("C6", "the total of the liabilities is not what circulates")

    def _status(self, said: Mapping[str, Any]) -> None:
        status, delta = said.get("status"), said.get("delta")
        if status is None and delta is None:
            return
        if status not in ("OK", "BREACH") or not self._follows(_number(delta, "C7"), is_ok=status == "OK"):
            raise Refusal("C7", f"the status is {status!r} and the delta {delta}")

    def _native(self, said: Mapping[str, Any]) -> None:
        native = said.get("native")
        if not isinstance(native, Mapping) or type(native.get("basis")) is not str:
            raise Refusal("C7", "the native coverage has no basis")
        is_ok, basis = native.get("ok"), native["basis"]
        if basis not in BASES:
            raise Refusal("C7", f"the basis {basis!r} is unknown"[:200])
        gap = native.get("gap") if native.get("gap_rebased") is None else native["gap_rebased"]
        if type(is_ok) not in (bool, type(None)) or (is_ok is None) != (basis in BASES_WITHOUT_VERDICT):
            raise Refusal("C7", f"native.ok {is_ok!r} does not fit the basis {basis!r}")
        if is_ok is not None and not self._follows(_number(gap, "C7"), is_ok=is_ok):
            raise Refusal("C7", f"native.ok is {is_ok} and the gap {gap}")

    def _results(self, said: Mapping[str, Any]) -> None:
        results = said.get("checks")
        if not isinstance(results, Mapping):
            raise Refusal("C7", "checks is no object")
        for name, result in results.items():
            if type(result) is not str or result not in RESULTS.get(name, ()):
                raise Refusal("C7", f"the check {name!r} has the result {result!r}"[:200])

    def _progress(self, said: Mapping[str, Any]) -> None:
        seq, native = said.get("as_of_event_seq"), said.get("native")
        basis = native.get("basis") if isinstance(native, Mapping) else None
        if seq is not None:
            if type(seq) is not int or (self.seq is not None and seq < self.seq):
                raise Refusal("C8", "the position in the log falls")
            self.seq = seq
        if type(basis) is not str or basis == "coverage_unknown":
            return
        if self.basis not in {None, basis} and not self.has_provenance:
            raise Refusal("C8", f"the basis changes to {basis!r} without a provenance record")
        self.basis, self.has_provenance = basis, False

    def _follows(self, difference: Decimal, *, is_ok: bool) -> bool:
        size = difference.copy_abs()
        if is_ok:
            return size <= (0 if self.exact else _STATUS_TOLERANCE)
        return size > (0 if self.exact else _BREACH_ABOVE)

    def _is_near(self, one: Decimal, other: Decimal) -> bool:
        return _EXACT.subtract(one, other).copy_abs() <= (0 if self.exact else _INVARIANT_TOLERANCE)


def falls(records: Sequence[Any]) -> bool:
    """Return whether more ids fall than rise, from one record to the next."""
    numbers = [record.get("id") if isinstance(record, Mapping) else None for record in records]
    steps = [
        after - before for before, after in pairwise(numbers) if type(before) is int and type(after) is int
    ]
    return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)


def _payload(record: Mapping[str, Any]) -> bytes:
    payload = record.get("payload")
    if type(payload) is not str or len(payload) > PAYLOAD_MAX_CHARACTERS:
        raise Refusal("C2", f"the payload is not a text of at most {PAYLOAD_MAX_CHARACTERS} characters")
    try:
        return payload.encode()
    except UnicodeEncodeError:
        raise Refusal("C2", "the payload has half of a surrogate pair") from None


def _read_payload(payload: bytes) -> Mapping[str, Any]:
    try:
        said = read_json(payload, exact=True)
    except NotCanonical as error:
        raise Refusal("C5", f"the payload: {error}") from None
    if not isinstance(said, Mapping) or said.get("standard") != STANDARD or said.get("kind") not in KINDS:
        raise Refusal("C5", f"the payload is not of a known kind of {STANDARD}")
    return said


def _require_provenance(said: Mapping[str, Any]) -> None:
    """A baseline is greater than 0, or removed; each act has its reason and its rail. Raises: Refusal."""
    kind, entry = said["kind"], said.get("entry")
    if said.get("rail") != RAILS[kind]:
        raise Refusal("C5", f"the rail of {kind} is {RAILS[kind]}")
    _require_reason(said)
    if kind == "transit_rebaselined":
        for name in ("old_baseline", "old_drift", "new_baseline"):
            _number(said.get(name), "C5")
    elif kind == "baseline_removed":
        if "entry" not in said or entry is not None:
            raise Refusal("C5", "the entry of a baseline that was removed is null")
    elif not isinstance(entry, Mapping) or _number(entry.get("baseline"), "C5") <= 0:
        raise Refusal("C5", "the entry has no baseline greater than 0")
    else:
        _require_reason(entry)
        if read_moment(entry.get("set_at")) is None:
            raise Refusal("C5", "the entry has no time at which the baseline was set")


def _require_reason(stated: Mapping[str, Any]) -> None:
    ref = stated.get("ref")
    if type(ref) is not str or not ref.strip():
        raise Refusal("C5", "a provenance record has a reason, ref")


def _number(value: object, check: str) -> Decimal:
    if type(value) is int and abs(value) < 10**60:
        return Decimal(value)
    if not isinstance(value, Decimal):
        raise Refusal(check, "an amount is not a number")
    return value
