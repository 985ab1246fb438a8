"""Judge whether a licence certificate counted at a moment of the past, by the lists that its issuers signed before and after it.

The lists until a moment and the first one after it judge the moment; later ones change nothing:
- The first list after the moment decides where the state that it lists began by then (`updated_at`, to the second).
- Otherwise the newest list until the moment decides, within its greatest age.

A list that states a change after the moment proves nothing about the moment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from .licence import Certificate, IssuedList
from .licence_chain import (
    LIST_MAX_AGE,
    LicenceEvaluation,
    LicenceVerdict,
    differing_lists,
    unlisted,
)
from .steps import Refusal


def verify_licence_as_of(
    certificate: object,
    chain: Sequence[object],
    at: datetime,
    *,
    root_hash: str | None,
    lists: Iterable[object] = (),
    list_max_age: timedelta = LIST_MAX_AGE,
    declared_hash: object = None,
) -> LicenceVerdict:
    """Judge whether a certificate counted at `at`, by lists of any time. Never raises.

    The arguments are those of `verify_licence`. A certificate that was issued later is `not_yet_valid`.
    """
    stated = (certificate, chain, lists, declared_hash)
    return _PastEvaluation(stated, root_hash, list_max_age, at).verdict()


class _PastEvaluation(LicenceEvaluation):
    unissued = "not_yet_valid"
    skew = timedelta()

    def troubles_by(self, one: Certificate, signed: Sequence[IssuedList]) -> Iterator[Refusal]:
        earlier = [issued for issued in signed if issued.generated_at <= self.moment]
        later = [issued for issued in signed if issued.generated_at > self.moment]
        first_at = min((issued.generated_at for issued in later), default=None)
        first = [issued for issued in later if issued.generated_at == first_at]
        yield from differing_lists(one, first)
        named = [entry for issued in first for entry in issued.licences if one.is_named_by(entry)]
        changed = [entry for entry in named if self._began(entry) > self.moment]
        if named and not changed:
            self.known_as_of(self.moment)
            yield from self._decided(one, first)
            yield from self._contradicted(one, named, earlier)
            return
        if first and not any(entry["hash"] == one.hash for entry in named):
            yield unlisted(f"not_listed: {one.issuer[0]} does not list {one.hash}")
        if changed and not earlier:
            state, began = changed[0]["state"], self._began(changed[0]).isoformat()
            yield unlisted(
                f"changed_later: {one.issuer[0]} lists {one.hash} as {state} since {began};"
                f" a list from before {self.moment.isoformat()} is required"
            )
            return
        yield from super().troubles_by(one, earlier)

    def _decided(self, one: Certificate, first: Sequence[IssuedList]) -> Iterator[Refusal]:
        """Yield the refusals that follow from the states of the moment in the first list after it."""
        for issued in first:
            of_then = [self._of_then(entry, issued) for entry in issued.licences if self._is_of_then(entry)]
            for trouble in self.stated_of(one, replace(issued, licences=of_then)):
                if trouble.code == "superseded" and self._may_be_covered(one, issued):
                    yield unlisted(
                        f"changed_later: a certificate of the subject of {one.hash} changed after"
                        f" {self.moment.isoformat()}"
                    )
                else:
                    yield trouble

    def _contradicted(
        self, one: Certificate, named: Sequence[Mapping[str, Any]], earlier: Sequence[IssuedList]
    ) -> Iterator[Refusal]:
        """Yield the refusals that follow from another state in a list until the moment: revoking is permanent."""
        states = {_without_expiry(entry["state"]) for entry in named}
        began = max(self._began(entry) for entry in named)
        for issued in earlier:
            for entry in issued.licences:
                before, then = _without_expiry(entry["state"]), issued.generated_at
                if entry["hash"] != one.hash or before in states:
                    continue
                if before == "revoked":
                    yield Refusal("revoked", f"{one.issuer[0]} listed {one.hash} as revoked", "lists")
                elif began < then:
                    yield unlisted(
                        f"contradiction: {one.issuer[0]} listed {one.hash} as {before} at {then.isoformat()},"
                        f" and later in another state since {began.isoformat()}"
                    )

    def _of_then(self, entry: Mapping[str, Any], issued: IssuedList) -> Mapping[str, Any]:
        """The entry as it was at the moment: a certificate that expired between it and the list was active."""
        if entry["state"] != "expired" or entry["exp"] is None:
            return entry
        expired_at = datetime.fromtimestamp(entry["exp"], UTC)
        return {**entry, "state": "active"} if self.moment < expired_at <= issued.generated_at else entry

    def _is_of_then(self, entry: Mapping[str, Any]) -> bool:
        return self._began(entry) <= self.moment

    def _may_be_covered(self, one: Certificate, issued: IssuedList) -> bool:
        """Return whether another certificate of the subject was there at the moment, in a state that is not known."""
        return any(
            (entry["type"], entry["sub_trust_domain"]) == one.subject[:2]
            and one.subject[2] in {None, entry["sub_name"]}
            and datetime.fromtimestamp(entry["iat"], UTC) <= self.moment < self._began(entry)
            for entry in issued.licences
        )

    @staticmethod
    def _began(entry: Mapping[str, Any]) -> datetime:
        """The time since which a certificate has had its listed state."""
        return datetime.fromtimestamp(entry["updated_at"], UTC)


def _without_expiry(state: str) -> str:
    """The state that an issuer gave: a certificate expires without an act."""
    return "active" if state == "expired" else state
