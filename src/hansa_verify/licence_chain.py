"""Judge whether a licence certificate counts: its chain, its root, and the issuers' lists (Specification 2).

An operator's issuer is a frame, a frame's is the genesis, the genesis signs itself. A root is trusted by its hash alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .keys import CLOCK_SKEW
from .licence import (
    Certificate,
    IssuedList,
    key_thumbprint,
    kind_of_plan,
    read_certificate,
    read_issued_list,
)
from .steps import Decision, Evaluation, Refusal, refused_as

LIST_MAX_AGE = timedelta(days=7)

_PARENT_OF = {"operator": "frame", "frame": "genesis", "genesis": "genesis"}
_ENDED = ("revoked", "suspended", "superseded")


@dataclass(frozen=True)
class LicenceVerdict(Decision):
    """The judgement; `as_of` is the time of the oldest list by which the licence is not revoked.

    `code` is `verified`, `unverified`, `untrusted_root`, `revoked`, `suspended`, `superseded`, `expired` or `malformed`.
    """

    reason: str
    hash: str | None = None
    as_of: datetime | None = None
    expires_at: datetime | None = None


def verify_licence(
    certificate: object,
    chain: Sequence[object],
    *,
    root_hash: str | None,
    lists: Iterable[object] = (),
    at: datetime | None = None,
    list_max_age: timedelta = LIST_MAX_AGE,
    declared_hash: object = None,
) -> LicenceVerdict:
    """Judge a certificate by its chain, the hash of the trusted genesis certificate and the issuers' lists, as of `at`.

    `declared_hash` is the hash that its document states, None where it states none. Never raises. Without `root_hash`, without a recent list of each issuer, or when the chain lacks a parent, the
    verdict is `unverified`.
    """
    return LicenceEvaluation(
        (certificate, chain, lists, declared_hash), root_hash, list_max_age, at or datetime.now(UTC)
    ).verdict()


class LicenceEvaluation(Evaluation):
    """Decision of a certificate by the newest list of each issuer."""

    unissued = "malformed"
    skew = CLOCK_SKEW

    def __init__(
        self,
        stated: tuple[object, Sequence[object], Iterable[object], object],
        root_hash: str | None,
        list_max_age: timedelta,
        timestamp: datetime,
    ) -> None:
        self.stated, self.root_hash, self.list_max_age, self.moment = (
            stated,
            root_hash,
            list_max_age,
            timestamp,
        )
        self.path: list[Certificate] = []
        self.troubles: list[Refusal] = []
        self.as_of: datetime | None = None

    def verdict(self) -> LicenceVerdict:
        """The judgement of every step."""
        code, steps = self.take()
        reason = "every step holds" if code == "verified" else steps[-1].said
        own_hash = self.path[0].hash if self.path else None
        return LicenceVerdict(code, steps, reason, own_hash, self.as_of, self.expires_at())

    def format(self) -> str:
        certificate, chain, lists, declared_hash = self.stated
        with refused_as("malformed"):
            self.path = [read_certificate(certificate)]
            self.parents = [read_certificate(text) for text in chain]
            self.issued = [read_issued_list(text) for text in lists]
        if declared_hash not in (None, self.path[0].hash):
            raise Refusal("malformed", f"the document states another hash than {self.path[0].hash}")
        return f"a certificate of type {self.path[0].kind}, hash {self.path[0].hash}"

    def chain(self) -> str:
        """From the certificate to the genesis, each signed by the key of the next."""
        while True:
            child = self.path[-1]
            parent = child if child.kind == "genesis" else self._parent_of(child)
            assert parent.public_key is not None
            if not child.signature.is_by(parent.public_key):
                raise Refusal(
                    "malformed", f"{child.hash} is not signed by the key of its issuer", "signature"
                )
            _require_type_rules(child, parent)
            if datetime.fromtimestamp(child.payload["iat"], UTC) > self.moment + self.skew:
                raise Refusal(self.unissued, f"{child.hash} was issued in the future", "issue time")
            if child is parent:
                return " issued by ".join(one.kind for one in self.path)
            self.path.append(parent)

    def root(self) -> str:
        root = self.path[-1].hash
        if self.root_hash is None:
            raise Refusal("unverified", "no_trusted_root: no genesis certificate is trusted here")
        if root != self.root_hash.removeprefix("sha256:"):
            raise Refusal("untrusted_root", f"the genesis certificate {root} is not the trusted one")
        return f"the genesis certificate {root} is the trusted one"

    def expiry(self) -> str:
        """None expired. That an issuer ended a certificate counts for more."""
        self.troubles = [error for number in range(len(self.path)) for error in self._troubles_of(number)]
        if ended := [error for error in self.troubles if error.code in _ENDED]:
            raise min(ended, key=lambda error: _ENDED.index(error.code))
        expires_at = self.expires_at()
        if expires_at is not None and expires_at <= self.moment:
            raise Refusal("expired", f"expired at {expires_at.isoformat()}")
        return "perpetual" if expires_at is None else f"until {expires_at.isoformat()}"

    def lists(self) -> str:
        """A recent list of each issuer has each certificate of the chain."""
        if self.troubles:
            raise self.troubles[0]
        assert self.as_of is not None
        return f"not revoked as of {self.as_of.isoformat()}"

    steps = (format, chain, root, expiry, lists)  # noqa: A003

    def expires_at(self) -> datetime | None:
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
            raise Refusal("unverified", "no_network: its frame belongs to no network")
        raise Refusal("unverified", f"no_issuer: the chain lacks the issuer of {child.hash}")

    def _troubles_of(self, number: int) -> Iterator[Refusal]:
        """Yield the refusals of a certificate of the path that follow from the lists of its issuer."""
        one, issuer_key = self.path[number], self.path[min(number + 1, len(self.path) - 1)].public_key
        assert issuer_key is not None
        issuers = (issued for issued in self.issued if issued.issuer == one.issuer)
        return self.troubles_by(one, [issued for issued in issuers if issued.signature.is_by(issuer_key)])

    def troubles_by(self, one: Certificate, signed: Sequence[IssuedList]) -> Iterator[Refusal]:
        """Yield the refusals of a certificate that follow from the newest of these lists of its issuer."""
        present = [issued for issued in signed if issued.generated_at <= self.moment + self.skew]
        if not present:
            yield unlisted(f"no_list: no list of {one.issuer[0]} is at hand")
            return
        generated_at = max(issued.generated_at for issued in present)
        self.known_as_of(generated_at)
        newest = [issued for issued in present if issued.generated_at == generated_at]
        for issued in newest:
            yield from self.stated_of(one, issued)
        yield from differing_lists(one, newest)
        if self.moment - generated_at > self.list_max_age:
            yield unlisted(f"old_list: the list of {one.issuer[0]} is of {generated_at.isoformat()}")

    def known_as_of(self, timestamp: datetime) -> None:
        """Note that the state of a certificate of the path is known as of this time."""
        self.as_of = min(self.as_of or timestamp, timestamp)

    def stated_of(self, one: Certificate, newest: IssuedList) -> Iterator[Refusal]:
        """Yield the refusals of a certificate that follow from a list."""
        named = [entry for entry in newest.licences if one.is_named_by(entry)]
        own = [entry for entry in named if entry["hash"] == one.hash]
        if not own:
            yield unlisted(f"not_listed: {one.issuer[0]} does not list {one.hash}")
        for state in (entry["state"] for entry in named):
            if state in _ENDED and not (state == "superseded" and self.is_covered(one, newest)):
                yield Refusal(state, f"{one.issuer[0]} lists {one.hash} as {state}", "lists")
        if len({entry["state"] for entry in own}) > 1:
            yield unlisted(f"contradiction: {one.issuer[0]} lists {one.hash} in two states")
        for entry in own:
            if differing := [name for name, value in one.listed.items() if entry[name] != value]:
                names = ", ".join(differing)
                yield unlisted(f"contradiction: {one.issuer[0]} lists {one.hash} with another {names}")
            ends = one.payload["exp"]
            if entry["state"] == "expired" and (
                ends is None or datetime.fromtimestamp(ends, UTC) > newest.generated_at
            ):
                yield unlisted(
                    f"contradiction: {one.issuer[0]} lists {one.hash} as expired before it expires"
                )

    def is_covered(self, one: Certificate, newest: IssuedList) -> bool:
        """Return whether an active certificate of the same subject and key exists; that of a key is at hand only in the chain."""
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


def differing_lists(one: Certificate, lists: Sequence[IssuedList]) -> Iterator[Refusal]:
    """Yield a refusal when lists of one second differ."""
    if any(issued.signature.payload != lists[0].signature.payload for issued in lists):
        second = lists[0].generated_at.isoformat()
        yield unlisted(f"two_lists: {one.issuer[0]} signed two different lists at {second}")


def unlisted(said: str) -> Refusal:
    """The refusal of a certificate that the lists do not decide."""
    return Refusal("unverified", said, "lists")


def _require_type_rules(child: Certificate, parent: Certificate) -> None:
    sub, network = child.payload["sub"], child.payload["network"]
    plan = child.payload["plan"]
    rules = {
        "its issuer has another type": parent.kind == _PARENT_OF[child.kind],
        "it names another network than its issuer": network == parent.payload["network"],
        f"{plan} is no plan of a certificate of type {child.kind}": kind_of_plan(plan) == child.kind,
    }
    if child.kind == "genesis":
        own_key = key_thumbprint(child.public_key or b"")
        rules["a genesis certificate is issued to its issuer"] = (
            child.issuer == (sub["trust_domain"], own_key)
            and child.payload["iss"]["licence"] is None
            and network == sub["trust_domain"]
        )
    elif child.kind == "frame":
        rules["a frame has another trust domain than the genesis"] = sub["trust_domain"] != child.issuer[0]
    else:
        rules["an operator has the trust domain of its frame"] = sub["trust_domain"] == child.issuer[0]
    for reason, holds in rules.items():
        if not holds:
            raise Refusal("malformed", f"{child.hash}: {reason}", "type rules")
