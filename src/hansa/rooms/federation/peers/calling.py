"""Call a peer over mutual TLS, as this registry."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from hansa.foundation.plumbing.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.outgoing import Answer, Call, CallLimits, MutualCalls, MutualEnd
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.charter import registry_id_of

from .errors import FederationOff
from .records import PeerRecord

CERTIFICATE_LIFETIME = timedelta(days=1)
CALL_LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)


class OwnCertificate:
    """The certificate that this process shows to peers, issued for a day and renewed at half of it."""

    def __init__(self, authority: IdentityAuthority | None, settings: Settings) -> None:
        self._authority = authority
        self._spiffe_id = registry_id_of(settings.trust_domain, settings.registry_name)
        self._svid: Svid | None = None

    def svid(self) -> Svid:
        """The certificate to show now. Raises: FederationOff."""
        if self._authority is None:
            raise FederationOff
        now = datetime.now(UTC)
        if self._svid is None or now > self._svid.expires_at - CERTIFICATE_LIFETIME / 2:
            self._svid = self._authority.issue(self._spiffe_id, now=now, lifetime=CERTIFICATE_LIFETIME)
        return self._svid


OWN_CERTIFICATE: Slot[OwnCertificate] = Slot("federation: the certificate shown to peers")
PEER_CALLS: Slot[MutualCalls] = Slot("federation: connections to peers")


async def call_peer(
    runtime: Runtime,
    peer: PeerRecord,
    method: str,
    path: str,
    body: Any = None,
    *,
    limits: CallLimits = CALL_LIMITS,
) -> Answer:
    """Call a route of a peer; `body` is sent as JSON unless it is None. Never within a transaction.

    `path` begins with `/api/v1` or names a root path. Whatever the status is, it is an answer.

    Raises: OutgoingTrouble (a `reason` that may be stored), PeerClosed before its card was verified, FederationOff.
    """
    end = peer.end
    if end is None:
        raise PeerClosed("The registry card of this peer was not verified yet.")
    content = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {} if content is None else {"Content-Type": "application/json"}
    return await call_end(runtime, peer.id, end, Call(method, path, content, headers), limits)


async def call_end(runtime: Runtime, peer_id: int, end: MutualEnd, call: Call, limits: CallLimits) -> Answer:
    """As `call_peer`, of a registry whose address and identity are known before they are stored."""
    own = OWN_CERTIFICATE.of(runtime).svid()
    return await PEER_CALLS.of(runtime).send(peer_id, end, own, call, limits)


@asynccontextmanager
async def connections_to_peers(runtime: Runtime) -> AsyncIterator[None]:
    """Close the connections to peers at the end of the process."""
    try:
        yield
    finally:
        await PEER_CALLS.of(runtime).close()
