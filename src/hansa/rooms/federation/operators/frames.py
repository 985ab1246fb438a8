"""Frame of this operator registry among its peers, and the requests of jobs to it.

Renew the certificates of an operator registry at half of their lifetime, over mutual TLS with its frame.

The keys of the request are written before it is sent; the received certificates are written in one commit. A process that ended
between the two asks again for the same keys.

Operator registries that the frame still certifies: one that it removed is put under quarantine by the others.

Its certificates last up to seven days more, and only the frame knows that it removed the registry. So every operator reads the
frame's list of peers each minute (decision 0137). A quarantine that was begun here ends when the frame lists the registry again.
Without an answer the last list counts for FRAME_ROSTER_MAX_AGE_HOURS (decision 0137).
"""

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

import msgspec
import structlog
from pydantic import ValidationError

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.outgoing import Answer, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.foundation.values.errors import Refused
from hansa.rooms.federation.charter import registry_id_of
from hansa.rooms.federation.identity import (
    CertificatesRefused,
    FederationOff,
    OperatorRenewalOut,
    prepare_requests,
    receive_certificates,
)
from hansa.rooms.federation.peers import (
    PeerRecord,
    PeerUnknown,
    call_peer,
    doubt_operators,
    follow_frame,
    peer_by_name,
)

OK = 200
Document = TypeVar("Document")
RENEWALS_AT = "/api/v1/federation/identity/renewals"
_log = structlog.get_logger()
PATH = "/api/v1/federation/peers"
EVERY_SECONDS = 60.0
"""How long an operator that the frame removed is still taken for one by the others."""


async def own_frame(tx: Tx, settings: Settings) -> PeerRecord | None:
    """The frame of this operator registry; None at a frame, and before its card was verified."""
    if not settings.is_operator:
        return None
    try:
        # A ledger id goes before a name: of this trust domain only the frame has it as its own.
        found = await peer_by_name(tx, settings.trust_domain)
    except PeerUnknown:
        return None
    return found if found.ledger_id == settings.trust_domain and found.is_member else None


async def ask_frame(runtime: Runtime, ask: Callable[[PeerRecord], Awaitable[Answer]]) -> Answer:
    """Return the frame's answer to `ask`, whatever its status is. Never within a transaction. Raises: PutOff."""
    frame = await runtime.database.query(lambda tx: own_frame(tx, runtime.settings))
    if frame is None:
        raise PutOff("the frame of this trust domain is not a peer yet")
    try:
        return await ask(frame)
    except OutgoingTrouble as error:
        raise PutOff(error.reason) from None
    except Refused as refusal:
        raise PutOff(refusal.code.lower()) from None


async def read_at_frame(
    runtime: Runtime, ask: Callable[[PeerRecord], Awaitable[Answer]], document: type[Document]
) -> Document:
    """The document that the frame answers with. Raises: PutOff, also for another status or an answer that cannot be read."""
    answer = await ask_frame(runtime, ask)
    if answer.status != OK:
        raise PutOff(f"status_{answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=document)
    except msgspec.DecodeError:
        raise PutOff("unreadable_answer") from None


async def renew_certificates(runtime: Runtime) -> None:
    """Renew the certificates; it is run when one is past half of its lifetime, and again after a round without an answer."""
    settings = runtime.settings
    frame = await runtime.database.query(lambda tx: own_frame(tx, settings))
    if frame is None:
        return
    try:
        await _renew(runtime, frame)
    except (OutgoingTrouble, PeerClosed, FederationOff, CertificatesRefused) as error:
        _log.warning("certificates were not renewed by the frame", frame=frame.ledger_id, why=str(error))


async def _renew(runtime: Runtime, frame: PeerRecord) -> None:
    """Raises: OutgoingTrouble, PeerClosed, FederationOff, CertificatesRefused."""
    settings = runtime.settings
    requested = await runtime.database.transaction(lambda tx: prepare_requests(tx, runtime.seal, settings))
    body = {"csrs": [one.request for one in requested]}
    answer = await call_peer(runtime, frame, "POST", RENEWALS_AT, body)
    if answer.status != OK:
        raise CertificatesRefused(f"the frame answered with status {answer.status}")
    try:
        issued = OperatorRenewalOut.model_validate_json(answer.body)
    except ValidationError:
        raise CertificatesRefused("the answer of the frame cannot be read") from None

    async def receive(tx: Tx) -> None:
        certificates = [one.certificate for one in issued.svids]
        await receive_certificates(tx, requested, certificates, frame.bundle)

    await runtime.database.transaction(receive)


class _Listed(msgspec.Struct):
    name: str
    trust_domain: str


class _Roster(msgspec.Struct):
    peers: list[_Listed]


async def read_roster(runtime: Runtime) -> None:
    """Read the frame's list of peers and follow it; without an answer judge by the age of the last one. Raises: PutOff."""
    settings, database = runtime.settings, runtime.database
    frame = await database.query(lambda tx: own_frame(tx, settings))
    if frame is None:
        raise PutOff("the frame of this trust domain is not a peer yet")
    try:
        roster = await read_at_frame(runtime, lambda asked: call_peer(runtime, asked, "GET", PATH), _Roster)
    except PutOff:
        _note(await database.transaction(lambda tx: doubt_operators(tx, settings, frame)))
        raise
    listed = {registry_id_of(one.trust_domain, one.name) for one in roster.peers}
    _note(await database.transaction(lambda tx: follow_frame(tx, settings, frame, listed)))


def _note(changed: Collection[str]) -> None:
    for ledger_id in changed:
        _log.warning("the frame lists another state of an operator, or none", operator=ledger_id)


async def _work(runtime: Runtime, _: Job) -> None:
    await read_roster(runtime)


OPERATOR_ROSTER = LeasedKind(
    "federation: operators that the frame certifies",
    _work,
    retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
