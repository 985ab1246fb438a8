"""Many paid calls over three services in one process, on a network that loses, doubles and delays, with work that is cancelled.

The registry, the kit, the services and their store are the real ones; requests reach them without sockets. Afterwards no token
was worked for twice, no call was paid twice, and the books of the registry add up. Processes are killed in
`test_paid_calls_under_faults.py`.
"""

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2

from hansa_client import AsyncRegistry, RetryPolicy
from hansa_client.errors import HansaError
from hansa_client.pay import (
    AsyncPayingClient,
    AsyncPendingPayments,
    Journal,
    PaymentInProgress,
    PaymentRefused,
    PaymentUnresolved,
    Progress,
    paying,
)
from hansa_client.service import PaidService
from tests.client.judged_calls import require_none_pending
from tests.client.paid import credentials_of, priced_card
from tests.client.paid_processes import PRICE, Unreliable
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent, TestRegistry

CALLS = by_tier(500, 10_000, 30_000)
SECONDS = by_tier(300, 6_000, 18_000)
PAYERS, AT_ONCE_OF_EACH = 4, 8
PORTS = (8001, 8002, 8003)
ADDRESS = f"http://127.0.0.1:{PORTS[0]}"
FAULTS_OF_CALLS, FAULTS_OF_REGISTRY, CANCELLED = 0.2, 0.05, 0.09


@dataclass
class Works:
    """Paid work: counts each body with each token, fails for some bodies, and is cancelled now and then."""

    executions: Counter[tuple[str, str]] = field(default_factory=Counter)
    cancelled: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"].decode()
        token = dict(scope["headers"])[b"x-payment-token"]
        self.executions[body, hashlib.sha256(token).hexdigest()] += 1
        await asyncio.sleep(random.uniform(0, 0.05))
        if random.random() < CANCELLED:
            self.cancelled += 1
            raise asyncio.CancelledError
        status = 500 if body.endswith("7") else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": f"answer to {body}".encode()})


class InProcess(httpx2.AsyncBaseTransport):
    """Applications by their ports. A request that an application cancels has no answer."""

    def __init__(self, applications: dict[int | None, Any]) -> None:
        self._inner = {
            port: httpx2.ASGITransport(application, raise_app_exceptions=False)
            for port, application in applications.items()
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        inner = self._inner.get(request.url.port) or self._inner[None]
        answering = asyncio.create_task(inner.handle_async_request(request))
        await asyncio.wait({answering})
        if answering.cancelled():
            raise httpx2.ReadError("the connection was closed", request=request)
        return answering.result()


@dataclass
class Payer:
    """An agent that pays for its share of the calls."""

    client: AsyncPayingClient
    registry: AsyncRegistry
    payee: str
    outcomes: dict[str, str] = field(default_factory=dict)

    async def pay(self, waiting: list[str]) -> None:
        """Make each call until it has an outcome."""
        while waiting:
            body = waiting.pop()
            capture_by = "payee" if int(body) % 3 else "caller"
            options = paying(payee=self.payee, capture_by=capture_by, call_id=f"call-{body}")
            try:
                answer = await self.client.post(f"{ADDRESS}/work", content=body.encode(), extensions=options)
            except PaymentRefused:
                self.outcomes[body] = "refused"
            except (PaymentUnresolved, PaymentInProgress, HansaError, httpx2.TransportError):
                waiting.append(body)
            else:
                assert answer.status_code != 200 or answer.text == f"answer to {body}"
                self.outcomes[body] = str(answer.status_code)

    async def settled(self) -> Counter[str]:
        """How often each of its calls was paid, once nothing is pending."""
        await require_none_pending(AsyncPendingPayments(self.registry, self.client.journal))
        entries = await asyncio.wrap_future(self.client.journal.entries(limit=10 * CALLS))
        assert not [entry for entry in entries if entry.is_open]
        return Counter(str(entry.call_id) for entry in entries if entry.progress is Progress.SETTLED)


async def test_many_calls_on_a_faulty_network_are_worked_for_once_and_paid_once(
    start_registry: StartRegistry, tmp_path: Path
) -> None:
    random.seed(printed_seed())
    registry = await start_registry(rate_limit_reads="off")
    payee = await registry.agent(name="Payee", **priced_card(registry, ADDRESS, PRICE))
    before, works = Decimal(await payee.balance()), Works()
    async with AsyncExitStack() as opened, asyncio.timeout(SECONDS):
        applications: dict[int | None, Any] = {
            port: await opened.enter_async_context(_service(registry, payee, works, tmp_path))
            for port in PORTS
        }
        payers = [
            await opened.enter_async_context(
                _payer(registry, payee.did, applications, tmp_path / f"{number}.db")
            )
            for number in range(PAYERS)
        ]
        async with asyncio.TaskGroup() as group:
            for number, payer in enumerate(payers):
                waiting = [str(body) for body in range(number, CALLS, PAYERS)]
                for _ in range(AT_ONCE_OF_EACH):
                    group.create_task(payer.pay(waiting))
        settled = sum([await payer.settled() for payer in payers], Counter[str]())
    outcomes = {body: outcome for payer in payers for body, outcome in payer.outcomes.items()}
    assert len(outcomes) == CALLS
    assert [worked for worked, times in works.executions.items() if times > 1] == []
    assert works.cancelled > 0
    assert settled == {f"call-{body}": 1 for body, outcome in outcomes.items() if outcome == "200"}
    assert Decimal(await payee.balance()) - before == len(settled) * Decimal(PRICE)
    supply = (await registry.get("/public/supply-invariant")).json()
    assert float(supply["delta"]) == 0, supply


@asynccontextmanager
async def _service(
    registry: TestRegistry, payee: TestAgent, works: Works, directory: Path
) -> AsyncIterator[Any]:
    """One more service of the payee, on the store that all of them share."""
    service = PaidService(
        agent_did=payee.did,
        registry_url=registry.settings.base_url,
        credentials=credentials_of(payee),
        accept_caller_capture=True,
        price=PRICE,
        store=directory / "paid-calls.db",
        http_transport=Unreliable(None, FAULTS_OF_REGISTRY, InProcess({None: registry.app})),
    )
    yield service.asgi(works)
    await service.stop()


@asynccontextmanager
async def _payer(
    registry: TestRegistry, payee: str, services: dict[int | None, Any], file: Path
) -> AsyncIterator[Payer]:
    own = await registry.agent(name="Payer")
    async with AsyncRegistry(
        registry.settings.base_url,
        agent=credentials_of(own),
        retries=RetryPolicy(attempts=4),
        http_transport=Unreliable(None, FAULTS_OF_REGISTRY, InProcess({None: registry.app})),
    ) as client_of_registry:
        journal = Journal(file)
        transport = Unreliable(PORTS, FAULTS_OF_CALLS, InProcess(services))
        async with AsyncPayingClient(
            client_of_registry, max_amount=PRICE, journal=journal, patience_seconds=3.0, transport=transport
        ) as client:
            yield Payer(client, client_of_registry, payee)
        await asyncio.to_thread(journal.close)
