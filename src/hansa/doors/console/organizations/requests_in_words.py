"""Requests of an organization in sentences: what each does, how many approvals it has and needs, and the effect of one more."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hansa.doors.console.event_sentences import Piece
from hansa.rooms.organizations import Reading, Request

UNNAMED = "a member"


class Asked(msgspec.Struct, frozen=True):
    """A request as a page shows it, with the names of people."""

    request: Request
    sentence: list[Piece]
    initiator: str
    needed: int
    approvals: list[tuple[str, Any]]
    missing: list[str]
    """Members whose approval counts and who have not approved."""

    @property
    def is_pending(self) -> bool:
        """True while others may decide."""
        return self.request.status == "PENDING"

    @property
    def progress(self) -> str:
        """The approvals that it has, of those that it needs."""
        words = "approval" if self.needed == 1 else "approvals"
        return f"{len(self.approvals)} of {self.needed} {words}" if self.needed else "No approval needed"

    @property
    def is_last(self) -> bool:
        """True where one more approval carries the request out."""
        return len(self.approvals) + 1 >= self.needed

    @property
    def effect(self) -> str:
        """The effect of one more approval."""
        if self.is_last:
            return "Yours is the last approval that is needed: the request is carried out at once."
        left = self.needed - len(self.approvals) - 1
        if len(self.missing) == 1:
            return "Nobody else may approve: after yours the request is carried out with a delay of 24 hours."
        return f"{left} more {'approval is' if left == 1 else 'approvals are'} needed after yours."

    @property
    def act(self) -> str:
        """The words of the button that approves."""
        amounts = [piece.text for piece in self.sentence if piece.kind == "amount"]
        return f"Approve and pay {amounts[0]}" if self.is_last and amounts and self._pays else "Approve"

    @property
    def _pays(self) -> bool:
        return self.request.kind in {"payment", "award"}

    @classmethod
    def of(cls, reading: Reading, names: Mapping[int, str], currency: str) -> "Asked":
        """Return a request as it stands now."""
        request = reading.request
        approved = {one.developer_id for one in request.approvals}
        return cls(
            request=request,
            sentence=sentence_of(request.kind, request.body, names, currency),
            initiator=names.get(request.initiator_id, UNNAMED),
            needed=reading.approvals_needed,
            approvals=[(names.get(one.developer_id, UNNAMED), one.at) for one in request.approvals],
            missing=sorted(names.get(one, UNNAMED) for one in reading.eligible - approved),
        )

    @classmethod
    def at_creation(cls, request: Request, names: Mapping[int, str], currency: str) -> "Asked":
        """Return a request with the approvals that it needed when it was made."""
        needed = max((demand.approvals for demand in request.demands), default=0)
        return cls.of(Reading(request, max(needed, request.approvals_needed)), names, currency)


def people_in(requests: Sequence[Request], others: Collection[int] = ()) -> list[int]:
    """The developers whom these requests name, and others."""
    found = set(others)
    for request in requests:
        found |= {request.initiator_id, *(one.developer_id for one in request.approvals)}
        if "developer_id" in request.body:
            found.add(request.body["developer_id"])
    return sorted(found)


def sentence_of(kind: str, body: Mapping[str, Any], names: Mapping[int, str], currency: str) -> list[Piece]:
    """Return what a request does, in a sentence."""
    return list(_SENTENCES.get(kind, _other)(body, names, currency))


Names = Mapping[int, str]


def _owners(body: Mapping[str, Any], names: Names, _: str) -> Iterator[Piece]:
    name, role = Piece("value", names.get(body["developer_id"], UNNAMED)), body["role"]
    if role is None:
        yield from (Piece("text", "End the membership of "), name)
    else:
        yield from (
            Piece("text", "Make "),
            name,
            Piece("text", f" {'an' if role[0] in 'ao' else 'a'} {role}"),
        )


def _release(body: Mapping[str, Any], names: Names, _: str) -> Iterator[Piece]:
    yield from (Piece("text", "Release "), Piece("party", body["did"]), Piece("text", " to "))
    yield Piece("value", names.get(body["developer_id"], UNNAMED))


def _payment(body: Mapping[str, Any], _: Names, currency: str) -> Iterator[Piece]:
    yield from (Piece("text", "Pay "), Piece("amount", f"{body['amount']} {currency}"))
    yield from (Piece("text", " to "), Piece("party", body["receiver_did"]))


def _contract(body: Mapping[str, Any], _: Names, currency: str) -> Iterator[Piece]:
    contract = body["contract"]
    yield from (Piece("text", "Propose a contract of "), Piece("amount", f"{contract['amount']} {currency}"))
    yield from (Piece("text", " to "), Piece("party", contract["provider_did"]))


def _award(body: Mapping[str, Any], _: Names, currency: str) -> Iterator[Piece]:
    yield Piece("text", "Award work")
    if "price" in body:
        yield from (Piece("text", " for "), Piece("amount", f"{body['price']} {currency}"))
    if "provider_did" in body:
        yield from (Piece("text", " to "), Piece("party", body["provider_did"]))


def _budget(body: Mapping[str, Any], _: Names, currency: str) -> Iterator[Piece]:
    yield Piece("text", "Change the budget " if body["changes"] else "Make the budget ")
    yield from (
        Piece("value", body["name"]),
        Piece("text", ": "),
        Piece("amount", f"{body['amount']} {currency}"),
    )
    yield Piece("text", " a month" if body["period"] == "month" else " once")


def _rules(_: Mapping[str, Any], __: Names, ___: str) -> Iterator[Piece]:
    yield Piece("text", "Change the rules of the treasury")


def _grant(body: Mapping[str, Any], names: Names, _: str) -> Iterator[Piece]:
    if body["act"] == "invitation":
        yield from (Piece("text", "Invite "), Piece("value", body.get("email", "an address")))
        yield Piece("text", f" as {_article(body['role'])}, with a right to approve")
        return
    name = Piece("value", names.get(body["developer_id"], UNNAMED))
    if body["act"] == "role":
        yield from (Piece("text", "Make "), name, Piece("text", f" {_article(body['role'])}"))
    else:
        yield from (Piece("text", "Give "), name, Piece("text", f" a place in the team {body['team']}"))
    yield Piece("text", ", with a right to approve")


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"


def _other(_: Mapping[str, Any], __: Names, ___: str) -> Iterator[Piece]:
    yield Piece("text", "Another act of the organization")


_SENTENCES = {
    "owners": _owners,
    "release": _release,
    "payment": _payment,
    "contract": _contract,
    "award": _award,
    "budget": _budget,
    "rules": _rules,
    "grant": _grant,
}
