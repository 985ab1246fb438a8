"""The job that reads the licences of peers and the lists of their issuers, and keeps the verdicts.

The job of an operator registry that reads its licence at the frame: issued, renewed, suspended or ended there.

Each reading is whole: a certificate that the frame issued anew, or whose state it changed, replaces the stored one, and the
registry card is signed anew in that commit.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.outgoing import Answer, Call, CallLimits, NamedBy, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import begin, operator_licence_readings_total
from hansa.rooms.federation import peers
from hansa.rooms.federation.identity import LOCAL_IDENTITY
from hansa.rooms.federation.licences import (
    AnsweredLicence,
    Delivered,
    are_licences_demanded,
    held_delivered,
    held_operator_licence,
    judge_licence,
    keep_issued_list,
    keep_operator_licence,
    licence_verdict,
    own_issued_list,
    publish_card,
    stored_licence,
)
from hansa.rooms.federation.notices import notify_peers
from hansa.rooms.federation.operators import read_at_frame
from hansa.rooms.federation.peers import PeerRecord
from hansa_verify import BadLicence, Certificate, NotCanonical, read_certificate, read_json
from hansa_verify.licence import LIST_MAX_CHARACTERS

LICENCE = "/.well-known/federation-licence.json"
ISSUED_LIST = "/.well-known/federation-licences.json"
AT_ONCE = 16
LICENCE_LIMITS = CallLimits(body_bytes=128 * 1024)
LIST_LIMITS = CallLimits(seconds=30.0, body_bytes=LIST_MAX_CHARACTERS + 1024)
CHAIN_MAX = 3
_log = structlog.get_logger()
PATH = "/api/v1/federation/licence/mine"
LIMITS = CallLimits(seconds=10.0, body_bytes=256 * 1024)
begin(operator_licence_readings_total, ("active", "suspended", "revoked", "expired", "none", "not_read"))
EVERY_SECONDS = 300.0
"""How late a suspension, or a certificate that was issued anew, shows on the card."""


async def refresh_licences(runtime: Runtime) -> None:
    """Judge the own licence, and where licences are demanded those of all peers outside the own trust domain."""
    settings, database = runtime.settings, runtime.database
    own = await database.read(lambda tx: held_delivered(tx, settings))
    are_demanded = await database.read(lambda tx: are_licences_demanded(tx, settings))
    if own is None and not are_demanded:
        return
    others = await _peers_to_judge(runtime) if are_demanded else []
    turns = asyncio.Semaphore(AT_ONCE)
    held = await asyncio.gather(*(_licence_of(runtime, peer, turns) for peer in others))
    certificates = [one for delivered in (own, *held) if delivered for one in _certificates(delivered)]
    await _read_lists(runtime, certificates, turns)
    await database.transaction(lambda tx: _judge_own(tx, runtime, own))
    for peer, delivered in zip(others, held, strict=True):
        await _judge(runtime, peer, delivered)


async def _peers_to_judge(runtime: Runtime) -> list[PeerRecord]:
    found = await runtime.database.read(peers.peers)
    own = runtime.settings.trust_domain
    return [
        peer for peer in found if peer.approval == "approved" and peer.ledger_id and peer.trust_domain != own
    ]


async def _judge_own(tx: Tx, runtime: Runtime, own: Delivered | None) -> None:
    """Judge the own licence. Where its state changed the card states the new one, and peers are notified."""
    settings = runtime.settings
    domain = settings.trust_domain
    before = await licence_verdict(tx, domain)
    await judge_licence(tx, settings, domain, domain, own)
    if (await licence_verdict(tx, domain)).code != before.code:
        await publish_card(tx, settings, runtime.seal)
        await notify_peers(tx)


async def _judge(runtime: Runtime, peer: PeerRecord, delivered: Delivered | None) -> None:
    ledger_id = peer.ledger_id
    assert ledger_id is not None
    verdict = await runtime.database.transaction(
        lambda tx: judge_licence(tx, runtime.settings, ledger_id, peer.trust_domain, delivered)
    )
    if not verdict.is_valid:
        _log.info(
            "licence of a peer does not count", peer=ledger_id, code=verdict.code, reason=verdict.reason
        )


async def _licence_of(runtime: Runtime, peer: PeerRecord, turns: asyncio.Semaphore) -> Delivered | None:
    """The licence that the peer's card states: the kept one, or as its host delivers it."""
    declared = peer.signed.get("federation.licence.hash")
    if declared is None:
        return None
    stored = await runtime.database.read(lambda tx: stored_licence(tx, peer.ledger_id or "", declared))
    if stored is not None:
        return stored
    document = await _document(runtime, peer.registry_url + LICENCE, LICENCE_LIMITS, turns)
    certificate, chain = document.get("certificate"), document.get("chain")
    if not isinstance(certificate, str) or not isinstance(chain, list):
        return None
    return Delivered(certificate, [one for one in chain[:CHAIN_MAX] if isinstance(one, str)])


