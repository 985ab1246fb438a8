"""Clients of a served registry: each test runs with the asynchronous client and with the synchronous one."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpcore2
import pytest

from hansa_client import AsyncRegistry, Registry, trust
from tests.client import clean_environment
from tests.client.both import Client
from tests.client.faults import Faults
from tests.client.terminal import Terminal
from tests.made_once import made_once
from tests.operation.conftest import founded_data
from tests.registry import TestRegistry

__all__ = ["founded_data"]

Open = Callable[..., Client]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with nothing but the client's distribution."""
    with made_once(tmp_path_factory, "client_environment") as (directory, is_missing):
        return clean_environment.make(directory) if is_missing else directory / "bin"


@pytest.fixture
async def address(registry: TestRegistry) -> AsyncIterator[str]:
    """The registry on a socket, with its live feed."""
    async with registry.listening() as address:
        yield f"http://{address}"


@pytest.fixture
def faults() -> Faults:
    """Faults of the requests of the clients; none at first."""
    return Faults()


@pytest.fixture(params=[AsyncRegistry, Registry], ids=["asynchronous", "synchronous"])
async def connect(request: pytest.FixtureRequest, address: str, faults: Faults) -> AsyncIterator[Open]:
    """Opens clients of the registry: `connect(agent=…, developer=…)`."""
    opened: list[Client] = []

    def open_client(**credentials: object) -> Client:
        kind = request.param
        transport = faults.asynchronous() if kind is AsyncRegistry else faults.synchronous()
        opened.append(Client(kind(address, http_transport=transport, **credentials)))
        return opened[-1]

    yield open_client
    for client in opened:
        await client.close()


@pytest.fixture
def terminal(programs: Path, tmp_path: Path) -> Callable[..., Terminal]:
    def open_terminal(**environment: str) -> Terminal:
        home = tmp_path / "home"
        home.mkdir()
        return Terminal(programs, home, environment)

    return open_terminal


@pytest.fixture
def nothing_is_read_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No certificate authorities are read: the process that runs the tests keeps those that the library reads, whatever the variables are."""
    monkeypatch.setattr(httpcore2, "default_ssl_context", httpcore2.default_ssl_context.__wrapped__)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    trust._read.cache_clear()
    yield
    trust._read.cache_clear()
