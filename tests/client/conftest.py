"""Clients of a served registry: each test runs with the asynchronous client and with the synchronous one."""

from collections.abc import AsyncIterator, Callable

import pytest

from hansa_client import AsyncRegistry, Registry
from tests.client.both import Client
from tests.client.faults import Faults
from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry

Open = Callable[..., Client]


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry on a socket."""
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture
def faults() -> Faults:
    """What happens to the requests of the clients; nothing at first."""
    return Faults()


@pytest.fixture(params=[AsyncRegistry, Registry], ids=["asynchronous", "synchronous"])
async def connect(
    request: pytest.FixtureRequest, registry: TestRegistry, faults: Faults
) -> AsyncIterator[Open]:
    """Opens clients of the registry: `connect(agent=…, developer=…)`."""
    opened: list[Client] = []

    def open_client(**credentials: object) -> Client:
        kind = request.param
        transport = faults.asynchronous() if kind is AsyncRegistry else faults.synchronous()
        opened.append(Client(kind(registry.settings.base_url, http_transport=transport, **credentials)))
        return opened[-1]

    yield open_client
    for client in opened:
        await client.close()
