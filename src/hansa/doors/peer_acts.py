"""Acts of the operator with peers at the command line, whether the registry serves or rests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from hansa.doors.startup import joined_database, open_runtime, require_data_directory, require_own_database
from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.rooms import federation
from hansa.rooms.federation import NewPeer, PeerOut, PeerRecord

CONNECTIONS = 2
LISTED_AT_ONCE = 1000


async def invite_peer(
    settings: Settings, lifetime: timedelta, operator: str | None
) -> federation.SignedInvitation:
    """Sign an invitation. Raises: Refused, BadKey, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        return await federation.invite(runtime, None, lifetime, operator)


async def open_invitations(settings: Settings) -> list[federation.OpenInvitationOut]:
    """The invitations that can be redeemed. Raises: the errors of opening the database."""
    async with _runtime(settings) as runtime:
        found = await runtime.database.read(federation.open_invitations)
        return federation.OpenInvitationsOut.of(found).items


async def revoke_invitation(settings: Settings, jti: UUID) -> None:
    """Revoke an invitation that nobody has redeemed. Raises: Refused, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        await runtime.database.transaction(lambda tx: federation.revoke_invitation(tx, None, jti))


async def accept_invitation(
    settings: Settings, invitation: str, net_in_limit: int | None
) -> federation.AcceptedOut:
    """Accept an invitation; returns the peer. Raises: Refused, BadKey, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        accepted = await federation.accept(runtime, None, invitation, net_in_limit)
        view = await runtime.database.read(lambda tx: federation.view_of(tx, accepted.peer))
        return federation.AcceptedOut.of_accepted(view, accepted)


async def add_peer(settings: Settings, new: NewPeer) -> PeerOut:
    """Add a peer by hand. Raises: Refused, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        return await _shown(
            runtime, await runtime.database.transaction(lambda tx: federation.add_by_hand(tx, None, new))
        )


async def list_peers(settings: Settings) -> list[PeerOut]:
    """Every peer, by name. Raises: the errors of opening the database."""

    async def read(tx: Tx) -> list[PeerOut]:
        shown: list[PeerOut] = []
        while True:
            found, total = await federation.list_peers(tx, LISTED_AT_ONCE, len(shown))
            shown += [PeerOut.of(view) for view in found]
            if not found or len(shown) >= total:
                return shown

    async with _runtime(settings) as runtime:
        return await runtime.database.read(read)


async def show_peer(settings: Settings, name: str) -> PeerOut:
    """One peer. Raises: Refused, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        return PeerOut.of(await runtime.database.read(lambda tx: federation.view_by_name(tx, name)))


async def sync_peer(settings: Settings, name: str) -> federation.SyncOutcome:
    """Read a peer now. Raises: Refused, and the errors of opening the database."""
    async with _runtime(settings) as runtime:
        return await federation.sync_by_name(runtime, None, name)


async def change_peer(settings: Settings, act: Literal["pause", "resume"], name: str) -> PeerOut:
    """Pause or resume a peer. Raises: Refused, and the errors of opening the database."""
    changing = federation.pause_peer if act == "pause" else federation.resume_peer
    async with _runtime(settings) as runtime:
        return await _shown(runtime, await runtime.database.transaction(lambda tx: changing(tx, None, name)))


async def remove_peer(settings: Settings, name: str, *, abandon: bool) -> tuple[str, bool]:
    """Remove a peer; returns its name, and whether nothing is left of it. Raises: as `change_peer`."""
    async with _runtime(settings) as runtime:
        peer, is_gone = await runtime.database.transaction(
            lambda tx: federation.remove_peer(tx, None, runtime, name, abandon=abandon)
        )
        return peer.name, is_gone


async def local_bundle(settings: Settings) -> TrustBundle:
    """The trust bundle of this registry with its sequence. Raises: as `change_peer`."""
    async with _runtime(settings) as runtime:
        return await federation.local_bundle(runtime)


async def proxy_certificate(settings: Settings, lifetime: timedelta) -> Svid:
    """A certificate of this registry's own identity, for a proxy that ends mutual TLS in its place.

    Where its frame or SPIRE certifies the registry, it is the present one, whatever `lifetime` is.

    Raises: Refused, BadKey, and the errors of opening the database.
    """
    async with _runtime(settings) as runtime:
        if settings.federation_base_url is None or not settings.has_identity:
            raise federation.FederationOff(
                "Set FEDERATION_BASE_URL to the address at which peers reach the proxy."
            )
        host = urlsplit(settings.federation_base_url).hostname
        assert host is not None
        spiffe_id = federation.registry_id_of(settings.trust_domain, settings.registry_name)
        if runtime.authority is None:
            svid = await federation.LOCAL_IDENTITY.of(runtime).svid()
        else:
            svid = runtime.authority.issue(spiffe_id, now=datetime.now(UTC), lifetime=lifetime, hosts=[host])
        await runtime.database.transaction(
            lambda tx: record_operator_act(tx, act="peer.certificate", subject=spiffe_id)
        )
        return svid


async def _shown(runtime: Runtime, peer: PeerRecord) -> PeerOut:
    return PeerOut.of(await runtime.database.read(lambda tx: federation.view_of(tx, peer)))


@asynccontextmanager
async def _runtime(settings: Settings) -> AsyncIterator[Runtime]:
    require_data_directory(settings)
    small = settings.model_copy(update={"database_pool_size": CONNECTIONS})
    async with joined_database(small) as dsn:
        await require_own_database(small, dsn)
        async with open_runtime(small, dsn) as runtime:
            try:
                yield runtime
            finally:
                await federation.PEER_CALLS.of(runtime).close()
