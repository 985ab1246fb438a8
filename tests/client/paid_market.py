"""A payee that is paid at several addresses and its payers, at a registry in a process of its own."""

from pathlib import Path
from typing import Any

import httpx2

from hansa_client import AgentCredentials, AsyncRegistry
from tests.client.paid_processes import PAYERS, PRICE
from tests.registry import PASSWORD, card_of


async def open_market(url: str, ports: list[int], directory: Path, calls: int) -> dict[str, Any]:
    """Open the market and return its description for the processes of the run, as JSON; of each agent its DID, credentials and balance."""
    async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
        interfaces = [
            {"url": f"http://127.0.0.1:{port}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            for port in ports
        ]
        pricing = {"base_rate": PRICE, "payment_required": True}
        payee_card = card_of("Payee", supportedInterfaces=interfaces, pricing=pricing)
        return {
            "registry": url,
            "payee": await _agent(http, "payee@example.org", payee_card),
            "payers": [
                await _agent(http, f"payer-{number}@example.org", card_of("Payer"))
                for number in range(PAYERS)
            ],
            "ports": ports,
            "fault_rate": 0.2,
            "calls": calls,
            **{name: str(directory / name) for name in ("store", "journal", "executions", "done")},
        }


def registry_of(stated: dict[str, Any], agent: dict[str, Any]) -> AsyncRegistry:
    """A client of the registry for one of the agents."""
    return AsyncRegistry(stated["registry"], agent=AgentCredentials(*agent["credentials"]))


async def _agent(http: httpx2.AsyncClient, address: str, card: dict[str, Any]) -> dict[str, Any]:
    """A new agent of a new developer."""
    person = {
        "name": address,
        "email": address,
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    await http.post("/api/v1/auth/register", json=person)
    login = await http.post("/api/v1/auth/login", data={"username": address, "password": PASSWORD})
    headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
    bootstrap = await http.post("/api/v1/onboard/bootstrap/request-token", json={}, headers=headers)
    config = (await http.get("/api/v1/public/registry-config")).json()
    made = await http.post(
        "/api/v1/onboard/create_agent",
        json={"agent_did_method": config["did_method"], "agent_card": card},
        headers={"Bootstrap-Token": bootstrap.json()["bootstrap_token"]},
    )
    assert made.status_code == 201, made.text
    credentials = [made.json()["client_id"], made.json()["client_secret"]]
    async with AsyncRegistry(str(http.base_url), agent=AgentCredentials(*credentials)) as registry:
        balance = (await registry.transfers.balance()).balance
    return {"did": made.json()["agent_did"], "credentials": credentials, "balance": str(balance)}
