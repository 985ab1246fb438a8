"""Another registry that asks. `CurrentPeer` in a route's signature is the policy, as in `caller`.

- A peer is known by its certificate over mutual TLS alone: 401 without one, 403 with any other than that of its registry.
- The federation room, which owns the peers, fills the slot of the check.

Names of peers in paths: `{name:peer}` in a route.

A peer is addressed by its registry name, its trust domain or its ledger id. The ledger id of an operator registry,
`<trust domain>/registry/<name>`, holds slashes, percent-encoded in a request (Specification 6 W 3). The text after the name in a
path, such as an act, is not part of it.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from cryptography.x509 import Certificate
from fastapi import Depends, Request
from fastapi.security import APIKeyHeader
from starlette.convertors import Convertor, register_url_convertor

from hansa.foundation.plumbing.process.runtime import Runtime, Slot, runtime_of
from hansa.foundation.plumbing.web.client_certificate import RFC_9440_HEADER, presented_certificate
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import Forbidden, Unauthorized

PEER_SCHEME = "PeerCertificate"
"""Scheme that stands for mutual TLS, which the framework does not know; `api/description.py` writes the right scheme."""
CERTIFICATE_SCHEME = APIKeyHeader(name=RFC_9440_HEADER, scheme_name=PEER_SCHEME, auto_error=False)


class Peer(msgspec.Struct, frozen=True):
    """Another registry, an approved peer. `name` is its registry name, `ledger_id` addresses it without ambiguity."""

    id: int
    name: str
    spiffe_id: str
    ledger_id: str
    trust_domain: str
    is_open: bool
    """Whether something new may be taken in from it: it is active, and neither paused nor quarantined."""

    def require_open(self) -> None:
        """Raises: PeerClosed."""
        if not self.is_open:
            raise PeerClosed


PEER_CHECK: Slot[Callable[[Runtime, Certificate], Awaitable[Peer]]] = Slot("callers: check of a peer")
"""The check raises NotAPeer."""


class CertificateMissing(Unauthorized):
    """The route is for peers, and no client certificate was shown."""

    code = "CLIENT_CERTIFICATE_REQUIRED"
    sentence = "This route requires the client certificate of a peer over mutual TLS."
    remedy = (
        "Call the route at federation_base_url of the registry card, with the certificate of your registry."
    )


class NotAPeer(Forbidden):
    """The client certificate is not the one of a registry that is an approved peer."""

    code = "NOT_A_PEER"
    sentence = "This client certificate is not that of a registry that is an approved peer here."
    remedy = "Show the certificate whose SPIFFE id is identity.spiffe_id of your registry card, and ask to be a peer."


class PeerClosed(Forbidden):
    """The peer is paused, being removed, quarantined, or not yet verified."""

    code = "PEER_CLOSED"
    sentence = "Nothing new is exchanged with this peer now."
    remedy = "Ask the administrators of the other registry."


@refuses_with(CertificateMissing, NotAPeer)
@evaluated_once
async def peer_caller(request: Request, _: Annotated[Any, Depends(CERTIFICATE_SCHEME)]) -> Peer:
    """The registry asking, by its certificate. Raises: CertificateMissing, NotAPeer."""
    certificate = presented_certificate(request)
    if certificate is None:
        raise CertificateMissing
    runtime = runtime_of(request)
    return await PEER_CHECK.of(runtime)(runtime, certificate)


CurrentPeer = Annotated[Peer, Depends(peer_caller)]


class PeerName(Convertor[str]):
    """One segment, or a ledger id of three."""

    regex = "[^/]+(?:/registry/[^/]+)?"

    def convert(self, value: str) -> str:
        """The name as it is."""
        return value

    def to_string(self, value: str) -> str:
        """The name in a path."""
        return value


register_url_convertor("peer", PeerName())
