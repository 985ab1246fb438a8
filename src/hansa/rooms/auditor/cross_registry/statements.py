"""Statements of totals as they travel: compact JWS by the key of the registry that states them, `fed-totals+jws`.

The signed payload names both registries and a nonce of the asker, so that a statement counts for one corridor and one
comparison.
"""

import re
from collections.abc import Mapping
from typing import Any

from hansa.foundation.values.money import format_amount
from hansa.rooms import federation

from .rules import ALIKE, Comparison, Place, SwapTotals, Totals

KIND = "fed.totals.v1"
STATEMENT_MAX_CHARACTERS = 4096
ENVELOPE = federation.mailbox.Envelope("fed-totals+jws", STATEMENT_MAX_CHARACTERS)
NONCE_MAX_CHARACTERS = 64
NUMBER_MAX = 2**53
CURRENCIES_MAX = 16

_CURRENCY = re.compile(r"[A-Z0-9]{2,8}", re.ASCII)
_TOTAL = re.compile(r"([0-9]{1,28})(?:\.([0-9]{1,8}))?", re.ASCII)


class StatementRefused(Exception):
    """The text is no statement of that registry for this corridor."""


def signed_statement(
    key: federation.SigningKey, totals: Totals, *, author: str, reader: str, nonce: str
) -> str:
    """The totals with the signature of this registry; `author` and `reader` are SPIFFE ids."""
    members: dict[str, Any] = {
        "kind": KIND,
        "type": "totals",
        "author": author,
        "reader": reader,
        "nonce": nonce,
        "out": format_amount(totals.out),
        "in": format_amount(totals.in_),
        "confirmed": format_amount(totals.confirmed),
        "judged": {
            "surplus": format_amount(totals.judged.surplus),
            "deficit": format_amount(totals.judged.deficit),
        },
    }
    if totals.swaps:
        members["swaps"] = [
            {
                "currency": one.currency,
                "out": format_amount(one.out),
                "in": format_amount(one.in_),
                "confirmed": format_amount(one.confirmed),
            }
            for one in totals.swaps
        ]
    if totals.place is not None:
        members["at"] = {"epoch": totals.place[0], "seq": totals.place[1]}
    return ENVELOPE.sign(key, members)


def read_statement(text: object, peer: federation.PeerRecord, *, reader: str) -> tuple[Totals, str]:
    """Return the totals that a peer states to this registry, and the nonce. Raises: StatementRefused."""
    try:
        payload = ENVELOPE.verify(text, federation.keys_in_force(peer))
    except federation.mailbox.MalformedMessage:
        raise StatementRefused("it is no statement of totals that this peer signed") from None
    if (payload.get("kind"), payload.get("author"), payload.get("reader")) != (KIND, peer.spiffe_id, reader):
        raise StatementRefused("the statement is of another kind, author or reader")
    nonce = payload.get("nonce")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= NONCE_MAX_CHARACTERS:
        raise StatementRefused("the statement has no nonce")
    out, in_, confirmed = (_total(payload, name) for name in ("out", "in", "confirmed"))
    place, judged = _place(payload.get("at")), _judged(payload.get("judged"))
    return Totals(out, in_, confirmed, place, judged, _swaps(payload.get("swaps"))), nonce


def _place(members: Any) -> Place | None:
    """Return the place of the author's chain; registries of earlier versions do not state it."""
    if members is None:
        return None
    place = (members.get("epoch"), members.get("seq")) if isinstance(members, dict) else ()
    match place:
        case (int() as epoch, int() as seq) if 0 <= epoch <= NUMBER_MAX and 0 <= seq <= NUMBER_MAX:
            return epoch, seq
    raise StatementRefused("at is no place")


def _judged(members: Any) -> Comparison:
    if members is None:
        return ALIKE
    if not isinstance(members, dict):
        raise StatementRefused("judged is no comparison")
    return Comparison(_total(members, "surplus"), _total(members, "deficit"))


def _swaps(members: Any) -> tuple[SwapTotals, ...]:
    if members is None:
        return ()
    if not isinstance(members, list) or len(members) > CURRENCIES_MAX:
        raise StatementRefused("swaps is no list of totals")
    return tuple(_swap(one) for one in members)


def _swap(members: Any) -> SwapTotals:
    currency = members.get("currency") if isinstance(members, dict) else None
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise StatementRefused("swaps names no currency")
    out, in_, confirmed = (_total(members, name) for name in ("out", "in", "confirmed"))
    return SwapTotals(currency, out, in_, confirmed)


def _total(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    matched = _TOTAL.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        raise StatementRefused(f"{name} is no total")
    return int(matched[1] + (matched[2] or "").ljust(8, "0"))
