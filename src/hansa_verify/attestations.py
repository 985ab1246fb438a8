"""Whether a chain of supply attestations (SA-1.0) is whole, signed and says what follows from its own numbers.

Each record must hold all checks:

- C1 the key is known, its id is derived from it, and it was not retired before the record; C2 the digest is that of the
  payload; C3 the signature is by that key; C4 the record names the digest of the one before, 64 zeros first;
- C5 the envelope says what the payload says, ids and times rise; C6 net supply and delta follow from the terms, and the
  liabilities add up to what circulates; C7 the status follows from the delta, and `native.ok` from its gap; C8 the position
  in the log never falls, the native basis changes only after a provenance record, and the head is not from the future.

What is null is skipped. A breach, a gap and an old head are warnings: the chain is then honest about something bad.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .base64url import NotBase64url, decoded
from .canonical import NotCanonical, read_json
from .card import CLOCK_SKEW, KEYS_MAX, Step
from .keys import NotAKey, public_key_of
from .liabilities import UNIT, read_liabilities

STANDARD = "SA-1.0"
NO_HASH = "0" * 64
WATCHED_WITHIN = timedelta(minutes=10)
PAYLOAD_MAX_CHARACTERS = 16 * 1024
PROVENANCE = ("baseline_set", "baseline_removed", "transit_rebaselined")
KINDS = ("audit", *PROVENANCE)
TERMS = ("issued", "destroyed", "transit_net", "net_supply", "circulating")
BASES_WITHOUT_VERDICT = frozenset({"pre_baseline_genesis", "coverage_unknown"})
CHECKS = {
    "C1": "every record is signed under a known key",
    "C2": "every digest is that of its payload",
    "C3": "every signature is by its key",
    "C4": "every record continues the one before",
    "C5": "every envelope says what its payload says, ids and times rise",
    "C6": "net supply and delta follow from the terms",
    "C7": "every status follows from its delta, native coverage from its gap",
    "C8": "positions in the log never fall, the basis changes only with a provenance record",
}

# Amounts have at most 60 digits on either side of the point: sums of them are exact here.
_EXACT = Context(prec=200)
_INVARIANT_TOLERANCE, _STATUS_TOLERANCE = Decimal("0.001"), Decimal("0.01")
_BREACH_ABOVE = Decimal("0.000001")


@dataclass(frozen=True)
class AuditorKey:
    """A key of an auditor; records after `retired_at_id` are not valid under it."""

    kid: str
    public_key: bytes
    retired_at_id: int | None = None


@dataclass(frozen=True)
class Warned:
    """Something that a reader should know although the chain is valid."""

    code: str
    said: str


@dataclass(frozen=True)
class ChainVerdict:
    """The judgement: `code` is `verified`, or the first check that a record did not hold."""

    code: str
    steps: tuple[Step, ...]
    warnings: tuple[Warned, ...]
    records: int
    head_id: int | None = None
    head_digest: str | None = None

    @property
    def is_valid(self) -> bool:
        """Whether every check holds."""
        return self.code == "verified"


class _Fails(Exception):
    def __init__(self, check: str, said: str) -> None:
        super().__init__(said)
        self.check, self.said = check, said


def read_auditor_keys(document: Any) -> tuple[AuditorKey, ...]:
    """The keys of an auditor's key set. Raises: NotAKey, also when two keys share a kid."""
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or len(listed) > KEYS_MAX:
        raise NotAKey("a key set is an object whose member keys is a list of bounded length")
    keys = tuple(_read_key(jwk) for jwk in listed)
    if len({key.kid for key in keys}) != len(keys):
        raise NotAKey("two keys of the set have the same kid")
    return keys


