"""Services of registries for each other beside plain transfers: a swap, a bridge and back, a slash across."""

from decimal import Decimal
from typing import Any

import msgspec

from hansa.doors.demo.client import CREATED, OK, DemoAgent, DemoFailed
from hansa.doors.demo.federation.registries import DemoRegistry, until
from hansa.doors.demo.screen import Screen

RESERVE_HOME, RESERVE_AWAY = "1000", "4000"
SWAPPED, BRIDGED, SLASHED, COMPENSATED = "5", "2", "0.05", "0.04"
COMPLAINT = "The echo came back garbled."


class Party(msgspec.Struct, frozen=True):
    """An agent and its registry."""

    registry: DemoRegistry
    agent: DemoAgent

    async def post(self, path: str, body: dict[str, Any], expect: int = OK) -> dict[str, Any]:
        """The answer to a request of the agent. Raises: DemoFailed."""
        answer = await self.registry.client.ask(
            "POST", f"/api/v1{path}", expect=expect, json=body, headers=self.agent.headers
        )
        read: dict[str, Any] = answer.json()
        return read

    async def get(self, path: str) -> dict[str, Any]:
        """Return the document that the agent reads. Raises: DemoFailed."""
        answer = await self.registry.client.ask("GET", f"/api/v1{path}", headers=self.agent.headers)
        read: dict[str, Any] = answer.json()
        return read


async def swap(screen: Screen, payer: Party, payee: Party) -> Decimal:
    """Open a pool, and pay by a quote; returns the amount that the payee received, in the currency of its registry. Raises: DemoFailed."""
    home, away = payer.registry, payee.registry
    pool = {
        "currency": away.currency,
        "peer": away.name,
        "reserve_own": RESERVE_HOME,
        "reserve_foreign": RESERVE_AWAY,
    }
    await home.administer("POST", "/admin/fx/pools", pool, expect=CREATED)
    await away.administer("POST", f"/admin/fx/pools/{home.currency}/fund", {"amount": RESERVE_AWAY})
    await until(lambda: _pools_agree(home, away), "the registries do not agree on the reserves of the pool")
    screen.line(f"a pool of {RESERVE_HOME} {home.currency} and {RESERVE_AWAY} {away.currency}")
    quoted = await payer.post("/teg/fx/quote", {"to_currency": away.currency, "amount": SWAPPED})
    sent = await payer.post(
        "/teg/send", {"receiver_did": payee.agent.did, "amount": SWAPPED, "quote_id": quoted["quote_id"]}
    )
    received = Decimal(sent["amount_received"])
    if sent["status"] != "completed" or received < Decimal(quoted["amount_out"]):
        raise DemoFailed(f"a swap quoted as {quoted} ended as {sent}")
    screen.line(f"{SWAPPED} {home.currency} became {received:f} {away.currency}, as quoted")
    await until(
        lambda: _pools_agree(home, away), "the registries do not agree on the reserves after the swap"
    )
    return received


async def _pools_agree(home: DemoRegistry, away: DemoRegistry) -> bool:
    """Return whether both hold the reserves that the other states, and both are funded."""
    reserves = []
    for one, other in ((home, away), (away, home)):
        answer = await one.client.ask("GET", "/api/v1/teg/fx/pool", params={"to": other.currency})
        reserves.append((answer.json()["reserve_from"], answer.json()["reserve_to"]))
    return "0" not in reserves[0] and reserves[0] == reserves[1][::-1]


async def bridge_and_back(screen: Screen, owner: Party, holder: Party) -> None:
    """Lock units at their home, hold them wrapped at the other registry, and redeem them. Raises: DemoFailed."""
    body = {"receiver_did": holder.agent.did, "amount": BRIDGED}
    locked = await owner.post("/bridge/transfer", body)
    unit = locked["wrapped_currency"]
    await until(lambda: _has_completed(owner, locked), "the units were not wrapped")
    held = {one["wrapped_currency"]: one["amount"] for one in (await holder.get("/bridge/wrapped"))["items"]}
    if held != {unit: BRIDGED}:
        raise DemoFailed(f"{holder.agent.name} holds {held} wrapped, and not {BRIDGED} {unit}")
    screen.line(f"{holder.agent.name} holds {BRIDGED} {unit}, locked at {owner.registry.name}")
    body = {"wrapped_currency": unit, "receiver_did": owner.agent.did, "amount": BRIDGED}
    redeemed = await holder.post("/bridge/redeem", body)
    await until(lambda: _has_completed(holder, redeemed), "the wrapped units were not redeemed")
    await until(lambda: _nothing_is_wrapped(owner, holder), "units are still wrapped or locked")
    screen.line(f"redeemed: {BRIDGED} {owner.registry.currency} are {owner.agent.name}'s again")


async def _has_completed(party: Party, saga: dict[str, Any]) -> bool:
    return bool((await party.get(f"/bridge/status/{saga['saga_id']}"))["state"] == "COMPLETED")


async def _nothing_is_wrapped(owner: Party, holder: Party) -> bool:
    amounts: list[str] = []
    for one in (owner, holder):
        audit = await one.registry.internal("/api/v1/projections/supply-audit")
        amounts += [line["locked"] for line in audit["locked"]]
        amounts += [line["wrapped"] for line in audit["wrapped"]]
    return set(amounts) <= {"0"}


async def slash_across(screen: Screen, complainant: Party, defendant: Party, token_id: str) -> None:
    """A dispute about a payment is ruled at home, and the other registry destroys units. Raises: DemoFailed."""
    home, abroad = complainant.registry, defendant.registry
    complaint = {
        "defendant_did": defendant.agent.did,
        "token_id": token_id,
        "reason_code": "POOR_QUALITY",
        "description": COMPLAINT,
    }
    dispute = (await complainant.post("/disputes/", complaint, expect=CREATED))["id"]
    await home.administer("PUT", f"/admin/disputes/{dispute}/open-voting")
    ruling = {
        "ruling": "IN_FAVOR_OF_COMPLAINANT",
        "slash_amount": SLASHED,
        "compensation_amount": COMPENSATED,
        "note": COMPLAINT,
    }
    await home.administer("PUT", f"/admin/disputes/{dispute}/ruling", ruling)
    path = "/federation/disputes/settlements"
    found: dict[str, Any] = {}

    async def is_at(one: DemoRegistry, status: str) -> bool:
        listed = await one.administer("GET", path)
        found.update(listed["items"][0] if listed["items"] else {})
        return bool(found.get("status") == status)

    await until(lambda: is_at(abroad, "PENDING_SLASH"), "the slash was not asked for")
    screen.line(f"{home.name} ruled, and asked {abroad.name} to destroy {SLASHED}")
    await abroad.administer("POST", f"{path}/{found['settlement_id']}/approve")
    for one in (abroad, home):
        await until(lambda one=one: is_at(one, "SETTLED"), f"the slash is not settled at {one.name}")  # type: ignore[misc]
        if found["slashed_amount"] != SLASHED:
            raise DemoFailed(f"the slash at {one.name} is {found}")
    screen.line(f"approved at {abroad.name}; {COMPENSATED} were issued to {complainant.agent.name}")
