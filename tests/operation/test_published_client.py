"""The protocol's published client, as it is, against a served registry on plain http.

It has no account routes: registering, logging in and onboarding are plain requests through its own HTTP library, with
the cards that its models write. Finding, identity, signatures and transfers go through its own classes.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from theprotocol.auth.jws_card import sign_agent_card, verify_agent_card
from theprotocol.auth.jwt_verifier import AgentJwtVerifier
from theprotocol.models import AgentCard
from theprotocol.transfer import TransferClient
from theprotocol.transfer.client import SmartSendError

from tests.operation.conftest import Launch
from tests.registry import PASSWORD, DatabaseFarm, card_of

FIND_SECONDS = 120


@dataclass(frozen=True)
class Client:
    """A developer with an HTTP client."""

    url: str
    http: httpx.AsyncClient
    headers: dict[str, str]

    async def onboard(self, card: dict[str, Any]) -> dict[str, Any]:
        """A new agent with a token."""
        ticket = await self.http.post("/onboard/bootstrap/request-token", json={}, headers=self.headers)
        made = await self.http.post(
            "/onboard/create_agent",
            json={"agent_did_method": "hansa", "agent_card": card},
            headers={"Bootstrap-Token": ticket.json()["bootstrap_token"]},
        )
        assert made.status_code == 201, made.text
        agent = made.json()
        form = {"username": agent["client_id"], "password": agent["client_secret"]}
        token = await self.http.post("/auth/agent/token", data=form)
        return {**agent, "token": token.json()["access_token"]}

    async def find(self, text: str) -> list[dict[str, Any]]:
        """Return the findings of a search, once there are any."""
        results: list[dict[str, Any]] = []
        async with asyncio.timeout(FIND_SECONDS):
            while not results:
                found = await self.http.get("/agent-cards/discover", params={"q": text})
                results = found.json()["results"]
        return results

    async def read(self, did: str) -> dict[str, Any]:
        return (await self.http.get(f"/agents/by-did/{did}")).json()["card_data"]


@pytest.fixture
async def client(operated: Launch, database_farm: DatabaseFarm) -> AsyncIterator[Client]:
    registry = operated(DATABASE_URL=await database_farm.fresh())
    await registry.start()
    async with httpx.AsyncClient(base_url=f"{registry.url}/api/v1", timeout=60) as http:
        account = {"name": "Ada", "email": "ada@example.org", "password": PASSWORD}
        registered = await http.post(
            "/auth/register", json={**account, "tos_accepted": True, "age_confirmed": True}
        )
        assert registered.status_code == 201, registered.text
        login = await http.post("/auth/login", data={"username": account["email"], "password": PASSWORD})
        yield Client(registry.url, http, {"Authorization": f"Bearer {login.json()['access_token']}"})


def card(name: str, **more: Any) -> AgentCard:
    """A card as the client's models write it: neither version nor modes, organization or skill tags."""
    members = {
        "protocolVersion": "1.0",
        "humanReadableId": f"acme/{name}",
        "agentVersion": "0.3.1",
        "name": name,
        "description": f"{name} of the published client.",
        "url": "http://127.0.0.1:9500/a2a",
        "authSchemes": [{"scheme": "none"}],
        "provider": {"name": "Acme"},
        "capabilities": {"streaming": False, "a2aVersion": "1.0"},
        **more,
    }
    return AgentCard.model_validate(members)


def written(model: AgentCard, *, with_nulls: bool = False) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=not with_nulls)


async def test_the_published_client_registers_onboards_finds_and_transfers(client: Client):
    skill = {"id": "weave", "name": "Weaving", "description": "Weaves cloth."}
    payer = await client.onboard(written(card("payer")))
    payee = await client.onboard(written(card("payee", skills=[skill]), with_nulls=True))

    results = await client.find("weaving")
    assert [one["did"] for one in results] == [payee["agent_did"]]
    read = AgentCard.model_validate(await client.read(payee["agent_did"]))
    assert (read.name, read.provider.name, read.agent_version) == ("payee", "Acme", "0.3.1")
    exported = await client.http.get(f"/agents/{payee['agent_did']}/card-export")
    assert AgentCard.model_validate(exported.json()).name == "payee"

    known = await AgentJwtVerifier(client.url).verify(payer["token"])
    assert (known["verified"], known["caller_did"]) == (True, payer["agent_did"])

    transfers = TransferClient(client.url)
    plan = await transfers.preview(payer["token"], payee["agent_did"], "2.5")
    assert plan["method"] == "local"
    for _ in range(2):
        sent = await transfers.send(
            payer["token"], payee["agent_did"], "2.5", message="invoice 42", idempotency_key="inv-42"
        )
        assert sent["status"] == "completed"
    with pytest.raises(SmartSendError) as refused:
        await transfers.send(payer["token"], payee["agent_did"], "100000")
    assert refused.value.status_code == 402
    await transfers.close()
    balance = await client.http.get("/teg/balance", headers={"Authorization": f"Bearer {payee['token']}"})
    assert balance.json()["balance"] == "2.5"


async def test_the_published_client_reads_cards_of_the_new_form_and_signs_as_the_registry_knows(
    client: Client,
):
    agent = await client.onboard(
        card_of("New", provider={"organization": "O", "url": "https://o.example.org"})
    )
    document = await client.read(agent["agent_did"])
    read = AgentCard.model_validate(document)
    assert (str(read.url), read.provider.name) == ("https://agent.example.org/a2a", "O")
    assert [one.scheme for one in read.auth_schemes or []] == ["none"]
    jwk = (await client.http.get(f"/agents/{agent['agent_did']}/public-key")).json()
    signed = sign_agent_card(document, private_pem=agent["private_key_pem"], kid=f"{agent['agent_did']}#1")
    assert verify_agent_card(signed, jwk) == (True, None)