def read_export(text: bytes | str) -> tuple[list[Any], Any]:
    """The records of an export, the first of the chain first, and its key set. Raises: NotCanonical."""
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
    """Judge a whole chain, its first record first, as of `at`. Never raises.

    Amounts may differ by 0.001 (C6) and 0.01 (C7); with `exact` by nothing. With `max_age` an older head fails C8.
    """
    judge = _Judge({key.kid: key for key in keys}, exact=exact)
    moment = at or datetime.now(UTC)
    for record in records:
        judge.judge(record)
    judge.judge_head(moment, max_age)
    steps = tuple(
        Step(check, holds=check not in judge.failed, said=judge.failed.get(check, said))
        for check, said in CHECKS.items()
    )
    return ChainVerdict(
        code=next((step.name for step in steps if not step.holds), "verified"),
        steps=steps,
        warnings=tuple(judge.warnings(moment)),
        records=len(records),
        head_id=judge.last_id,
        head_digest=judge.last_digest if judge.last_id is not None else None,
    )


def read_record(record: Any, keys: Iterable[AuditorKey]) -> Mapping[str, Any]:
    """What one record says, if a key of the auditor signed it; its chain is not looked at. Raises: NotCanonical."""
    if not isinstance(record, Mapping):
        raise NotCanonical("an attestation is an object")
    judge = _Judge({key.kid: key for key in keys}, exact=True)
    try:
        judge.require_signed(record)
        payload = _read_payload(_payload(record))
        judge.require_envelope(record, payload)
    except _Fails as trouble:
        raise NotCanonical(f"{trouble.check}: {trouble.said}") from None
    return payload


