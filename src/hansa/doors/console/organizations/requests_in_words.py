"""Requests of an organization in sentences: what each does, how many approvals it has and needs, and the effect of one more."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from hansa.doors.console.event_sentences import Piece

PENDING = "PENDING"
UNNAMED = "a former member"


class Asked(msgspec.Struct, frozen=True):
    """A request as a page shows it; people by name, times as the API writes them."""

    request_id: str
    kind: str
    status: str
    initiator_id: int
    initiator: str
    approvals: list[tuple[str, datetime]]
    approved_by: frozenset[int]
    needed: int
    expires_at: datetime
    executes_at: datetime | None
    reason: str | None
    note: str | None
    result: Mapping[str, Any] | None
    sentence: list[Piece]

    @property
    def is_pending(self) -> bool:
        """True while others may decide."""
        return self.status == PENDING

    @property
    def progress(self) -> str:
        """The approvals that it has, of those that it needs."""
        return f"{len(self.approvals)} of {self.needed} {'approval' if self.needed == 1 else 'approvals'}"

    @property
    def effect(self) -> str:
        """The effect of one more approval."""
        missing = self.needed - len(self.approvals) - 1
        if missing > 0:
            return f"{missing} more {'approval is' if missing == 1 else 'approvals are'} needed after yours."
        return "Yours is the last approval that is needed: the request is carried out at once."

    @classmethod
    def of(cls, document: Mapping[str, Any], names: Mapping[int, str]) -> "Asked":
        """Return the request of an answer of the API."""
        approvals = document["approvals"]
        return cls(
            request_id=document["request_id"],
            kind=document["kind"],
            status=document["status"],
            initiator_id=document["initiator"],
            initiator=names.get(document["initiator"], UNNAMED),
            approvals=[
                (names.get(one["developer_id"], UNNAMED), datetime.fromisoformat(one["at"]))
                for one in approvals
            ],
            approved_by=frozenset(one["developer_id"] for one in approvals),
            needed=document["approvals_needed"],
            expires_at=datetime.fromisoformat(document["expires_at"]),
            executes_at=datetime.fromisoformat(document["executes_at"]) if document["executes_at"] else None,
            reason=document["reason"],
            note=document["note"],
            result=document["result"],
            sentence=list(_sentence(document["kind"], document["body"], names)),
        )


def people_in(document: Mapping[str, Any]) -> set[int]:
    """The developers whom a request of an answer names."""
    approvals = {one["developer_id"] for one in document["approvals"]}
    concerned = {document["body"]["developer_id"]} if "developer_id" in document["body"] else set()
    return {document["initiator"], *approvals, *concerned}


def _sentence(kind: str, body: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[Piece]:
    if kind == "owners":
        name = names.get(body["developer_id"], UNNAMED)
        if body["role"] is None:
            yield from (Piece("text", "End the membership of "), Piece("value", name))
        else:
            yield from (
                Piece("text", "Make "),
                Piece("value", name),
                Piece("text", f" {_article(body['role'])}"),
            )
    elif kind == "release":
        name = names.get(body["developer_id"], UNNAMED)
        yield from (
            Piece("text", "Release "),
            Piece("party", body["did"]),
            Piece("text", " to "),
            Piece("value", name),
        )
    elif kind == "payment":
        yield from (
            Piece("text", "Pay "),
            Piece("value", body["amount"]),
            Piece("text", " to "),
            Piece("party", body["receiver_did"]),
        )
    elif kind == "contract":
        contract = body["contract"]
        yield from (
            Piece("text", "Propose a contract of "),
            Piece("value", contract["amount"]),
            Piece("text", " to "),
            Piece("party", contract["provider_did"]),
        )
    elif kind == "award":
        yield from (
            Piece("text", "Award work for "),
            Piece("value", body["price"]),
            Piece("text", " to "),
            Piece("party", body["provider_did"]),
        )
    elif kind == "grant":
        yield from _of_grant(body, names)
    elif kind == "budget":
        yield from (Piece("text", "Allow the budget "), Piece("value", f"{body['name']} of {body['amount']}"))
    else:
        yield Piece("text", f"Request: {kind}")


def _of_grant(body: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[Piece]:
    if body["act"] == "invitation":
        named = body.get("email", UNNAMED)
        yield from (Piece("text", "Invite "), Piece("value", named), Piece("text", f" as {body['role']}"))
    else:
        place = f" {_article(body['role'])}" if body["act"] == "role" else f" a place in {body['team']}"
        name = names.get(body["developer_id"], UNNAMED)
        verb = "Make " if body["act"] == "role" else "Give "
        yield from (Piece("text", verb), Piece("value", name), Piece("text", place))


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"
