"""A paid call whose service is at another registry: the token is of the caller's, the units cross when it is settled."""

import logging
import socket
import tempfile
from decimal import Decimal
from pathlib import Path

import httpx2
import msgspec

from hansa.doors.demo.client import OK, DemoAgent, DemoFailed
from hansa.doors.demo.echo_service import EchoService, listening
from hansa.doors.demo.federation.registries import DemoRegistry
from hansa.doors.demo.paid_call import registry_of
from hansa.doors.demo.screen import Screen
from hansa_client import AgentCredentials
from hansa_client.service import PaidService

PRICE = "0.05"
TEXT = "good morning"


class Received(msgspec.Struct, frozen=True):
    """Amount that the payer paid, amount that the payee got, and the token that was settled."""

    amount: Decimal
    net: Decimal
    token_id: str


async def pay_across(
    screen: Screen, home: DemoRegistry, payer: DemoAgent, abroad: DemoRegistry, service: DemoAgent
) -> Received:
    """Serve the agent `service` and call it as `payer`. Raises: DemoFailed, HansaError."""
    logging.getLogger("hansa_client").setLevel(logging.ERROR)
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as directory:
        paid = PaidService(
            agent_did=service.did,
            registry_url=abroad.url,
            credentials=AgentCredentials(service.client_id, service.client_secret),
            price=PRICE,
            trusted_registries=[home.url],
            accept_caller_capture=[home.url],
            store=Path(directory) / "paid-calls.db",
        )
        echo = EchoService()
        async with registry_of(home.url, payer) as registry, listening(paid.a2a(echo), listener):
            quoted = await registry.payments.quote(service.did, amount=PRICE)
            screen.line(
                f"{quoted.amount} {quoted.currency}, of which the service gets {quoted.amount_received}"
            )
            token = await registry.payments.authorize(service.did, PRICE)
            await _call(f"http://127.0.0.1:{listener.getsockname()[1]}/a2a", token.token, home.url)
            screen.line(f"{abroad.name} verified the token at {home.name}, and the service worked once")
            settled = await registry.payments.settle(token.token)
            if settled.status != "settled" or echo.texts != [TEXT]:
                raise DemoFailed(f"the token is {settled.status}, the service worked on {echo.texts}")
            screen.line(f"settled by the transfer {settled.settlement_tx_id}")
            assert quoted.amount_received is not None
            return Received(settled.amount, quoted.amount_received, token.token_id)


async def _call(url: str, token: str, issuer: str) -> None:
    message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": TEXT}]}
    body = {"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {"message": message}}
    headers = {"X-Payment-Token": token, "X-Payment-Issuer": issuer, "A2A-Version": "1.0"}
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        answer = await http.post(url, json=body, headers=headers)
    if answer.status_code != OK or f"echo {TEXT}" not in answer.text:
        raise DemoFailed(f"the service answered {answer.status_code}: {answer.text[:300]}")
