"""Treasuries for tests: funded, with rules, and requests by members."""

from typing import Any

import httpx2

from tests.organizations import Organization, id_of
from tests.registry import TestAgent, TestDeveloper, TestRegistry

ONE_OWNER = {"over": "10", "approvals": 1, "from": "owner"}
TWO_ADMINS = {"over": "10", "approvals": 2, "from": "admin"}


async def fund(guild: Organization, amount: str = "90") -> None:
    """Transfer units of an agent with a grant to the treasury."""
    giver = await guild.registry.agent()
    given = await giver.transfer(guild.created["treasury_did"], amount)
    assert given.status_code == 200, given.text


async def put_rules(guild: Organization, by: TestDeveloper | None = None, **rules: Any) -> httpx2.Response:
    """Ask for these rules."""
    return await guild.send(by or guild.owner, "PUT", "/treasury/rules", json=rules)


async def ruled(guild: Organization, *tiers: dict[str, Any], **more: Any) -> None:
    """Set the first rules of an organization."""
    written = await put_rules(guild, tiers=list(tiers), **more)
    assert written.status_code == 200, written.text


async def pay(
    guild: Organization, payee: TestAgent | str, amount: str, by: TestDeveloper | None = None, **more: Any
) -> httpx2.Response:
    """Ask for a payment."""
    did = payee if isinstance(payee, str) else payee.did
    body = {"kind": "payment", "receiver_did": did, "amount": amount, **more}
    return await guild.send(by or guild.owner, "POST", "/treasury/requests", json=body)


async def act(
    guild: Organization, who: TestDeveloper, request: str, name: str, **body: Any
) -> httpx2.Response:
    """Reject, cancel or retry a request."""
    return await guild.send(who, "POST", f"/treasury/requests/{request}/{name}", json=body or None)


async def liquid(guild: Organization) -> str:
    """The liquid units of the treasury."""
    return (await guild.read(guild.owner, "/treasury"))["balances"]["liquid"]


async def team_with(guild: Organization, slug: str, *members: TestDeveloper) -> str:
    """The id of a new team with these members."""
    made = await guild.send(guild.owner, "POST", "/teams", json={"slug": slug, "grant": "read"})
    for member in members:
        placed = await guild.send(guild.owner, "PUT", f"/teams/{slug}/members/{await id_of(member)}")
        assert placed.status_code == 200, placed.text
    return str(made.json()["id"])


async def end_delay(registry: TestRegistry, number: str) -> None:
    """Let the delay of a request be over."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE organizations_request SET executes_at = now() WHERE id = $1::text::uuid", number
        )
    )
