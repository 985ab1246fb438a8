"""Pull one card: ask the agent's host, judge the answer, and make it the registry's if the agent has changed it."""

import asyncio
import dataclasses
from collections.abc import Sequence
from time import monotonic
from typing import Any

import structlog
from msgspec.structs import replace

from hansa.foundation.events import AgentCardPulled
from hansa.foundation.plumbing.outgoing import (
    AddressRefused,
    Answer,
    CallLimits,
    NamedBy,
    Outgoing,
    OutgoingTrouble,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, number_as_written, parse_json
from hansa.rooms import journal
from hansa.rooms.catalogue.errors import CardInvalid, CardRevoked, HumanReadableIdTaken
from hansa.rooms.catalogue.form import check_card, sentence_of
from hansa.rooms.catalogue.replace import replace_document
from hansa.rooms.catalogue.signatures import (
    AGENT_KEYS,
    AgentKey,
    AgentKeys,
    InboundVerdict,
    JwsUnreadable,
    ServedJws,
    SignaturePolicy,
    compact_jws,
    json_jws,
    verify_inbound,
    verify_jws,
)

from . import rules, store
from .queue import PULL_KIND, WRITING, put_off, visit_again, visit_no_more, visits
from .records import Addresses, PullReason, Remembered, Served, StoredCard, Unserved
from .visit import Visit

_log = structlog.get_logger()

SECONDS = 10.0
ETAG_MAX = 256
OK, NOT_MODIFIED = 200, 304
ACCEPTED = "application/json, application/jose;q=0.9, application/jose+json;q=0.9"
# What is known only when a judged card is written.
REFUSALS = (CardInvalid, CardRevoked, HumanReadableIdTaken)


async def pull(runtime: Runtime, visit: Visit) -> str:
    """Pull one card; returns the outcome."""
    if visit.status != "active" or not visit.is_active:
        async with WRITING.of(runtime):
            return await runtime.database.transaction(lambda tx: _leave_alone(tx, visit))
    answered = await ask(
        runtime.outgoing, visit.addresses, visit.remembered, runtime.settings.outgoing_allow_user_hosts
    )
    answered = await _with_signature(runtime, AGENT_KEYS.of(runtime), visit, answered)
    interval = runtime.settings.card_pull_interval_seconds
    async with WRITING.of(runtime):
        try:
            return await runtime.database.transaction(lambda tx: settle(tx, visit, answered, interval))
        except REFUSALS as error:
            refused = Unserved("attempted_failed", rules.sentence_cut(f"The card is refused: {error.detail}"))
            return await runtime.database.transaction(lambda tx: settle(tx, visit, refused, interval))


async def settle(tx: Tx, visit: Visit, answered: Served | Unserved, interval_seconds: int) -> str:
    """Write the result of a pull, unless the lease was lost. Raises: as replace_document."""
    stored = await store.lock(tx, visit)
    if stored is None:
        return "taken_over"
    if stored.addresses != visit.addresses:
        # The card has moved meanwhile: what was found at the old address does not apply to it.
        await put_off(tx, visit, 0)
        return "moved"
    if isinstance(answered, Unserved):
        return await _settle_failure(tx, visit, answered, interval_seconds)
    reason = await _take_over(tx, visit, stored, answered)
    await store.stamp_pull(tx, visit.card_id, reason, 0, attempted=True)
    planned = await store.end(tx, visit, reason, failures=0, error=None, attempted=True)
    await visit_again(tx, visit, planned, interval_seconds, 0)
    return reason


async def _leave_alone(tx: Tx, visit: Visit) -> str:
    if await store.lock(tx, visit) is None:
        return "taken_over"
    if visit.status == "revoked":
        await visit_no_more(tx, visit)
    else:
        await put_off(tx, visit, rules.LOOK_AGAIN_SECONDS)
    return "left_alone"


async def _settle_failure(tx: Tx, visit: Visit, error: Unserved, interval_seconds: int) -> str:
    failures = visit.failures + error.was_attempted
    pause = rules.pull_pause(interval_seconds, failures) if error.was_attempted else rules.LOOK_AGAIN_SECONDS
    await store.stamp_pull(tx, visit.card_id, error.reason, failures, attempted=error.was_attempted)
    planned = await store.end(
        tx,
        visit,
        error.reason,
        failures=failures,
        error=error.sentence,
        attempted=error.was_attempted,
    )
    await visit_again(tx, visit, planned, pause, failures)
    return error.reason


async def _take_over(tx: Tx, visit: Visit, stored: StoredCard, served: Served) -> PullReason:
    """Apply the served card to the registry's, if it is new; keep the state that the next pull compares with."""
    kept = replace(visit.remembered, found_at=served.found_at, etag=served.etag)
    reason: PullReason = "unchanged"
    if served.document is not None and (served_hash := rules.hash_of(served.document)) != kept.served_hash:
        reason, version = await _replace(tx, visit, stored, served)
        kept = Remembered(served.found_at, served.etag, served_hash, frozenset(served.document), version)
    if kept.served_version in {stored.version, stored.version + (reason == "updated")}:
        if reason == "updated" or not stored.is_host_verified:
            await store.stamp_host_verified(tx, visit.card_id)
        if served.document is not None:
            await store.stamp_signed(tx, visit.card_id, is_signed=served.is_signed)
    if kept != visit.remembered:
        await store.remember(tx, visit.card_id, kept)
    return reason


async def _replace(tx: Tx, visit: Visit, stored: StoredCard, served: Served) -> tuple[PullReason, int | None]:
    """Return whether the card has changed, and its version if its host now serves that one."""
    assert served.document is not None
    assert served.card is not None
    present = await store.document_of(tx, visit.card_id)
    served_before = visit.remembered.served_members
    document = rules.with_owners_members(served.document, present, served_before)
    replaced = await replace_document(tx, visit.card_id, document, source="pull")
    if replaced is None:
        is_served = rules.says_the_same(present, served.card)
        return "unchanged", stored.version if is_served else None
    event = AgentCardPulled(
        did=stored.did,
        card_id=str(replaced.id),
        changed_keys=sorted(replaced.changed_keys),
        old_hash=replaced.old_hash,
        new_hash=replaced.new_hash,
    )
    await journal.append(tx, event)
    return "updated", replaced.version


async def ask(
    outgoing: Outgoing, addresses: Addresses, remembered: Remembered, allowed: list[str]
) -> Served | Unserved:
    """Ask each place until one serves the card, all within one deadline."""
    places = rules.places_to_look(addresses, allowed)
    if isinstance(places, Unserved):
        return places
    known = remembered.found_at
    until = monotonic() + SECONDS
    answered: Served | Unserved | None = None
    for place in sorted(places, key=lambda url: url != known):
        etag = remembered.etag if place == known else None
        try:
            answer = await outgoing.get(
                place, named_by=NamedBy.USER, headers=_headers(etag), limits=CallLimits(until - monotonic())
            )
        except OutgoingTrouble as error:
            return _unanswered(error)
        answered = _read(answer, place, etag, addresses)
        if isinstance(answered, Served) or monotonic() >= until:
            break
    assert answered is not None
    return answered


async def _with_signature(
    runtime: Runtime, keys: AgentKeys, visit: Visit, answered: Served | Unserved
) -> Served | Unserved:
    """Return the served card with the judgement of its signatures, by the policy of the operator."""
    policy = SignaturePolicy.of(runtime.settings)
    if isinstance(answered, Unserved) or answered.document is None:
        return answered
    if answered.jws is None and not answered.document.get("signatures") and not policy.require:
        return answered
    did = visit.did
    known = () if did is None else await runtime.database.query(lambda tx: keys(tx, did))
    # A large card takes long enough to be judged that others would notice.
    verdict = await asyncio.to_thread(_judged, answered, known)
    if policy.fails(verdict):
        _log.warning("pulled card is not signed by its agent", did=visit.did, reason=verdict.said)
    if policy.refuses(verdict):
        return Unserved("attempted_failed", rules.sentence_cut(f"The signature is refused: {verdict.said}."))
    return dataclasses.replace(answered, is_signed=policy.notes(verdict))


def _judged(served: Served, keys: Sequence[AgentKey]) -> InboundVerdict:
    assert served.document is not None
    if served.jws is not None:
        return verify_jws(*served.jws, keys)
    return verify_inbound(served.document, keys)


def _headers(etag: str | None) -> dict[str, str]:
    return {"Accept": ACCEPTED, **({"If-None-Match": etag} if etag else {})}


def _unanswered(error: OutgoingTrouble) -> Unserved:
    if error.reason == "internal_host":
        return Unserved("internal_host", "The name of the host leads to an address that is not public.")
    if isinstance(error, AddressRefused):
        return Unserved("attempted_failed", f"The host is not called: {error.reason}.")
    return Unserved("attempted_failed", f"The host gave no answer: {error.reason}.")


def _read(answer: Answer, place: str, etag: str | None, addresses: Addresses) -> Served | Unserved:
    if answer.status == NOT_MODIFIED and etag:
        return Served(place, etag)
    if answer.status != OK:
        return Unserved("attempted_failed", f"The host answered {answer.status}.")
    try:
        document, jws = _document(answer.body)
    except (BodyInvalid, JwsUnreadable) as error:
        return Unserved("attempted_failed", rules.sentence_cut(str(error)))
    checked = check_card(document)
    if checked.card is None:
        sentence = f"The card is refused: {sentence_of(checked.troubles[0])}"
        return Unserved("attempted_failed", rules.sentence_cut(sentence))
    if rules.is_at_the_root(place, addresses) and not rules.names(checked.card, addresses):
        return Unserved("attempted_failed", "The host serves the card of another agent.")
    return Served(place, _kept_etag(answer), document, checked.card, jws=jws)


def _document(body: bytes) -> tuple[Any, ServedJws | None]:
    """The card in a body, and the JWS that it was served as, if it was. Raises: BodyInvalid, JwsUnreadable."""
    jws = compact_jws(body)
    if jws is None:
        document = parse_json(body, number_as_written)
        jws = json_jws(document)
    return (document, None) if jws is None else (parse_json(jws.payload, number_as_written), jws)


def _kept_etag(answer: Answer) -> str | None:
    """The tag of an answer, if it can be sent back as it is."""
    etag = answer.headers.get("etag", "")
    return etag if etag.isascii() and etag.isprintable() and 0 < len(etag) <= ETAG_MAX else None


CARD_PULLS = visits(PULL_KIND, "pull", pull, lambda settings: settings.card_pull_interval_seconds)