@dataclass
class _Judge:
    keys: Mapping[str, AuditorKey]
    exact: bool
    failed: dict[str, str] = field(default_factory=dict)
    last_id: int | None = None
    last_ts: datetime | None = None
    last_digest: str = NO_HASH
    frame: object = None
    seq: int | None = None
    basis: str | None = None
    has_provenance: bool = False
    breaches: list[int] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    _verifiers: dict[str, Ed25519PublicKey] = field(default_factory=dict)

    def judge(self, record: Any) -> None:
        if not isinstance(record, Mapping):
            self.failed.setdefault("C5", "a record is an object")
            return
        checks: list[Callable[[], None]] = [lambda: self._key(record), lambda: self._link(record)]
        try:
            payload = _payload(record)
            checks += [
                lambda: self._digest(record, payload),
                lambda: self._signature(record, payload),
                lambda: self._content(record, payload),
            ]
        except _Fails as trouble:
            self._fail(record, trouble)
        for check in checks:
            try:
                check()
            except _Fails as trouble:
                self._fail(record, trouble)
        self.last_digest = str(record.get("digest"))

    def _fail(self, record: Mapping[str, Any], trouble: _Fails) -> None:
        name = f"record {record.get('id')!r}"[:60]
        self.failed.setdefault(trouble.check, f"{name}: {trouble.said}")

    def judge_head(self, moment: datetime, max_age: timedelta | None) -> None:
        if self.last_ts is None:
            self.failed.setdefault("C5", "the chain has no readable record")
        elif self.last_ts > moment + CLOCK_SKEW:
            self.failed.setdefault("C8", f"the head is of {self.last_ts.isoformat()}, in the future")
        elif max_age is not None and moment - self.last_ts > max_age:
            self.failed.setdefault("C8", f"the head is of {self.last_ts.isoformat()}, older than asked for")

    def warnings(self, moment: datetime) -> Iterable[Warned]:
        if self.last_ts is not None and moment - self.last_ts > WATCHED_WITHIN:
            yield Warned("unwatched", f"the newest record is of {self.last_ts.isoformat()}")
        if self.breaches:
            yield Warned("breach", f"{len(self.breaches)} records attest a breach, first {self.breaches[0]}")
        if self.gaps:
            yield Warned("gap", f"{len(self.gaps)} gaps without records, last {self.gaps[-1]}")

    def require_signed(self, record: Mapping[str, Any]) -> None:
        payload = _payload(record)
        self._key(record)
        self._digest(record, payload)
        self._signature(record, payload)

    def _key(self, record: Mapping[str, Any]) -> None:
        key = self.keys.get(str(record.get("kid")))
        if key is None:
            raise _Fails("C1", "its key is unknown")
        if key.kid != sha256(key.public_key).hexdigest()[:16]:
            raise _Fails("C1", "the id of its key is not derived from the key")
        number = record.get("id")
        if key.retired_at_id is not None and (type(number) is not int or number > key.retired_at_id):
            raise _Fails("C1", f"its key was retired after record {key.retired_at_id}")

    def _digest(self, record: Mapping[str, Any], payload: bytes) -> None:
        if sha256(payload).hexdigest() != record.get("digest"):
            raise _Fails("C2", "the digest is not that of the payload")

    def _signature(self, record: Mapping[str, Any], payload: bytes) -> None:
        key = self.keys.get(str(record.get("kid")))
        if key is None:
            raise _Fails("C3", "there is no key to verify its signature")
        if key.kid not in self._verifiers:
            self._verifiers[key.kid] = Ed25519PublicKey.from_public_bytes(key.public_key)
        try:
            self._verifiers[key.kid].verify(decoded(record.get("signature")), payload)
        except (InvalidSignature, NotBase64url):
            raise _Fails("C3", "the signature is not by its key over the payload") from None

    def _link(self, record: Mapping[str, Any]) -> None:
        if record.get("prev_hash") != self.last_digest:
            raise _Fails("C4", f"it does not continue the record with digest {self.last_digest}")

    def _content(self, record: Mapping[str, Any], payload: bytes) -> None:
        said = _read_payload(payload)
        self.require_envelope(record, said)
        if said["kind"] in PROVENANCE:
            self.has_provenance = True
            return
        for check in (self._invariant, self._liabilities, self._status, self._native, self._progress):
            try:
                check(said)
            except _Fails as trouble:
                self._fail(record, trouble)
        if said.get("status") == "BREACH" or said.get("live_status") == "BREACH":
            self.breaches.append(record["id"])
        if isinstance(gap := said.get("gap"), Mapping):
            self.gaps.append(f"{gap.get('from')} to {gap.get('to')}"[:100])

    def require_envelope(self, record: Mapping[str, Any], said: Mapping[str, Any]) -> None:
        if said.get("standard") != STANDARD or said.get("kind") not in KINDS:
            raise _Fails("C5", f"the payload is not of a known kind of {STANDARD}")
        for member in ("frame", "ts", "kind", "prev_hash"):
            if type(said.get(member)) is not str or record.get(member) != said[member]:
                raise _Fails("C5", f"the envelope and the payload differ in {member}")
        self.frame = said["frame"] if self.frame is None else self.frame
        if said["frame"] != self.frame:
            raise _Fails("C5", "it belongs to another frame than the records before")
        number, ts = record.get("id"), _moment(said["ts"])
        if type(number) is not int or (self.last_id is not None and number <= self.last_id):
            raise _Fails("C5", "its id does not rise")
        if self.last_ts is not None and ts <= self.last_ts:
            raise _Fails("C5", "its time does not rise")
        self.last_id, self.last_ts = number, ts

    def _invariant(self, said: Mapping[str, Any]) -> None:
        terms, delta = said.get("terms"), said.get("delta")
        if terms is None and delta is None:
            return
        if not isinstance(terms, Mapping):
            raise _Fails("C6", "there is a delta without terms")
        issued, destroyed, transit, net, circulating = (_number(terms.get(name), "C6") for name in TERMS)
        supply = _EXACT.add(_EXACT.subtract(issued, destroyed), transit)
        if not self._is_near(net, supply, _INVARIANT_TOLERANCE):
            raise _Fails("C6", "net supply is not issued minus destroyed plus transit")
        if not self._is_near(_number(delta, "C6"), _EXACT.subtract(net, circulating), _INVARIANT_TOLERANCE):
            raise _Fails("C6", "the delta is not net supply minus circulating")

    def _liabilities(self, said: Mapping[str, Any]) -> None:
        if said.get("liabilities") is None:
            return
        committed, terms = read_liabilities(said), said.get("terms")
        circulating = terms.get("circulating") if isinstance(terms, Mapping) else None
        if committed is None or _number(circulating, "C6") * UNIT != committed.total:
            raise _Fails("C6", "the total of the liabilities is not what circulates")

    def _status(self, said: Mapping[str, Any]) -> None:
        status, delta = said.get("status"), said.get("delta")
        if status is None and delta is None:
            return
        size = _number(delta, "C7").copy_abs()
        if status not in ("OK", "BREACH") or not self._follows(size, is_ok=status == "OK"):
            raise _Fails("C7", f"the status is {status!r} and the delta {delta}")

    def _native(self, said: Mapping[str, Any]) -> None:
        native = said.get("native")
        if not isinstance(native, Mapping) or type(native.get("basis")) is not str:
            raise _Fails("C7", "the native coverage has no basis")
        is_ok, basis = native.get("ok"), native["basis"]
        gap = native.get("gap") if native.get("gap_rebased") is None else native["gap_rebased"]
        if is_ok is None:
            if basis not in BASES_WITHOUT_VERDICT:
                raise _Fails("C7", f"the basis {basis!r} has no verdict")
        elif type(is_ok) is not bool or basis in BASES_WITHOUT_VERDICT:
            raise _Fails("C7", "the native verdict does not fit its basis")
        elif gap is None or not self._follows(_number(gap, "C7").copy_abs(), is_ok=is_ok):
            raise _Fails("C7", f"native.ok is {is_ok} and the gap {gap}")

    def _progress(self, said: Mapping[str, Any]) -> None:
        seq, native = said.get("as_of_event_seq"), said.get("native")
        basis = native.get("basis") if isinstance(native, Mapping) else None
        if seq is not None:
            if type(seq) is not int or (self.seq is not None and seq < self.seq):
                raise _Fails("C8", "the position in the log falls")
            self.seq = seq
        if type(basis) is not str or basis == "coverage_unknown":
            return
        if self.basis not in {None, basis} and not self.has_provenance:
            raise _Fails("C8", f"the basis changes to {basis!r} without a provenance record")
        self.basis, self.has_provenance = basis, False

    def _follows(self, size: Decimal, *, is_ok: bool) -> bool:
        if is_ok:
            return size <= (0 if self.exact else _STATUS_TOLERANCE)
        return size > (0 if self.exact else _BREACH_ABOVE)

    def _is_near(self, one: Decimal, other: Decimal, tolerance: Decimal) -> bool:
        return _EXACT.subtract(one, other).copy_abs() <= (0 if self.exact else tolerance)


