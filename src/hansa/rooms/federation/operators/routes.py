"""Certificates of operators over HTTP: renewed by the frame for the registry that shows a valid one."""

from fastapi import APIRouter, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid
from hansa.rooms.federation.identity import (
    CertificatesRefused,
    OperatorRenewalIn,
    OperatorRenewalOut,
    OperatorSvidOut,
    certify,
    read_requests,
)
from hansa.rooms.federation.peers import database_time

renewals_router = APIRouter(prefix="/federation/identity", tags=["federation"], route_class=GuardedRoute)


class NotAnOperatorOfThis(Forbidden):
    """The peer is no operator registry of this frame."""

    code = "NOT_AN_OPERATOR"
    sentence = "The certificates of this peer are not issued here: it is no operator registry of this frame."


class RequestsRefused(Invalid):
    """The requests for certificates cannot be used."""

    code = "CERTIFICATE_REQUESTS_REFUSED"
    sentence = "The requests for certificates cannot be used."


@renewals_router.post(
    "/renewals",
    responses=problems(CertificateMissing, NotAPeer, NotAnOperatorOfThis, BodyInvalid, RequestsRefused),
)
async def renew_operator_certificates(
    peer: CurrentPeer, body: OperatorRenewalIn, request: Request
) -> OperatorRenewalOut:
    """New certificates for an operator registry of this frame, also while it is paused. The former ones last to their end."""
    runtime = runtime_of(request)
    if runtime.authority is None or peer.trust_domain != runtime.settings.trust_domain:
        raise NotAnOperatorOfThis
    try:
        requests = read_requests(body.csrs, peer.trust_domain, peer.spiffe_id.rpartition("/")[2])
    except CertificatesRefused as error:
        raise RequestsRefused(f"The requests are refused: {error}.", field="csrs") from None
    now = await runtime.database.query(database_time)
    return OperatorRenewalOut(
        svids=[OperatorSvidOut.of(leaf) for leaf in certify(runtime.authority, requests, now)]
    )
