"""Capturing and releasing the payments that the payee settles. Every step may be repeated, by any process."""

import logging
from collections.abc import Awaitable, Callable
from decimal import Decimal
from enum import Enum

import msgspec

from hansa_client import AsyncRegistry
from hansa_client.errors import HansaError, Refusal, Unauthorized
from hansa_client.records.payments import Settlement

from .sealing import TOKEN_PURPOSE, NotSealedByThis, unseal
from .store import Entry, Payment, Store
from .terms import Facts

log = logging.getLogger(__name__)

CONFLICT = 409
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = 500
WAIT_SECONDS = 10


class Collected(Enum):
    """Outcome of a due payment."""

    CAPTURED = "captured"
    RELEASED = "released"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Not known yet; it stays due and is tried again."""


_RECORDED = {
    Collected.CAPTURED: Payment.CAPTURED,
    Collected.RELEASED: Payment.RELEASED,
    Collected.REFUSED: Payment.UNCOLLECTABLE,
}


def facts_as_text(facts: Facts) -> str:
    """The stored form of facts."""
    return msgspec.json.encode(facts).decode()


def facts_from_text(text: str) -> Facts:
    """Facts of a stored form."""
    return msgspec.json.decode(text, type=Facts)


async def collect(store: Store, registry: AsyncRegistry, entry: Entry, token: str) -> Entry | None:
    """Capture or release the due payment of an entry, and record the end of it.

    Returns the entry as it then is. Raises: StoreUnavailable, after the registry has decided.
    """
    is_capture = entry.payment is Payment.CAPTURE
    amount = Decimal(entry.capture_amount) if is_capture and entry.capture_amount is not None else None
    settle = registry.payments.settle
    outcome, settlement_tx_id = await _decided(
        lambda: settle(token, success=is_capture, capture_amount=amount, wait_seconds=WAIT_SECONDS),
        is_capture=is_capture,
    )
    if outcome is Collected.UNKNOWN:
        return entry
    return await store.settle(entry.token_hash, _RECORDED[outcome], settlement_tx_id)


async def _decided(
    settle: Callable[[], Awaitable[Settlement]], *, is_capture: bool
) -> tuple[Collected, str | None]:
    try:
        settlement = await settle()
    except Refusal as refusal:
        return _of_refusal(refusal, is_capture=is_capture), None
    except HansaError as error:
        log.warning("a payment is not yet settled: %s", type(error).__name__)
        return Collected.UNKNOWN, None
    return _of_status(settlement.status, is_capture=is_capture), settlement.settlement_tx_id


def _of_status(status: str, *, is_capture: bool) -> Collected:
    if status == "settled":
        return Collected.CAPTURED
    if status in {"released", "expired"}:
        return Collected.RELEASED if not is_capture else Collected.REFUSED
    return Collected.REFUSED if status == "failed" else Collected.UNKNOWN


def _of_refusal(refusal: Refusal, *, is_capture: bool) -> Collected:
    """A refusal decides only where it concerns the token; a lost race or a busy registry is asked again."""
    is_open = (
        isinstance(refusal, Unauthorized)
        or refusal.status in {CONFLICT, TOO_MANY_REQUESTS}
        or refusal.status >= SERVER_ERRORS
    )
    if is_open:
        log.warning("a payment is not yet settled: %s", refusal.code)
        return Collected.UNKNOWN
    # What can no longer be released has ended: it expired, or the caller released it.
    return Collected.REFUSED if is_capture else Collected.RELEASED


def token_of(entry: Entry, secret: str) -> str | None:
    """The token of an entry whose payment is due; None where it was sealed under an earlier secret."""
    if entry.sealed_token is None:
        return None
    try:
        return unseal(secret, TOKEN_PURPOSE, entry.sealed_token, entry.token_hash).decode()
    except NotSealedByThis:
        return None