def _payload(record: Mapping[str, Any]) -> bytes:
    payload = record.get("payload")
    if type(payload) is not str or len(payload) > PAYLOAD_MAX_CHARACTERS:
        raise _Fails("C2", f"the payload is not a text of at most {PAYLOAD_MAX_CHARACTERS} characters")
    try:
        return payload.encode()
    except UnicodeEncodeError:
        raise _Fails("C2", "the payload has half of a surrogate pair") from None


def _read_payload(payload: bytes) -> Mapping[str, Any]:
    try:
        said = read_json(payload, exact=True)
    except NotCanonical as trouble:
        raise _Fails("C5", f"the payload: {trouble}") from None
    if not isinstance(said, Mapping):
        raise _Fails("C5", "the payload is not an object")
    return said


def _number(value: object, check: str) -> Decimal:
    if type(value) is int and abs(value) < 10**60:
        return Decimal(value)
    if not isinstance(value, Decimal):
        raise _Fails(check, "an amount is not a number")
    return value


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Fails("C5", "its time is not ISO 8601") from None
    if moment.tzinfo is None:
        raise _Fails("C5", "its time has no offset from UTC")
    return moment


def _read_key(jwk: Any) -> AuditorKey:
    if not isinstance(jwk, Mapping) or not isinstance(jwk.get("kid"), str):
        raise NotAKey("a key of a set is an object with a kid")
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", "EdDSA") != "EdDSA":
        raise NotAKey("a key of an auditor is for signing with EdDSA")
    retired = jwk.get("retired_at_id")
    if retired is not None and (type(retired) is not int or retired < 0):
        raise NotAKey("retired_at_id is the id of a record")
    return AuditorKey(jwk["kid"], public_key_of(jwk), retired)
