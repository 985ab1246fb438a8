"""Recorded: agent cards written, read, listed, found, exported; front doors and documents of agents."""

from typing import Any

from tests.recorded.parties import Parties, agent, bootstrap
from tests.recorded.recorder import ANYONE, RecordedAgent, Recorder
from tests.recorded.transfers import NOBODY
from tests.registry import card_of


async def record_cards(record: Recorder, by: Parties) -> None:
    """Everything about agent cards."""
    await _written(record, by)
    await _listed(record, by)
    await _found(record, by)
    await _front_doors(record, by)


async def _written(record: Recorder, by: Parties) -> None:
    alice = by.alice
    read = await record.ask("GET", f"/agent-cards/{alice.did}")
    tag = read.headers["etag"]
    await record.ask("GET", f"/agent-cards/{alice.did}", headers={"If-None-Match": tag})
    document = {**read.json()["card_data"], "description": "Translates letters, contracts and menus."}
    for _ in range(2):
        change = {"card_data": document}
        await record.ask("PUT", f"/agent-cards/{alice.did}", by.ada, json=change, headers={"If-Match": tag})
    await record.ask("PUT", f"/agent-cards/{alice.did}", by.ben, json={"is_active": False})
    await record.ask("PUT", f"/agent-cards/{NOBODY}", by.ada, json={})
    for card in ({**card_of(), "name": ""}, {}, {**card_of(), "humanReadableId": "No Slash"}, "text"):
        await record.ask("PUT", f"/agent-cards/{alice.did}", by.ada, json={"card_data": card})
    named = {"card_data": card_of("Listing", humanReadableId="acme/listing", tags=["legal"])}
    listing = (await record.ask("POST", "/agent-cards/", by.ada, json=named)).json()
    await record.ask("POST", "/agent-cards", by.ben, json=named)
    await record.ask("POST", "/agent-cards", by.ada, json={"card_data": card_of(), "agent_did": alice.did})
    await record.ask("GET", f"/agent-cards/{listing['id']}")
    for path in (
        "by-hri?hri=acme/listing",
        "id/acme/listing",
        "acme/listing",
        "acme/nothing",
        "17",
        "999999",
    ):
        await record.ask("GET", f"/agent-cards/{path}")
    for unlisted in (True, "yes", False):
        body = {"unlisted": unlisted}
        await record.ask("PATCH", f"/agent-cards/{listing['id']}/listing", by.ada, json=body)
    await record.ask("DELETE", f"/agent-cards/{listing['id']}", by.ada)
    await record.ask("PUT", f"/agent-cards/{listing['id']}", by.ada, json={"is_active": True})
    await record.ask("GET", f"/agent-cards/{alice.did}/versions", by.ada)
    for version in ("1", "2", "99", "x"):
        await record.ask("GET", f"/agent-cards/{alice.did}/versions/{version}")
    await record.ask("GET", f"/agents/{alice.did}/versions")
    for card in (card_of("Judged"), {"name": 7}):
        await record.ask("POST", "/utils/validate-card", json={"card_data": card})
    older = {
        "name": "Older",
        "description": "A card in the older form.",
        "url": "https://older.example.org/a2a",
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    await record.ask("POST", "/agent-cards/", by.ben, json={"card_data": older})


async def _listed(record: Recorder, by: Parties) -> None:
    page = await record.ask("GET", "/agent-cards/?limit=2")
    await record.ask("GET", "/agent-cards/", params={"limit": 2, "next": page.json()["next"]})
    for query in (
        "search=weather", "tags=legal", "active_only=false", "offset=3&limit=1", "limit=0", "next=nonsense",
        "natives_only=true&foreign_only=true", "updated_since=2000-01-01T00:00:00Z&limit=2", "include_unlisted=true",
        "owned_only=true",
    ):  # fmt: skip
        await record.ask("GET", f"/agent-cards/?{query}")
    await record.ask("GET", "/agent-cards?owned_only=true&limit=3", by.ada)
    await record.ask("GET", "/agent-cards/?include_unlisted=true&limit=1", by.administrator)


async def _found(record: Recorder, by: Parties) -> None:
    await record.registry.indexed()
    for query in ("query=weather", "query=bob", "query=legal%20translation", "query=nothing-of-the-kind", "query=ab",
                  "query=weather&limit=0"):  # fmt: skip
        await record.ask("GET", f"/discover?{query}")
    for query in ("q=alma", "tag=legal&sort=name", "pricing=paid", "q=weather&verified_only=true", "sort=sideways",
                  "limit=2&offset=1&sort=newest"):  # fmt: skip
        await record.ask("GET", f"/agent-cards/discover?{query}")
    search = {"query": {"text": "weather"}, "pageSize": 3}
    await record.ask("POST", "/ard/search", json=search)
    await record.ask("POST", "/ard/search", json={"query": {}})
    explore = {"query": {"text": "legal"}, "resultType": {"facets": [{"field": "tags", "limit": 3}]}}
    await record.ask("POST", "/ard/explore", json=explore)
    await record.ask("GET", "/ard/agents?pageSize=2")
    await record.ask("GET", "/ard/catalogue")
    await record.ask("GET", f"/ard/agents/urn:air:hansa.local:{by.bob.did}")
    await record.ask("GET", f"/ard/agents/urn:air:hansa.local:{NOBODY}")


async def _front_doors(record: Recorder, by: Parties) -> None:
    alice = by.alice
    for did in (alice.did, NOBODY):
        for path in ("ad.json", "did.json", "keys", "public-key", "card-export"):
            await record.ask("GET", f"/agents/{did}/{path}")
        await record.ask("GET", f"/agents/by-did/{did}")
    unique = alice.did.rpartition(":")[2]
    await record.ask("GET", f"//{unique}/did.json")
    await record.ask("GET", f"//agents/hansa.local:{unique}/did.json")
    for path in ("agent-card.json", "ard.json", "ai-catalog.json", "agent-descriptions"):
        await record.ask("GET", f"//.well-known/{path}")
    await record.ask("GET", "//robots.txt")


async def record_onboarding(record: Recorder, by: Parties) -> None:
    """Record the creation of agents, and the use and replacement of their credentials."""
    await record.ask("GET", "/onboard/agent-card-template", by.ada)
    await record.ask("POST", "/onboard/bootstrap/request-token", by.alice, json={})
    await record.ask("POST", "/onboard/bootstrap/request-token", by.ada)
    bearer = await bootstrap(record, by.cleo)

    async def create(**members: Any) -> None:
        body = {"agent_did_method": "hansa", **members}
        await record.ask("POST", "/onboard/create_agent", bearer, json=body)

    await create(agent_did_method="web", agent_card=card_of())
    await create()
    await create(agent_card={"name": "only"})
    await create(agent_card=card_of(humanReadableId="acme/listing"))
    await create(agent_host="https://stub.example.org")
    await create(agent_card=card_of())
    await record.ask("POST", "/onboard/create_agent", json={"agent_did_method": "hansa"})
    await record.ask("GET", "/agents", by.cleo)
    await record.ask("GET", "/agents?limit=1&offset=1", by.ada)
    await _credentials(record, by, await agent(record, by.ben, "Robin"))


async def _credentials(record: Recorder, by: Parties, robin: RecordedAgent) -> None:
    await record.ask("GET", "/agents/me", robin)
    await record.ask("GET", "/agents/me", ANYONE)
    await record.ask("GET", "/agents/me", by.ada)
    await record.ask("POST", "/agents/me/heartbeat", robin)
    for form in (
        {"username": robin.created["client_id"], "password": "wrong"},
        {"grant_type": "client_credentials", "client_id": "x"},
        {"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"},
    ):
        await record.ask("POST", "/auth/agent/token", data=form)
    await record.ask("POST", f"/agents/{robin.did}/rotate-secret", by.ada)
    rotated = (await record.ask("POST", f"/agents/{robin.did}/rotate-secret", by.ben)).json()
    for secret in (robin.created["client_secret"], rotated["client_secret"]):
        form = {
            "grant_type": "client_credentials",
            "client_id": rotated["client_id"],
            "client_secret": secret,
        }
        await record.ask("POST", "/auth/agent/token", data=form)
    await record.ask("GET", "/agents/me", robin)
