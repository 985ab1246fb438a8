"""Renew the certificates of an operator registry at half of their lifetime, over mutual TLS with its frame.

The keys of the request are written before it is sent; the received certificates are written in one commit. A process that ended
between the two asks again for the same keys.
"""

import structlog
from pydantic import ValidationError

from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms.federation.identity import (
    CertificatesRefused,
    FederationOff,
    OperatorRenewalOut,
    prepare_requests,
    receive_certificates,
)
from hansa.rooms.federation.peers import PeerRecord, call_peer

from .frames import own_frame

RENEWALS_AT = "/api/v1/federation/identity/renewals"
OK = 200

_log = structlog.get_logger()


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
