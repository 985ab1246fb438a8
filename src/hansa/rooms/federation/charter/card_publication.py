"""Sign the registry card whenever it differs from the signed version, or its signature has reached half of its window.

- Reading never signs: the card is signed at the start of a process, with each change, with each new key, and by a job.
- Each signed version is kept and becomes a leaf of the log.
- A new signature over the same content has the same entity tag.
- Peers are notified of each version.

The signed value (Specification 2, "Registry card"; decisions F and T) is one flat object: the full dotted path of each signed
leaf with its value, null where the card has none, and the window `_signed_at`, `_expires_at`; as canonical JSON. The signature
stands in two forms over the same bytes: bare in `value`, and as a detached JWS (RFC 7515, appendix F) in `jws`. The block
`fees.fx` has the terms on which a registry with pools swaps, `fees.exchange` the digest of the newest stock card.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import msgspec

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms.federation.jurisdiction import compliance_block
from hansa.rooms.federation.notices import notify_peers
from hansa_verify import registry_card

from . import card_store
from .card_content import CardFacts, card_body, percent
from .card_paths import SIGNED_PATHS, UNTAGGED_BLOCKS
from .card_store import CardVersion
from .records import SigningKey
from .schemas import KEY_SET
from .signatory import present_signing_key

LEAF = "registry_card"
WINDOW = timedelta(days=30)
"""How long a signature is valid: long against the minutes for which a card is cached."""
HEADERS_MAX = 64
RENEWAL = WINDOW / 2
"""The age at which a signature is renewed."""
JWS_TYPE = "registry-card+jws"
MARKET_FRESH_FOR = timedelta(hours=26)
"""A stock card is made each day, with two hours for the work."""


async def publish_card(tx: Tx, settings: Settings, seal: Seal) -> CardVersion:
    """Sign the card that the settings in force and the operator's blocks give now, unless it stands signed. Raises: KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    settings = await parameters.in_force(tx, settings)
    written = await card_store.written_card(tx)
    assert written.founded_at is not None
    facts = CardFacts(
        written.founded_at,
        written.editable,
        written.icon_digest,
        written.licence,
        await compliance_block(tx, settings),
        written.fx,
        written.stock_card,
    )
    body = card_body(settings, facts)
    return await _sign_unless_signed(tx, body, seal)


async def publish_card_with_licence(
    tx: Tx, settings: Settings, seal: Seal, licence: Mapping[str, Any] | None
) -> CardVersion:
    """Publish the card, where the licence that the registry holds may have changed; None: it holds none. See `publish_card`."""
    await card_store.lock_card(tx)
    await card_store.write_licence(tx, licence)
    return await publish_card(tx, settings, seal)


class SwapTerms(msgspec.Struct, frozen=True):
    """Terms of swaps. Amounts in minor units of the registry's currency, shares as fractions of 1. `note` names the currencies to swap."""

    rate_mode: str
    fee: Fraction
    size_cap: Minor
    reserve_floor: Minor
    slippage_max: Fraction
    breaker: Fraction
    note: str

    def block(self, currency: str) -> dict[str, Any]:
        """Return the block in the form of the card. The whole fee stays in the pool."""
        return {
            "enabled": True,
            "currency": currency,
            "rate_mode": self.rate_mode,
            "fee_pct": percent(self.fee),
            "fee_split": {"pool_retained_pct": 100, "fee_collector_pct": 0},
            "size_cap": format_amount(self.size_cap),
            "reserve_floor": format_amount(self.reserve_floor),
            "slippage_max": percent(self.slippage_max),
            "breaker_pct": percent(self.breaker),
            "note": self.note[:500],
        }


async def publish_card_with_fx(
    tx: Tx, settings: Settings, seal: Seal, terms: SwapTerms | None
) -> CardVersion | None:
    """Publish the card, where the terms of swaps may have changed; None: there is no pool. Nothing is done where they have not."""
    fx = None if terms is None else terms.block(settings.settlement_currency)
    if (await card_store.written_card(tx)).fx == fx:
        return None
    await card_store.lock_card(tx)
    await card_store.write_fx(tx, fx)
    return await publish_card(tx, settings, seal)


class StockCardMark(msgspec.Struct, frozen=True):
    """Statement of the card on the newest stock card: its digest, `sha256:` and 64 digits, and the number of its listings."""

    digest: str
    count: int
    updated_at: datetime
    market_epoch: str

    def block(self) -> dict[str, Any]:
        """Return the members of the card, without the address."""
        return {
            "digest": self.digest,
            "count": self.count,
            "updated_at": self.updated_at.astimezone(UTC).isoformat(timespec="seconds"),
            "market_epoch": self.market_epoch,
        }


