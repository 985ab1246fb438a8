"""Fetch a page of a peer, judge it, and apply it: the cursor moves in the transaction that writes the mirrors."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import structlog

from hansa.foundation.plumbing.outgoing import CallLimits
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, peer_acts_total
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.catalogue import relays
from hansa.rooms.catalogue.mirrors import mirror_cards, stored_versions
from hansa.rooms.federation import PeerRecord, SyncOutcome

from . import store
from .judging import judge_page
from .records import JudgedPage, KeyUnknown, Origin, PageRefused, Stated

CARDS_PATH = "/api/v1/federation/agent-cards"
ACTS_PATH = "/api/v1/federation/enforcement"
PAGE_LIMITS = CallLimits(seconds=60.0, body_bytes=32 * 1024 * 1024)
JUDGED_AT_ONCE_BYTES = 2048
"""A page without items, or with the act of an agent: handing it to a thread would take longer."""
NAMED_AT_ONCE = 50
OK = 200
# Expected between registries that are read at different moments: neither is a refusal.
NOT_REFUSED = frozenset({"card_unknown", "card_absent"})

_log = structlog.get_logger()
begin(peer_acts_total, ("suspended", "reinstated", "revoked"), ("shadow", "enforce"))


class Reading(NamedTuple):
    """A peer that is being read, in this process."""

    runtime: Runtime
    peer: PeerRecord
    origin: Origin
    outcome: SyncOutcome

    @classmethod
    def of(cls, runtime: Runtime, peer: PeerRecord) -> "Reading":
        """Raises: PeerClosed; PageRefused where nothing that the peer says can be believed."""
        if not peer.is_open or peer.ledger_id is None:
            raise PeerClosed
        namespace = peer.did_namespace
        if namespace is None or namespace != peer.trust_domain:
            raise PageRefused("did_namespace_mismatch")
        return cls(runtime, peer, _origin_of(peer, peer.ledger_id, namespace), SyncOutcome())


async def fetch_page(
    reading: Reading, path: str, since: str | None, limit: int, prefix: str = ""
) -> JudgedPage:
    """The next page at the peer. Raises: PageRefused, OutgoingTrouble, FederationOff."""
    query = {"limit": limit, **({"since": since} if since else {}), **({"prefix": prefix} if prefix else {})}
    page = await _fetched(reading, f"{path}?{urlencode(query)}", limit)
    if path == CARDS_PATH:
        page.unlisted[:] = await _unlisted_before_known(reading, page)
    return page


async def _unlisted_before_known(reading: Reading, page: JudgedPage) -> list[dict[str, Any]]:
    """The whole items of agents that the page has as unlisted and that have no mirror yet: they can be paid by their DIDs."""
    hidden = [item["did"] for item in page.items if _is_unlisted(item)]
    if not hidden:
        return []
    known = await reading.runtime.database.query(lambda tx: stored_versions(tx, hidden))
    unknown = [did for did in hidden if did not in known]
    found: list[dict[str, Any]] = []
    for start in range(0, len(unknown), NAMED_AT_ONCE):
        named = unknown[start : start + NAMED_AT_ONCE]
        query = urlencode({"limit": len(named), "did": ",".join(named)})
        answered = await _fetched(reading, f"{CARDS_PATH}?{query}", len(named))
        # A registry of before answers with its first cards.
        found += [item for item in answered.items if item["did"] in named and item["card_data"] is not None]
    return found


def _is_unlisted(item: dict[str, Any]) -> bool:
    listing = item.get("listing") or {}
    return bool(
        item.get("card_data") is None
        and item.get("deleted_at") is None
        and item.get("is_active") is True
        and listing.get("unlisted") is True
    )


async def _fetched(reading: Reading, address: str, limit: int) -> JudgedPage:
    """Raises: PageRefused, OutgoingTrouble, FederationOff."""
    answer = await federation.call_peer(reading.runtime, reading.peer, "GET", address, limits=PAGE_LIMITS)
    if answer.status != OK:
        raise PageRefused(f"answered_{answer.status}")
    try:
        page = await _judged(answer.body, limit, reading.origin)
    except KeyUnknown as unknown:
        peer = await federation.with_present_keys(reading.runtime, reading.peer, unknown.signed_under)
        origin = _origin_of(peer, reading.origin.ledger_id, reading.origin.namespace)
        if origin == reading.origin:
            raise
        page = await _judged(answer.body, limit, origin)
    await _leave_out_unclaimed(reading, page)
    return page


async def _judged(body: bytes, limit: int, origin: Origin) -> JudgedPage:
    if len(body) <= JUDGED_AT_ONCE_BYTES:
        return judge_page(body, limit, origin)
    # Verifying a page takes long enough for others to notice.
    return await asyncio.to_thread(judge_page, body, limit, origin)


def _origin_of(peer: PeerRecord, ledger_id: str, namespace: str) -> Origin:
    return Origin(ledger_id, namespace, federation.keys_in_force(peer))


async def _leave_out_unclaimed(reading: Reading, page: JudgedPage) -> None:
    """Within the own trust domain a registry speaks for the DIDs that it claimed at the frame. Raises: FrameUnavailable."""
    settings, peer = reading.runtime.settings, reading.peer
    if peer.trust_domain != settings.trust_domain:
        return
    dids = [item["did"] for item in page.items]
    await federation.learn_holders(reading.runtime, dids)
    holders = await reading.runtime.database.query(lambda tx: federation.held_elsewhere(tx, dids))
    claimed = [item for item in page.items if holders.get(item["did"]) == peer.spiffe_id]
    unclaimed = len(page.items) - len(claimed)
    if unclaimed:
        page.items[:] = claimed
        page.refused["did_not_claimed"] += unclaimed


async def apply_cards(reading: Reading, since: str | None, page: JudgedPage) -> bool:
    """Apply a page of cards; False where another process was quicker."""
    if not await _apply(reading, lambda tx: store.move_cards(tx, reading.peer.id, since, page), page):
        return False
    reading.outcome.pulled += page.size
    return True


async def apply_range(reading: Reading, prefix: str, pages: Sequence[JudgedPage]) -> None:
    """Apply all the cards of a range, and delete its mirrors that the peer no longer has."""

    async def moves(tx: Tx) -> bool:
        return await store.progress(tx, reading.peer.id) is not None

    for page in pages:
        if not await _apply(reading, moves, page):
            return
    present = [item["did"] for page in pages for item in page.items]
    reading.outcome.changed += await reading.runtime.database.transaction(
        lambda tx: store.remove_absent(tx, reading.origin.ledger_id, prefix, present)
    )


async def apply_acts(reading: Reading, since: str | None, page: JudgedPage) -> bool:
    """Apply a page of acts of enforcement; False where another process was quicker."""

    async def apply(tx: Tx) -> list[str] | None:
        if not await _is_read(tx, reading) or not await store.move_acts(
            tx, reading.peer.id, since, page.next
        ):
            return None
        await _count(tx, reading.peer.id, page.refused)
        await _keep_evidence(tx, reading.peer.id, page.refused_card)
        return await state(tx, reading, page.statuses, are_acts=True)

    acts = await reading.runtime.database.transaction(apply)
    if acts is None:
        return False
    reading.outcome.refused.update(page.refused)
    _note_acts(reading, acts)
    return True


async def state(tx: Tx, reading: Reading, stated: Sequence[Stated], *, are_acts: bool) -> list[str]:
    """Keep the statements of a peer about its agents, unless enforcement of peers is off; returns the acts that are new."""
    mode = reading.runtime.settings.enforcement_propagation_mode
    if mode == "off" or not stated:
        return []
    return await store.state(tx, reading.peer.id, reading.origin.ledger_id, stated, mode, are_acts=are_acts)


async def refuse(reading: Reading, reason: str) -> None:
    """Count that a page, or the peer's feed as a whole, was refused."""
    reading.outcome.refused[reason] += 1
    await reading.runtime.database.transaction(
        lambda tx: federation.count_refusal(tx, reading.peer.id, reason)
    )


