"""An administrator of the federation at a registry of the tests."""

from dataclasses import dataclass
from typing import Any

from tests.registry import TestDeveloper, TestRegistry

PEERS = "/admin/federation/peers"


@dataclass(frozen=True)
class PeerAdministrator:
    """Asks as an administrator, and expects a status."""

    registry: TestRegistry
    developer: TestDeveloper

    @property
    def headers(self) -> dict[str, str]:
        return self.developer.headers

    async def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        answer = await self.registry.post(path, json=body, headers=self.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def act(self, name: str, act: str, status: int = 200, **body: str) -> dict[str, Any]:
        return await self.post(f"{PEERS}/{name}/{act}", body, status)

    async def peer(self, name: str, status: int = 200) -> dict[str, Any]:
        answer = await self.registry.get(f"{PEERS}/{name}", headers=self.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def peers(self) -> list[dict[str, Any]]:
        answer = await self.registry.get(PEERS, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def invite(self) -> str:
        return (await self.post("/admin/federation/invitations", {}, 201))["invitation"]


async def peer_administrator(registry: TestRegistry) -> PeerAdministrator:
    return PeerAdministrator(registry, await registry.administrator("admin_federation"))