async def _read_lists(
    runtime: Runtime, certificates: Sequence[Certificate], turns: asyncio.Semaphore
) -> None:
    """Read the list of each issuer that these certificates name, once, and keep those that it signed."""
    issuers = {one.hash: one for one in certificates if one.public_key is not None}
    own = await own_issued_list(runtime.database, runtime.settings, runtime.seal)
    texts: list[object] = [own] if own else []
    addresses = {
        one.payload["sub"]["url"].rstrip("/")
        for one in issuers.values()
        if "url" in one.payload["sub"] and one.payload["sub"]["trust_domain"] != runtime.settings.trust_domain
    }
    documents = await asyncio.gather(
        *(_document(runtime, address + ISSUED_LIST, LIST_LIMITS, turns) for address in sorted(addresses))
    )
    texts += [document.get("list") for document in documents]
    for text in texts:
        await runtime.database.transaction(
            partial(keep_issued_list, text=text, issuers=list(issuers.values()))
        )


async def _document(
    runtime: Runtime, url: str, limits: CallLimits, turns: asyncio.Semaphore
) -> dict[str, Any]:
    """A JSON object of another host; an empty one where none could be read, which the verdict then says."""
    try:
        async with turns:
            answer = await runtime.outgoing.get(url, named_by=NamedBy.OPERATOR, limits=limits)
        document = read_json(answer.body.decode()) if answer.status == 200 else None  # noqa: PLR2004
    except (OutgoingTrouble, NotCanonical, UnicodeDecodeError) as failure:
        _log.info(
            "a licence or list could not be read", url=url, error=str(failure) or type(failure).__name__
        )
        return {}
    return document if isinstance(document, dict) else {}


def _certificates(delivered: Delivered) -> Iterable[Certificate]:
    for text in (delivered.certificate, *delivered.chain):
        try:
            yield read_certificate(text)
        except BadLicence:
            continue


async def read_operator_licence(runtime: Runtime) -> None:
    """Read the licence at the frame and keep it. Without an answer the stored licence stays. Raises: PutOff."""

    async def ask(frame: PeerRecord) -> Answer:
        assert frame.end is not None, "a frame is known by its verified card"
        svid = await LOCAL_IDENTITY.of(runtime).svid("operator")
        # Connections of their own: they are made with another certificate than those of the registry.
        return await peers.PEER_CALLS.of(runtime).send(-frame.id, frame.end, svid, Call("GET", PATH), LIMITS)

    try:
        answered = await read_at_frame(runtime, ask, AnsweredLicence)
    except PutOff as error:
        operator_licence_readings_total.labels("not_read").inc()
        raise PutOff(f"the operator licence could not be read at the frame: {error}") from None
    state = await runtime.database.transaction(lambda tx: _kept(tx, runtime, answered))
    operator_licence_readings_total.labels(state).inc()


async def _kept(tx: Tx, runtime: Runtime, answered: AnsweredLicence) -> str:
    """The state of the licence that is held now; `none` without one."""
    if await keep_operator_licence(tx, runtime.settings, answered):
        await publish_card(tx, runtime.settings, runtime.seal)
    held = await held_operator_licence(tx)
    if held is None:
        return "none"
    if held.state != "active":
        _log.warning("the operator licence is not active", state=held.state, reason=held.reason)
    return held.state


async def _work(runtime: Runtime, _: Job) -> None:
    await read_operator_licence(runtime)


OPERATOR_LICENCE = LeasedKind(
    "federation: licence of this operator",
    _work,
    retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