class _Applied(NamedTuple):
    written: int
    hidden: int
    refused: Counter[str]
    acts: list[str]


async def _apply(reading: Reading, move: Callable[[Tx], Awaitable[bool]], page: JudgedPage) -> bool:
    async def apply(tx: Tx) -> _Applied | None:
        if not await _is_read(tx, reading) or not await move(tx):
            return None
        # What is read from the home itself is nearer than what any relay passes on.
        await relays.store.remove_home(tx, reading.origin.ledger_id)
        whole = {item["did"] for item in page.unlisted}
        result = await mirror_cards(
            tx,
            source_registry=reading.origin.ledger_id,
            trust_domain=reading.origin.namespace,
            settlement_currency=reading.peer.settlement_currency or "",
            items=[*page.unlisted, *(item for item in page.items if item["did"] not in whole)],
        )
        acts = await state(tx, reading, page.statuses, are_acts=False)
        if reading.runtime.settings.relay_cards:
            await relays.store.keep_items(tx, reading.origin.ledger_id, page.items)
        skipped = {reason: times for reason, times in result.skipped.items() if reason not in NOT_REFUSED}
        refused = page.refused + Counter[str](skipped)
        await _count(tx, reading.peer.id, refused)
        await _keep_evidence(tx, reading.peer.id, page.refused_card or result.refused_card)
        return _Applied(result.written, result.hidden, refused, acts)

    applied = await reading.runtime.database.transaction(apply)
    if applied is None:
        return False
    outcome = reading.outcome
    outcome.changed += applied.written
    outcome.hidden += applied.hidden
    outcome.refused.update(applied.refused)
    _note_acts(reading, applied.acts)
    return True


async def _is_read(tx: Tx, reading: Reading) -> bool:
    """Return whether the peer may still be read; it is not removed before `tx` ends."""
    await store.lock(tx, reading.peer.id)
    try:
        return (await federation.peer_by_id(tx, reading.peer.id)).is_open
    except federation.PeerUnknown:
        return False


async def _count(tx: Tx, peer_id: int, refused: Mapping[str, int]) -> None:
    for reason, times in sorted(refused.items()):
        await federation.count_refusal(tx, peer_id, reason, times)


async def _keep_evidence(tx: Tx, peer_id: int, refused_card: str | None) -> None:
    """A refused card counts in peer trust once for its DID and version."""
    if refused_card is not None:
        await federation.record_signal(tx, peer_id, "card_refused", refused_card)


def _note_acts(reading: Reading, acts: list[str]) -> None:
    mode = reading.runtime.settings.enforcement_propagation_mode
    for act in acts:
        peer_acts_total.labels(act, mode).inc()
    if mode == "enforce":
        reading.outcome.hidden += sum(act != "reinstated" for act in acts)
    if acts:
        _log.info("enforcement of a peer", peer=reading.peer.name, mode=mode, acts=len(acts))