def market_freshness(made_at: datetime, now: datetime) -> Literal["current", "stale"]:
    """Return the freshness of a stock card."""
    return "current" if now <= made_at + MARKET_FRESH_FOR else "stale"


async def publish_card_with_stock_card(
    tx: Tx, settings: Settings, seal: Seal, mark: StockCardMark
) -> CardVersion:
    """Publish the card with another stock card. See `publish_card`."""
    await card_store.lock_card(tx)
    await card_store.write_stock_card(tx, mark.block())
    return await publish_card(tx, settings, seal)


async def sign_card_anew(tx: Tx, seal: Seal) -> None:
    """Sign the published card with the present key, its content as it is. Raises: KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    newest = await card_store.newest_version(tx)
    if newest is not None:
        await _sign_unless_signed(tx, _body_of(newest), seal)


async def _sign_unless_signed(tx: Tx, body: Mapping[str, Any], seal: Seal) -> CardVersion:
    newest = await card_store.newest_version(tx)
    key = await present_signing_key(tx, seal)
    is_current = newest is not None and newest.kid == key.kid and key.now < newest.signed_at + RENEWAL
    if newest is not None and is_current and _body_of(newest) == body:
        return newest
    window = SignatureWindow.beginning(key.now)
    etag = card_etag(body)
    lifecycle = {"card_etag": etag, "generated_at": window.signed_at.isoformat(), "status": "active"}
    card = {**body, "lifecycle": lifecycle}
    document = json.dumps({**card, "signature": signature_block(card, key)}, ensure_ascii=False)
    number = newest.version + 1 if newest else 1
    signed = CardVersion(number, etag, key.kid, window.signed_at, window.expires_at, document)
    await card_store.add_version(tx, signed)
    await record_leaf(tx, LEAF, str(number), sha256(document.encode()).digest())
    await notify_peers(tx)
    return signed


def _body_of(version: CardVersion) -> dict[str, Any]:
    card = json.loads(version.document)
    return {name: block for name, block in card.items() if name not in UNTAGGED_BLOCKS}


class SignatureWindow(msgspec.Struct, frozen=True):
    """From when until when a signature is valid, in whole seconds UTC."""

    signed_at: datetime
    expires_at: datetime

    @classmethod
    def beginning(cls, now: datetime) -> "SignatureWindow":
        """The window of a signature made now."""
        signed_at = now.astimezone(UTC).replace(microsecond=0)
        return cls(signed_at, signed_at + WINDOW)


def value_at(card: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None where there is none."""
    value: Any = card
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def card_etag(card: Mapping[str, Any]) -> str:
    """The entity tag of a card, as verifiers compute it."""
    return registry_card.card_etag(card, SIGNED_PATHS)


def signed_payload(card: Mapping[str, Any], window: SignatureWindow) -> bytes:
    """The bytes that are signed."""
    leaves = {path: value_at(card, path) for path in SIGNED_PATHS}
    times = {"_signed_at": window.signed_at.isoformat(), "_expires_at": window.expires_at.isoformat()}
    return canonical_json({**leaves, **times})


def signature_block(card: Mapping[str, Any], key: SigningKey) -> dict[str, Any]:
    """The block `signature` of a card that is complete but for it, signed at the key's time."""
    window = SignatureWindow.beginning(key.now)
    payload = signed_payload(card, window)
    jws = detached_signature(key, payload, {"typ": JWS_TYPE})
    return {
        "value": urlsafe_b64encode(key.private.sign(payload)).rstrip(b"=").decode(),
        "kid": key.kid,
        "signed_canonical": list(SIGNED_PATHS),
        "signed_at": window.signed_at.isoformat(),
        "expires_at": window.expires_at.isoformat(),
        "alg": "EdDSA",
        "jwks_url": KEY_SET,
        "jws": f"{jws['protected']}..{jws['signature']}",
    }


def detached_signature(key: SigningKey, payload: bytes, header: Mapping[str, Any]) -> dict[str, str]:
    """The entry that proves the payload to be the registry's word; `header` is added to the algorithm and the key."""
    protected = _protected(key.kid, tuple(header.items()))
    signature = key.private.sign(f"{protected}.{_base64url(payload)}".encode())
    return {"protected": protected, "signature": _base64url(signature)}


# A key signs many documents of few types.
@lru_cache(HEADERS_MAX)
def _protected(kid: str, header: tuple[tuple[str, Any], ...]) -> str:
    whole = {"alg": "EdDSA", "typ": "JOSE", "kid": kid, **dict(header)}
    return _base64url(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode())


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
