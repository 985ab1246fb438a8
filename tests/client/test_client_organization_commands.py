"""`hansa-client org`, `treasury` and `work`, and `contract` and `dispute` of a treasury, as their user types them."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from tests.client.terminal import Typed, logged_in
from tests.organizations import found, id_of, token_mailed_to
from tests.registry import PASSWORD, TestRegistry


@pytest.fixture
async def at(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """A user who is logged in."""
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    return at


async def test_an_organization_from_its_founding_to_its_end(at: Typed):
    made = await at.run("org", "create", "guild", "--name", "Guild", "--description", "Translates.")
    assert made.startswith("guild  owner  active  Guild\nTranslates.\n")
    assert await at.run("org", "list") == "guild  owner  active  Guild\n"
    changed = await at.json("org", "change", "guild", "--visibility", "public")
    assert (changed["visibility"], changed["name"]) == ("public", "Guild")
    shown = await at.run("org", "show", changed["id"])
    assert f"treasury {changed['treasury_did']}\nmembers 1  agents 0  teams 0\n" in shown
    summary = await at.run("org", "summary", "guild")
    assert summary == "members 1  agents 0  teams 0\nliquid 0  staked 0  escrow 0\n"
    assert "  organization.create  guild\n" in await at.run("org", "audit", "guild")
    assert await at.run("treasury", "requests", "guild") == "No requests.\n"
    assert "No appointment of an owner" in await at.run("org", "veto", "guild", code=1)
    assert await at.run("org", "delete", "guild") == "guild  deleted\n"
    assert await at.run("org", "list") == "No organizations.\n"


async def test_teams_and_agents(at: Typed):
    await at.run("org", "create", "guild", "--name", "Guild")
    assert (
        await at.run("org", "create-team", "guild", "editors", "--grant", "read")
        == "editors  read  members 0  agents 0\n"
    )
    await at.run("org", "change-team", "guild", "editors", "--grant", "operate")
    created = await at.json("agent", "create", "--name", "Polyglot", "--org", "guild")
    assert created["initial_funding_status"] == "not_first_agent"
    did = created["agent_did"]
    assert await at.run("org", "agents", "guild") == f"Polyglot  active  {did}\n"
    (member,) = (await at.json("org", "members", "guild"))["items"]
    number = str(member["developer_id"])
    assert (
        await at.run("org", "add-member", "guild", "editors", number) == f"editors  has  developer:{number}\n"
    )
    await at.run("org", "add-agent", "guild", "editors", did)
    assert await at.run("org", "teams", "guild") == "editors  operate  members 1  agents 1\n"
    await at.run("org", "remove-agent", "guild", "editors", did)
    await at.run("org", "remove-member", "guild", "editors", number)
    assert await at.run("org", "delete-team", "guild", "editors") == "editors  deleted\n"
    assert "  release  EXECUTED\n" in await at.run("org", "release", "guild", did)
    assert await at.run("org", "agents", "guild") == "No agents.\n"
    assert f"{did}  belongs to guild\n" in await at.run("org", "take-in", "guild", did)


async def test_a_user_is_invited_and_decides_about_owners(
    at: Typed, registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    guild = await found(registry)

    async def invited(role: str) -> None:
        monkeypatch.setenv("HANSA_CLIENT_INVITATION", await guild.invite("ada@example.org", role))

    await invited("viewer")
    assert await at.run("org", "decline") == f"{guild.slug}  declined\n"
    await invited("admin")
    assert (await at.run("org", "my-invitations")).startswith(f"{guild.slug}  admin  until ")
    assert await at.run("org", "accept") == f"{guild.slug}  admin\n"
    own = next(
        str(one["developer_id"])
        for one in (await at.json("org", "members", guild.slug))["items"]
        if one["role"] == "admin"
    )
    promoted = await guild.send(guild.owner, "PATCH", f"/members/{own}", json={"role": "owner"})
    assert promoted.status_code == 200
    third = await guild.member("admin")
    asked = await guild.change(guild.owner, third, "owner")
    number = asked.json()["request_id"]
    assert (
        await at.run("treasury", "requests", guild.slug) == f"{number}  owners  PENDING  needs 1 approvals\n"
    )
    approved = await at.run("treasury", "approve", guild.slug, number)
    assert f"{number}  owners  EXECUTED\n" in approved
    assert (await at.json("treasury", "request", guild.slug, number))["status"] == "EXECUTED"
    asked = await at.json("org", "remove", guild.slug, str(await id_of(third)))
    assert "CANCELLED" in await at.run("treasury", "cancel", guild.slug, asked["request_id"])
    other = await guild.change(guild.owner, third, "admin")
    rejected = await at.run(
        "treasury", "reject", guild.slug, other.json()["request_id"], "--reason", "Not now."
    )
    assert rejected.endswith("REJECTED\nNot now.\n")
    member = await guild.member()
    assert await at.run("org", "role", guild.slug, str(await id_of(member)), "viewer") == (
        f"{await id_of(member)}  viewer\n"
    )
    assert "no member any more" in await at.run("org", "remove", guild.slug, str(await id_of(member)))


async def test_invitations_by_a_user(at: Typed, registry: TestRegistry):
    await at.run("org", "create", "guild", "--name", "Guild")
    await at.run("org", "create-team", "guild", "editors", "--grant", "read")
    sent = await at.json("org", "invite", "guild", "ann@example.org", "--team", "editors")
    assert (await token_mailed_to(registry, "ann@example.org")).startswith("oit_")
    listed = await at.run("org", "invitations", "guild")
    assert listed == f"{sent['invitation_id']}  member  ann@example.org\n"
    unknown = await at.run("org", "invite", "guild", "bob@example.org", "--team", "absent", code=1)
    assert "guild has no team absent" in unknown
    await at.run("org", "revoke-invitation", "guild", sent["invitation_id"])
    assert await at.run("org", "invitations", "guild") == "No invitations.\n"


async def test_an_owner_is_appointed_by_an_administrator_alone(at: Typed, registry: TestRegistry):
    guild = await found(registry)
    refused = await at.run("org", "appoint", guild.slug, "1", "--reason", "Lost.", code=1)
    assert "AREA_MISSING" in refused


async def test_a_treasury_pays_and_work_is_awarded(at: Typed, registry: TestRegistry, tmp_path: Path):
    made = await at.json("org", "create", "guild", "--name", "Guild")
    await at.run("agent", "create", "--name", "Payer")
    await at.run("send", made["treasury_did"], "60")
    payee = await registry.agent(name="Payee")
    paid = await at.run("treasury", "pay", "guild", payee.did, "2", "--note", "July")
    assert "  payment  EXECUTED\n" in paid
    rules = tmp_path / "rules.json"
    rules.write_text('{"per_day_max": "50"}')
    assert await at.run("treasury", "rules", "guild", str(rules)) == "guild  0 tiers of approvals\n"
    shown = await at.run("treasury", "show", "guild")
    assert "spent today 2\nat most 50 a day\n" in shown
    assert "  sent  2\n" in await at.run("treasury", "transactions", "guild")
    await at.run("org", "create-team", "guild", "editors", "--grant", "read")
    budget = (
        await at.json(
            "treasury", "create-budget", "guild", "Travel", "9", "--period", "once", "--team", "editors"
        )
    )["budget_id"]
    changed = await at.run("treasury", "change-budget", "guild", budget, "--amount", "5")
    assert changed.startswith(f"{budget}  Travel  5 of 5  once  team ")
    assert await at.run("treasury", "budgets", "guild") == changed
    assert await at.run("treasury", "delete-budget", "guild", budget) == f"{budget}  deleted\n"
    drawer = await at.json("agent", "create", "--name", "Drawer", "--org", "guild")
    await at.run(
        "treasury",
        "create-budget",
        "guild",
        "Calls",
        "3",
        "--period",
        "month",
        "--agent",
        drawer["agent_did"],
    )
    assert await at.run("treasury", "draw", "1", "--agent", "Drawer") == "1  left 2\n"
    assert await at.run("contract", "list", "--org", "guild") == "No contracts.\n"
    offer = ["work", "offer", "guild", "--title", "Manual", "--spec", "Translate.", "--criteria", "French."]
    until = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    orders = [
        (await at.json(*offer, "--amount", "10", "--bids-until", until, "--skill", "french"))["id"]
        for _ in range(2)
    ]
    listed = await at.run("work", "list", "--skill", "french")
    assert all(f"{number}  OPEN  10  guild  Manual\n" in listed for number in orders)
    assert await at.run("work", "bids", orders[0]) == "No bids.\n"
    assert "CANCELLED" in await at.run("work", "cancel", "guild", orders[1])
    related = await at.run("work", "bid", orders[0], "8", "--days", "5", "--agent", "Payer", code=1)
    assert "RELATED_PARTY" in related
    answer = await registry.post(
        f"/work-orders/{orders[0]}/bids", json={"price": "8", "eta_seconds": 86400}, headers=payee.headers
    )
    bid = answer.json()["bid_id"]
    assert await at.run("work", "bids", orders[0]) == f"{bid}  live  8  {payee.did}\n"
    assert "  award  EXECUTED\n" in await at.run("work", "award", "guild", orders[0], bid)
    assert "AWARDED" in await at.run("work", "show", orders[0])
    (contract,) = (await at.json("contract", "list", "--org", "guild"))["items"]
    number, for_guild = str(contract["id"]), ("--org", "guild")
    for _ in range(2):
        submitted = await registry.post(f"/contracts/{number}/submit", json={}, headers=payee.headers)
        assert submitted.status_code == 200, submitted.text
        if _ == 0:
            returned = await at.run("contract", "request-changes", number, "--note", "Page 3.", *for_guild)
            assert returned.startswith(f"{number}  ACCEPTED  8 AVT  Manual\n")
    approved = await at.run("contract", "approve", number, *for_guild)
    assert approved.startswith(f"{number}  COMPLETED  8 AVT  Manual\n")
    assert "paid 8 of 8 AVT\n" in await at.run("contract", "show", number, *for_guild)
    assert "WRONG_STATE" in await at.run("contract", "reject", number, *for_guild, code=1)
    assert "WRONG_STATE" in await at.run("contract", "cancel", number, *for_guild, code=1)
    assert "--org" in await at.run("contract", "show", number, *for_guild, "--agent", "Payer", code=1)


async def test_work_is_offered_in_milestones(at: Typed):
    made = await at.json("org", "create", "guild", "--name", "Guild")
    await at.run("agent", "create", "--name", "Payer")
    await at.run("send", made["treasury_did"], "20")
    until = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    stated = ("--title", "Manual", "--spec", "Translate.", "--criteria", "French.", "--amount", "6")
    offer = ("work", "offer", "guild", *stated, "--bids-until", until)
    parted = await at.run(*offer, "--milestone", "Draft=4", "--milestone", "Rest=2")
    assert "\n  Draft  4\n  Rest  2\n" in parted
    assert "TITLE=AMOUNT" in await at.run(*offer, "--milestone", "Draft", code=1)


async def test_a_contract_of_a_treasury_is_proposed_and_disputed(
    at: Typed, registry: TestRegistry, tmp_path: Path
):
    made, for_guild = await at.json("org", "create", "guild", "--name", "Guild"), ("--org", "guild")
    await at.run("agent", "create", "--name", "Payer")
    await at.run("send", made["treasury_did"], "60")
    payee = await registry.agent(name="Payee")
    due = (datetime.now(UTC) + timedelta(days=9)).date().isoformat()
    stated = ("--title", "Manual", "--amount", "9", "--terms", "Translate.", "--criteria", "French.")
    proposed = await at.json(
        *("contract", "create", *for_guild, *stated, "--provider", payee.did),
        *("--funded", "--review-by", due, "--key", "manual-1"),
    )
    assert (proposed["kind"], proposed["status"]) == ("contract", "EXECUTED")
    number = str(proposed["result"]["contract_id"])
    for act in ("accept", "submit"):
        answer = await registry.post(f"/contracts/{number}/{act}", json={}, headers=payee.headers)
        assert answer.status_code == 200, answer.text
    assert await at.run("dispute", "list", *for_guild) == "No disputes.\n"
    complaint = ("--reason", "POOR_QUALITY", "--description", "Half of the pages.")
    assert "contract_id" in await at.run("dispute", "file", payee.did, *complaint, *for_guild, code=1)
    filed = await at.run("dispute", "file", payee.did, "--contract", number, *complaint, *for_guild)
    dispute = filed.split()[0]
    assert f"defendant {payee.did}\n" in filed
    page = tmp_path / "page-3.txt"
    page.write_text("Page 3 is missing.")
    await at.run("dispute", "evidence", dispute, "--file", str(page), *for_guild)
    shown = await at.run("dispute", "show", dispute, *for_guild)
    assert sha256(page.read_bytes()).hexdigest() in shown
    listed = await at.run("dispute", "list", *for_guild, "--status", "OPEN")
    assert listed == f"{dispute}  OPEN  POOR_QUALITY  Half of the pages.\n"
