"""Two registries of one network: a holds the genesis certificate, b one that a issued to it, and each is a peer of the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa.rooms.federation import CertificateAct, CertificateFilter, CertificateRequest, Delivered, Subject
from hansa.rooms.federation.crossing import refresh_licences
from tests.neighbours.two_registries import Neighbour, Neighbours, befriend, neighbours
from tests.registry import DatabaseFarm


@dataclass(frozen=True)
class Network:
    """Registry a holds the genesis certificate, b one that a issued to it; b pins the root."""

    pair: Neighbours
    root: str

    def settings(self, one: Neighbour, **more: Any) -> Settings:
        pinned = {"federation_root_hash": self.root} if one is self.pair.b else {}
        return one.registry.settings.model_copy(update={**pinned, **more})

    def runtime(self, one: Neighbour, **more: Any) -> Runtime:
        return replace(one.registry.runtime, settings=self.settings(one, **more))

    async def refresh(self, one: Neighbour, **more: Any) -> None:
        await refresh_licences(self.runtime(one, **more))

    async def change(self, act: str, reason: str = "Unpaid.") -> None:
        """The genesis suspends, reinstates or revokes the certificate of b."""
        runtime = self.pair.a.registry.runtime
        (frame, *_), _ = await runtime.database.read(
            lambda tx: federation.list_licence_certificates(tx, CertificateFilter(type="frame"))
        )
        change = CertificateAct(frame.lid, act, reason)  # type: ignore[arg-type]
        await runtime.database.transaction(
            lambda tx: federation.change_certificate(tx, None, runtime.settings, change)
        )

    async def outcome(self, one: Neighbour, other: Neighbour, **more: Any) -> str:
        """`crosses`, or the code and verdict of the refusal."""
        peer = await one.peer(other)
        settings = self.settings(one, **more)
        try:
            await one.registry.database.read(lambda tx: federation.require_may_cross(tx, settings, peer))
        except Refused as refusal:
            context = refusal.context or {}
            return " ".join(
                [refusal.code, *(str(context[name]) for name in ("side", "verdict") if name in context)]
            )
        return "crosses"

    async def execute(self, one: Neighbour, statement: str) -> None:
        await one.registry.database.transaction(lambda tx: tx.execute(statement))


@asynccontextmanager
async def licensed_network(farm: DatabaseFarm, directory: Path, **of_b: object) -> AsyncIterator[Network]:
    """The network; `of_b` are settings of b."""
    mainframe: dict[str, object] = {"is_central_registry": True, "sovereign_mainframes": "a.example"}
    async with neighbours(farm, directory, joined=False, a=mainframe, b=of_b) as pair:
        a, b = pair.a.registry.runtime, pair.b.registry.runtime
        genesis = await a.database.transaction(
            lambda tx: federation.found_network(tx, None, a.settings, a.seal)
        )
        key = await b.database.read(federation.licensing_public_key)
        subject = Subject("b.example", "registry-b", pair.b.public_url)
        request = CertificateRequest(subject, "founding", key, None, states_term=False)
        frame = await a.database.transaction(
            lambda tx: federation.issue_certificate(tx, None, a.settings, a.seal, request)
        )
        made = Network(pair, genesis.hash)
        delivered = Delivered(frame.certificate, [genesis.certificate])
        await b.database.transaction(
            lambda tx: federation.join_network(tx, None, made.settings(pair.b), b.seal, delivered)
        )
        await befriend(pair.a, pair.b)
        await befriend(pair.b, pair.a)
        yield made
