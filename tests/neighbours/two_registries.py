"""Two registries of different trust domains that are peers, in this process, over real sockets and real mutual TLS.

Use, in a test file (both are started once for the file; about a second of CPU):

    from collections.abc import AsyncIterator
    import pytest
    from tests.neighbours.two_registries import Neighbours, neighbours

    @pytest.fixture(scope="module")
    async def pair(database_farm, tmp_path_factory) -> AsyncIterator[Neighbours]:
        async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
            yield pair

    async def test_something(pair: Neighbours):
        answer = await pair.a.call(pair.b, "GET", "/api/v1/federation/…")      # over mutual TLS, as registry a
        agent = await pair.a.registry.agent()                                  # builders of tests/registry.py

- `pair.a` has the trust domain `a.example`, `pair.b` `b.example`. DIDs are `did:hansa:a.example:…`.
- `one.registry` is a `TestRegistry` (HTTP in process). `one.public_url` and `one.federation_url` are its sockets.
- No job runs by itself: `await run_due(one.registry.runtime, *kinds)` of tests/running_jobs.py runs those that are due.
- `neighbours(..., a={...}, b={...})` gives settings to each; `joined=False` leaves them strangers.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hansa.doors.serving.serve import federation_server, server_of
from hansa.doors.serving.trusted_domains import TrustedDomains
from hansa.foundation.plumbing.keys.trust_bundle import bundle_of
from hansa.foundation.plumbing.outgoing import Answer
from hansa.rooms import federation
from hansa.rooms.federation import (
    LOCAL_IDENTITY,
    PEER_CALLS,
    ExpectedRegistry,
    NewPeer,
    PeerRecord,
    judge_card,
)
from hansa.rooms.transfers.crossing import HIGH_WATER
from tests.doors.served import listen_again, use_again
from tests.founded import founded_by
from tests.registry import DatabaseFarm, TestRegistry, on_database, settings_of


@dataclass(frozen=True)
class Neighbour:
    """One registry with its public listener and that of mutual TLS."""

    registry: TestRegistry
    public_url: str
    federation_url: str
    trusted: TrustedDomains

    @property
    def trust_domain(self) -> str:
        return self.registry.settings.trust_domain

    async def peer(self, other: "Neighbour") -> PeerRecord:
        """Return this registry's record of the other one."""
        ledger_id = other.registry.settings.ledger_id
        return await self.registry.database.query(lambda tx: federation.peer_by_name(tx, ledger_id))

    async def call(self, other: "Neighbour", method: str, path: str, body: Any = None) -> Answer:
        """Call a route of the other one over mutual TLS, as the service does."""
        return await federation.call_peer(self.registry.runtime, await self.peer(other), method, path, body)

    async def trust_followed(self) -> None:
        """The listener takes the certificates of every present peer from now on, a second earlier than by itself."""
        await self.trusted.refresh(self.registry.database)

    async def refused(self, other: "Neighbour") -> dict[str, int]:
        """Return this registry's counts of refusals of the other one, by reason."""
        peer = await self.peer(other)
        counted = await self.registry.database.query(lambda tx: federation.refusals_of(tx, [peer]))
        return counted[peer.id]


@dataclass(frozen=True)
class Neighbours:
    """Two registries."""

    a: Neighbour
    b: Neighbour


@asynccontextmanager
async def neighbours(
    farm: DatabaseFarm,
    directory: Path,
    *,
    joined: bool = True,
    closed: str = "",
    a: dict[str, object] | None = None,
    b: dict[str, object] | None = None,
) -> AsyncIterator[Neighbours]:
    """Two registries that serve, peers of each other unless `joined` is false. They may also call the place `closed`."""
    sockets = [listen_again() for _ in range(4)]
    ports = [socket.getsockname()[1] for socket in sockets]
    places = [f"127.0.0.1:{port}" for port in ports]

    def begun(name: str, first: int, more: dict[str, object] | None) -> Any:
        given: dict[str, object] = {
            "trust_domain": f"{name}.example",
            "registry_name": f"registry-{name}",
            "port": ports[first],
            "federation_port": ports[first + 1],
            "public_base_url": f"http://{places[first]}",
            "federation_base_url": f"https://{places[first + 1]}",
            "outgoing_allow_hosts": [*places, closed] if closed else places,
            **(more or {}),
        }
        return opened(farm, directory / name, sockets[first : first + 2], given)

    async with begun("a", 0, a) as one, begun("b", 2, b) as two:
        if joined:
            await befriend(one, two)
            await befriend(two, one)
        yield Neighbours(one, two)
    use_again(*ports)


async def befriend(one: Neighbour, other: Neighbour) -> PeerRecord:
    """Make the other one an approved and active peer, as after both commands of an invitation."""
    peer = await introduce(one.registry, other.registry)
    await one.trust_followed()
    return peer


async def introduce(one: TestRegistry, other: TestRegistry) -> PeerRecord:
    """Introduce two registries like `befriend`, where their listeners are elsewhere."""
    trust_domain = other.settings.trust_domain
    bundle = bundle_of(trust_domain, await LOCAL_IDENTITY.of(other.runtime).roots_pem(), 1)
    card = await other.http.get("/.well-known/registry-card.json")
    keys = await other.http.get("/.well-known/registry-jwks.json")
    expected = ExpectedRegistry(trust_domain, one.settings.trust_domain)
    verified = judge_card(card.text, keys.text, expected, now=datetime.now(UTC))
    new = NewPeer(other.settings.base_url, bundle, "approved", card=verified)
    return await one.database.transaction(lambda tx: federation.add_peer(tx, new))


@asynccontextmanager
async def opened(
    farm: DatabaseFarm, directory: Path, sockets: list[Any], settings: dict[str, object]
) -> AsyncIterator[Neighbour]:
    """One registry that serves at these sockets, the public one first."""
    public, federated = sockets
    chosen = settings_of(farm.unused(), directory, **settings)
    registries = founded_by(farm)
    founded = await registries.of(chosen)
    kept = await registries.opened(founded, chosen.database_pool_size)
    shutil.copytree(founded.directory, directory)
    own = chosen.model_copy(update={"database_url": kept.database.dsn})
    async with on_database(own, kept.database) as registry:
        runtime = registry.runtime
        async with federation_server(registry.app, runtime) as mutual:
            servers = [(server_of(registry.app), public), (mutual, federated)]
            tasks = [asyncio.create_task(server.serve(sockets=[socket])) for server, socket in servers]
            # Before it serves, as a process does: else the first delivery finds no file and awaits the heads, or comes too late for that.
            await HIGH_WATER.of(runtime).compare()
            while not all(server.started for server, _ in servers):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            yield Neighbour(
                registry,
                registry.settings.base_url,
                registry.settings.federation_url,
                mutual.config.app.trusted,  # type: ignore[union-attr]
            )
            await PEER_CALLS.of(runtime).close()
            for server, _ in servers:
                server.should_exit = True
            await asyncio.gather(*tasks)
    await registries.end(founded, kept)
