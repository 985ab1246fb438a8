"""Statements of totals as they travel: compact JWS by the key of the registry that states them, `fed-totals+jws`.

The signed payload names both registries and a nonce of the asker, so that a statement counts for one corridor and one
comparison.
"""

import re
from collections.abc import Mapping
from typing import Any

from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation
from hansa_verify import NotAKey, encoded, read_keys
from hansa_verify.jws import read_compact

from .rules import Totals

TYPE = "fed-totals+jws"
KIND = "fed.totals.v1"
STATEMENT_MAX_CHARACTERS = 4096
NONCE_MAX_CHARACTERS = 64

_TOTAL = re.compile(r"([0-9]{1,28})(?:\.([0-9]{1,8}))?", re.ASCII)


class StatementRefused(Exception):
    """The text is no statement of that registry for this corridor."""


def signed_statement(
    key: federation.SigningKey, totals: Totals, *, author: str, reader: str, nonce: str
) -> str:
    """The totals with the signature of this registry; `author` and `reader` are SPIFFE ids."""
    payload = canonical_json(
        {
            "kind": KIND,
            "type": "totals",
            "author": author,
            "reader": reader,
            "nonce": nonce,
            "out": format_amount(totals.out),
            "in": format_amount(totals.in_),
            "confirmed": format_amount(totals.confirmed),
            "iat": int(key.now.timestamp()),
        }
    )
    entry = federation.detached_signature(key, payload, {"typ": TYPE})
    return f"{entry['protected']}.{encoded(payload)}.{entry['signature']}"


def read_statement(text: object, peer: federation.PeerRecord, *, reader: str) -> tuple[Totals, str]:
    """What a peer states to this registry, and the nonce. Raises: StatementRefused."""
    signature = read_compact(text, TYPE, STATEMENT_MAX_CHARACTERS)
    if signature is None:
        raise StatementRefused("the text is no compact JWS of this type")
    key = _keys_of(peer).get(signature.entry.kid or "")
    if key is None or not signature.is_by(key):
        raise StatementRefused("no key of this peer signed the statement")
    payload = signature.payload
    if (payload.get("kind"), payload.get("author"), payload.get("reader")) != (KIND, peer.spiffe_id, reader):
        raise StatementRefused("the statement is of another kind, author or reader")
    nonce = payload.get("nonce")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= NONCE_MAX_CHARACTERS:
        raise StatementRefused("the statement has no nonce")
    return Totals(_total(payload, "out"), _total(payload, "in"), _total(payload, "confirmed")), nonce


def _keys_of(peer: federation.PeerRecord) -> Mapping[str, bytes]:
    try:
        return {key.kid: key.public_key for key in read_keys(peer.keys)}
    except NotAKey:
        return {}


def _total(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    matched = _TOTAL.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        raise StatementRefused(f"{name} is no total")
    return int(matched[1] + (matched[2] or "").ljust(8, "0"))
