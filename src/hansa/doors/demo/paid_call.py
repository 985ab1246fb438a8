"""A paid call: a stock A2A client finds a service by search, is quoted, pays, and gets the same answer when it repeats."""

import logging
import socket
import tempfile
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import msgspec
from a2a.client import ClientConfig, create_client
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import ParseDict

from hansa.doors.demo.ai_client import Shopping, buy_through_tools
from hansa.doors.demo.cards import echo_card
from hansa.doors.demo.client import DemoAgent, DemoClient, DemoDeveloper, DemoFailed
from hansa.doors.demo.echo_service import EchoService, listening
from hansa.doors.demo.market import Tally
from hansa.doors.demo.pipeline import run_pipeline
from hansa.doors.demo.screen import Screen
from hansa_client import AgentCredentials, AsyncRegistry, RetryPolicy
from hansa_client.pay import AsyncDeliveryReceipts, AsyncPayingClient
from hansa_client.pay.httpx_transport import PayingHttpxTransport
from hansa_client.records.cards import FoundAgent
from hansa_client.service import PaidService

THROUGH_TOOLS = "let an AI client find the service and pay, through /mcp"

PRICE = "0.05"
TEXT = "good morning"
# A registry may ask a client to wait for a minute, and another process of it may follow a write later.
PATIENT = RetryPolicy(attempts=30, pause_seconds_max=120)

Settled = Callable[[Callable[[], Awaitable[bool]], str], Awaitable[None]]
"""Waits until a condition holds, and otherwise fails with a sentence."""


def registry_of(url: str, agent: DemoAgent) -> AsyncRegistry:
    """The registry as this agent uses it."""
    credentials = AgentCredentials(agent.client_id, agent.client_secret)
    return AsyncRegistry(url, agent=credentials, retries=PATIENT)


class Caller(msgspec.Struct, frozen=True):
    """The agent that calls and pays, at the registry at `url`; the service listens at `listener`, which ends with it."""

    url: str
    client: DemoClient
    screen: Screen
    payer: DemoAgent
    listener: socket.socket


async def pay_for_a_call(caller: Caller, owner: DemoDeveloper, tally: Tally, settled: Settled) -> DemoAgent:
    """Serve a new agent of `owner`, and call it, by a stock A2A client and then by an MCP client. Returns the agent. Raises: DemoFailed, HansaError, A2AClientError."""
    # The kit warns of the answer that is lost here on purpose.
    logging.getLogger("hansa_client").setLevel(logging.ERROR)
    with caller.listener as listener, tempfile.TemporaryDirectory() as directory:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = (await caller.client.ask("GET", "/api/v1/public/registry-config")).json()
        card = echo_card(owner.name.rpartition(" ")[2], address, PRICE, config["settlement_currency"])
        service = await caller.client.create_agent(owner, config["did_method"], card)
        tally.balances[service.did] = Decimal(await caller.client.balance(service))
        async with registry_of(caller.url, caller.payer) as registry:
            found = await _found(registry, card["name"], settled)
            quoted = await registry.payments.quote(service.did)
            caller.screen.line(
                f"found {found.name}; a call costs {quoted.total} {quoted.currency} with the fee"
            )
            paid, echo = await _paid_service(caller.url, registry, service, Path(directory)), EchoService()
            async with listening(paid.a2a(echo), listener):
                payment = await _called(caller, registry, service, echo, Path(directory) / "payments.db")
                await count_payment(registry, payment, caller.payer, service, tally)
                caller.screen.step(THROUGH_TOOLS)
                payment = await buy_through_tools(
                    Shopping(caller.url, caller.client, caller.screen, caller.payer, service)
                )
                if payment is not None:
                    await count_payment(registry, payment, caller.payer, service, tally)
                    for paid_step in await run_pipeline(registry, caller.screen, service, PRICE):
                        await count_payment(registry, paid_step, caller.payer, service, tally)
    return service


async def _found(registry: AsyncRegistry, name: str, settled: Settled) -> FoundAgent:
    found: list[FoundAgent] = []

    async def is_found() -> bool:
        page = await registry.discovery.find(name, pricing="paid", limit=10)
        found.extend(one for one in page.results if one.name == name)
        return bool(found)

    await settled(is_found, f"{name} is not found by a search for paid agents")
    return found[0]


async def _paid_service(
    url: str, registry: AsyncRegistry, service: DemoAgent, directory: Path
) -> PaidService:
    return PaidService(
        agent_did=service.did,
        registry_url=url,
        registry_names=[await _issuer(registry, service)],
        credentials=AgentCredentials(service.client_id, service.client_secret),
        price=PRICE,
        store=directory / "paid-calls.db",
        signing_key_pem=service.private_key_pem,
    )


async def _called(
    caller: Caller, registry: AsyncRegistry, service: DemoAgent, echo: EchoService, journal: Path
) -> str | None:
    """Call, lose the answer, call again. Returns the transaction of the payment. Raises: DemoFailed."""
    network = LosesOneAnswer()
    async with AsyncPayingClient(registry, max_amount=PRICE, journal=journal, transport=network) as paying:
        card = (await registry.cards.read(service.did)).card_data or {}
        answer = await _said(paying, card, TEXT)
        if (answer, echo.texts, network.losses) != (f"echo {TEXT}", [TEXT], 1):
            raise DemoFailed(f"a repeated call was worked on {len(echo.texts)} times and answered {answer!r}")
        caller.screen.line(f'paid {PRICE}; the answer was lost, the repeated call got it: "{answer}"')
        (token,) = [one for one in await registry.payments.tokens() if one.status == "settled"]
        evidence = await AsyncDeliveryReceipts(registry, paying.journal).evidence(token.token_id)
        caller.screen.line(f"worked on once, paid once; the delivery receipt of {evidence.at} is valid")
        return token.settlement_tx_id


class LosesOneAnswer(httpx2.AsyncHTTPTransport):
    """A network that loses the answer to the first call that carries a payment."""

    losses = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; the first paid answer does not arrive."""
        response = await super().handle_async_request(request)
        if "X-Payment-Token" not in request.headers or self.losses:
            return response
        self.losses += 1
        await response.aread()
        await response.aclose()
        raise httpx2.ReadError("the answer was lost", request=request)


async def _issuer(registry: AsyncRegistry, service: DemoAgent) -> str:
    """The name of the registry in its payment tokens, from one that is given up again."""
    token = await registry.payments.authorize(service.did, PRICE)
    await registry.payments.release(token.token_id)
    return token.issuer


async def _said(paying: AsyncPayingClient, card: dict[str, Any], text: str) -> str:
    """Return the service's answer to a message of the stock client of A2A, which knows nothing of payments."""
    described = ParseDict(card, AgentCard(), ignore_unknown_fields=True)
    async with httpx.AsyncClient(transport=PayingHttpxTransport(paying), timeout=60) as http:
        stock = await create_client(described, ClientConfig(httpx_client=http, streaming=False))
        message = Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)])
        replies = [one async for one in stock.send_message(SendMessageRequest(message=message))]
    return " ".join(part.text for reply in replies for part in reply.message.parts)


async def count_payment(
    registry: AsyncRegistry, transaction_id: str | None, payer: DemoAgent, payee: DemoAgent, tally: Tally
) -> None:
    """Expect the movement of a payment, with the fee on the payer's statement. Raises: DemoFailed."""
    for line in (await registry.transfers.transactions(direction="sent", limit=20)).items:
        if line.transaction_id == transaction_id:
            tally.count_payment(payer.did, payee.did, line.amount, line.fee_amount)
            return
    raise DemoFailed(f"the payment {transaction_id} is not on the statement of its payer")
