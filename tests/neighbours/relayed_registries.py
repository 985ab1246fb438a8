"""A home, a relay that is its peer, and a reader that is a peer of the relay alone."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doors.served import listen_again, use_again
from tests.neighbours.reading_peers import read
from tests.neighbours.two_registries import Neighbour, befriend, opened
from tests.registry import DatabaseFarm

# The host of its address is its trust domain, as with a registry that has a domain.
HOME = "127.0.0.1"
RELAY, READER = "relay.example", "reader.example"
SETTINGS: dict[str, dict[str, object]] = {
    HOME: {},
    RELAY: {"relay_cards": True},
    READER: {"take_relayed_cards": True, "enforcement_propagation_mode": "enforce"},
}


@dataclass(frozen=True)
class Relayed:
    """The three registries."""

    home: Neighbour
    relay: Neighbour
    reader: Neighbour

    async def arrive(self) -> Any:
        """Let the relay read the home, then the reader the relay; return the outcome of the last reading."""
        await read(self.relay, self.home)
        return await read(self.reader, self.relay)

    async def item(self, did: str) -> dict[str, Any]:
        """Return the item of an agent that the relay passes on."""
        text = await self.relay.registry.database.query(
            lambda tx: tx.fetchval("SELECT item::text FROM catalogue_signed_item WHERE did = $1", did)
        )
        return json.loads(text)  # type: ignore[no-any-return]

    async def pass_on(self, item: dict[str, Any]) -> None:
        """Let the relay pass on this item from now on, whoever signed it."""
        text = json.dumps(item)
        change = (
            "UPDATE catalogue_signed_item SET item = $2::json, position = plumbing_position() WHERE did = $1"
        )
        await self.relay.registry.database.transaction(lambda tx: tx.execute(change, item["did"], text))
        await self.relay.registry.transactions_ended()

    async def homes(self) -> list[dict[str, Any]]:
        """Return the reader's entries on registries that it knows by a relay."""
        answer = await self.reader.registry.get("/federation/relayed-homes")
        assert answer.status_code == 200, answer.text
        return answer.json()["homes"]  # type: ignore[no-any-return]


@asynccontextmanager
async def three_registries(farm: DatabaseFarm, directory: Path) -> AsyncIterator[Relayed]:
    """The three registries, which serve. Nothing was read yet."""
    sockets = [listen_again() for _ in range(6)]
    ports = [socket.getsockname()[1] for socket in sockets]
    places = [f"127.0.0.1:{port}" for port in ports]
    async with AsyncExitStack() as stack:
        found = []
        for number, (trust_domain, more) in enumerate(SETTINGS.items()):
            first = 2 * number
            settings: dict[str, object] = {
                "trust_domain": trust_domain,
                "registry_name": f"registry-{number}",
                "port": ports[first],
                "federation_port": ports[first + 1],
                "public_base_url": f"http://{places[first]}",
                "federation_base_url": f"https://{places[first + 1]}",
                "outgoing_allow_hosts": places,
                **more,
            }
            serving = opened(farm, directory / str(number), sockets[first : first + 2], settings)
            found.append(await stack.enter_async_context(serving))
        home, relay, reader = found
        for one, other in ((home, relay), (relay, home), (relay, reader), (reader, relay)):
            await befriend(one, other)
        yield Relayed(home, relay, reader)
    use_again(*ports)
