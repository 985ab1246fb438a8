"""Whether a licence certificate counts: its chain, its root, and what the issuers' lists state (Specification 2).

An operator's issuer is a frame, a frame's is the genesis, the genesis signs itself. A root is trusted by its hash alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .card import CLOCK_SKEW, Step
from .licence import (
    BadLicence,
    Certificate,
    IssuedList,
    key_thumbprint,
    read_certificate,
    read_issued_list,
)

LIST_MAX_AGE = timedelta(days=7)

_PARENT_OF = {"operator": "frame", "frame": "genesis", "genesis": "genesis"}
_ENDED = ("revoked", "suspended", "superseded")


@dataclass(frozen=True)
class LicenceVerdict:
    """The judgement and its reason; `as_of` is the time of the oldest list by which the licence is not revoked.

    `code` is `verified`, `unverified`, `untrusted_root`, `revoked`, `suspended`, `superseded`, `expired` or `malformed`.
    """

    code: str
    reason: str
    steps: tuple[Step, ...]
    hash: str | None = None
    as_of: datetime | None = None
    expires_at: datetime | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the licence counts."""
        return self.code == "verified"


class _Ends(Exception):
    def __init__(self, code: str, step: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.step, self.reason = code, step, reason


def verify_licence(
    certificate: object,
    chain: Sequence[object],
    *,
    root_hash: str | None,
    lists: Iterable[object] = (),
    at: datetime | None = None,
    list_max_age: timedelta = LIST_MAX_AGE,
) -> LicenceVerdict:
    """Judge a certificate by its chain, the hash of the trusted genesis certificate and the issuers' lists, as of `at`.

    Never raises. Without `root_hash`, without a recent list of each issuer, or when the chain lacks a parent, the
    verdict is `unverified`.
    """
    judge = _Judge(at or datetime.now(UTC), root_hash, list_max_age)
    try:
        judge.read(certificate, chain, lists)
        judge.walk()
        judge.judge_root()
        judge.judge_lists()
    except _Ends as end:
        judge.steps.append(Step(end.step, holds=False, said=end.reason))
        return judge.verdict(end.code, end.reason)
    return judge.verdict("verified", "every step holds")


class _Judge:
    def __init__(self, moment: datetime, root_hash: str | None, list_max_age: timedelta) -> None:
        self.moment, self.root_hash, self.list_max_age = moment, root_hash, list_max_age
        self.steps: list[Step] = []
        self.path: list[Certificate] = []
        self.parents: list[Certificate] = []
        self.lists: list[IssuedList] = []
        self.as_of: datetime | None = None

    def read(self, certificate: object, chain: Sequence[object], lists: Iterable[object]) -> None:
        try:
            self.path = [read_certificate(certificate)]
            self.parents = [read_certificate(text) for text in chain]
            self.lists = [read_issued_list(text) for text in lists]
        except BadLicence as trouble:
            raise _Ends("malformed", "format", str(trouble)) from None
        self._holds("format", f"a certificate of type {self.path[0].kind}, hash {self.path[0].hash}")

    def walk(self) -> None:
        """From the certificate to the genesis, each signed by the key of the next."""
        while True:
            child = self.path[-1]
            parent = child if child.kind == "genesis" else self._parent_of(child)
            assert parent.public_key is not None
            if not child.signature.is_by(parent.public_key):
                raise _Ends("malformed", "signature", f"{child.hash} is not signed by the key of its issuer")
            _require_type_rules(child, parent)
            if datetime.fromtimestamp(child.payload["iat"], UTC) > self.moment + CLOCK_SKEW:
                raise _Ends("malformed", "issue time", f"{child.hash} was issued in the future")
            if child is parent:
                break
            self.path.append(parent)
        self._holds("chain", " issued by ".join(one.kind for one in self.path))

    def judge_root(self) -> None:
        root = self.path[-1].hash
        if self.root_hash is None:
            raise _Ends("unverified", "root", "no_trusted_root: no genesis certificate is trusted here")
        if root != self.root_hash.removeprefix("sha256:"):
            raise _Ends("untrusted_root", "root", f"the genesis certificate {root} is not the trusted one")
        self._holds("root", f"the genesis certificate {root} is the trusted one")

    def judge_lists(self) -> None:
        """No issuer states that a certificate of the chain ended, none expired, and every list is recent."""
        troubles = [trouble for one in self.path for trouble in self._troubles_of(one)]
        if ended := [trouble for trouble in troubles if trouble.code in _ENDED]:
            raise min(ended, key=lambda trouble: _ENDED.index(trouble.code))
        expires_at = self._expires_at()
        if expires_at is not None and expires_at <= self.moment:
            raise _Ends("expired", "expiry", f"expired at {expires_at.isoformat()}")
        self._holds("expiry", "perpetual" if expires_at is None else f"until {expires_at.isoformat()}")
        if troubles:
            raise troubles[0]
        assert self.as_of is not None
        self._holds("lists", f"not revoked as of {self.as_of.isoformat()}")

    def verdict(self, code: str, reason: str) -> LicenceVerdict:
        return LicenceVerdict(
            code,
            reason,
            tuple(self.steps),
            self.path[0].hash if self.path else None,
            self.as_of,
            self._expires_at(),
        )

    def _holds(self, step: str, said: str) -> None:
        self.steps.append(Step(step, holds=True, said=said))

    def _expires_at(self) -> datetime | None:
        ends = [one.payload["exp"] for one in self.path if one.payload["exp"] is not None]
        return datetime.fromtimestamp(min(ends), UTC) if ends else None

    def _parent_of(self, child: Certificate) -> Certificate:
        for parent in self.parents:
            if parent.public_key is not None and child.issuer == (
                parent.payload["sub"]["trust_domain"],
                key_thumbprint(parent.public_key),
            ):
                return parent
        if child.kind == "operator" and child.payload["network"] is None:
            raise _Ends("unverified", "chain", "no_network: its frame belongs to no network")
        raise _Ends("unverified", "chain", f"no_issuer: the chain lacks the issuer of {child.hash}")

    def _troubles_of(self, one: Certificate) -> Iterable[_Ends]:
        at = self.path.index(one)
        issuer_key = self.path[min(at + 1, len(self.path) - 1)].public_key
        assert issuer_key is not None
        signed = [
            issued
            for issued in self.lists
            if issued.issuer == one.issuer
            and issued.generated_at <= self.moment + CLOCK_SKEW
            and issued.signature.is_by(issuer_key)
        ]
        if not signed:
            yield _Ends("unverified", "lists", f"no_list: no list of {one.issuer[0]} is at hand")
            return
        newest = max(signed, key=lambda issued: issued.generated_at)
        self.as_of = newest.generated_at if self.as_of is None else min(self.as_of, newest.generated_at)
        yield from self._stated(one, newest)
        if self.moment - newest.generated_at > self.list_max_age:
            said = f"old_list: the list of {one.issuer[0]} is of {newest.generated_at.isoformat()}"
            yield _Ends("unverified", "lists", said)

    def _stated(self, one: Certificate, newest: IssuedList) -> Iterable[_Ends]:
        entries = [
            entry
            for entry in newest.licences
            if entry["hash"] == one.hash or entry["lid"] == one.payload["lid"]
        ]
        if not any(entry["hash"] == one.hash for entry in entries):
            yield _Ends("unverified", "lists", f"not_listed: {one.issuer[0]} does not list {one.hash}")
        for entry in entries:
            state = entry["state"]
            if state in _ENDED and not (state == "superseded" and self._is_covered(one, newest)):
                yield _Ends(state, "lists", f"{one.issuer[0]} lists {one.hash} as {state}")

    def _is_covered(self, one: Certificate, newest: IssuedList) -> bool:
        """Whether an active certificate of the same subject and key exists; that of a key is at hand only in the chain."""
        active = {
            entry["hash"]
            for entry in newest.licences
            if entry["state"] == "active"
            and (entry["type"], entry["sub_trust_domain"]) == one.subject[:2]
            and one.subject[2] in {None, entry["sub_name"]}
        }
        if one.kind == "operator":
            return bool(active)
        return any(other.hash in active and other.public_key == one.public_key for other in self.parents)


def _require_type_rules(child: Certificate, parent: Certificate) -> None:
    sub, network = child.payload["sub"], child.payload["network"]
    rules = {
        "its issuer has another type": parent.kind == _PARENT_OF[child.kind],
        "it names another network than its issuer": network == parent.payload["network"],
    }
    if child.kind == "genesis":
        own_key = key_thumbprint(child.public_key or b"")
        rules["a genesis certificate is issued to its issuer"] = (
            child.issuer == (sub["trust_domain"], own_key)
            and child.payload["iss"]["licence"] is None
            and network == sub["trust_domain"]
            and child.payload["plan"] == "genesis"
        )
    elif child.kind == "frame":
        rules["a frame has another trust domain than the genesis"] = sub["trust_domain"] != child.issuer[0]
    else:
        rules["an operator has the trust domain of its frame"] = sub["trust_domain"] == child.issuer[0]
    for reason, holds in rules.items():
        if not holds:
            raise _Ends("malformed", "type rules", f"{child.hash}: {reason}")
