"""The end of an account: asked for, cooled off, carried out; nothing of the person is left, and nothing is lost."""

from datetime import datetime, timedelta

import httpx2
import pytest

from hansa.foundation.plumbing.room import ACCOUNT_END
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from hansa.rooms.people.deletion import carry_out_due
from tests.organizations import found
from tests.registry import (
    PASSWORD,
    StartRegistry,
    TestAgent,
    TestDeveloper,
    TestRegistry,
    at_once,
    card_of,
    text_of,
)
from tests.support import answered, changed, opened
from tests.treasuries import ONE_OWNER, ruled

NO_GRANT = {"genesis_grant_enabled": False}


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """Its agents begin with nothing, so that nothing blocks a deletion."""
    return await start_registry(**NO_GRANT)


@pytest.fixture
async def developer(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


async def request(who: TestDeveloper) -> httpx2.Response:
    return await who.registry.post("/account/request-deletion", headers=who.headers)


async def requested(who: TestDeveloper) -> dict:
    answer = await request(who)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def cancel(who: TestDeveloper) -> httpx2.Response:
    return await who.registry.post("/account/cancel-deletion", headers=who.headers)


async def status_of(who: TestDeveloper) -> dict:
    answer = await who.registry.get("/account/deletion-status", headers=who.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def log_in(registry: TestRegistry, email: str) -> httpx2.Response:
    form = {"username": email, "password": PASSWORD}
    return await registry.post("/auth/login", data=form, headers=registry.elsewhere())


async def logged_in(who: TestDeveloper) -> TestDeveloper:
    answer = await log_in(who.registry, who.email)
    assert answer.status_code == 200, answer.text
    return TestDeveloper(who.registry, who.email, answer.json()["access_token"])


async def let_time_pass(registry: TestRegistry, days: int) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE people_deletion SET requested_at = requested_at - $1::interval,"
            " effective_at = effective_at - $1::interval, next_try_at = next_try_at - $1::interval",
            timedelta(days=days),
        )
    )


async def sweep(registry: TestRegistry, times: int = 2) -> None:
    """Run the background job of each minute; the pause between closing and erasing is over at its next run."""
    for _ in range(times):
        await registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE people_deletion SET next_try_at = next_try_at - interval '2 minutes'"
                " WHERE status = 'processing'"
            )
        )
        await registry.database.transaction(lambda tx: carry_out_due(tx, ACCOUNT_END.of(registry.runtime)))


async def steps(registry: TestRegistry) -> list[str]:
    rows = await registry.database.read(
        lambda tx: tx.fetch("SELECT status FROM people_deletion ORDER BY developer_id")
    )
    return [row["status"] for row in rows]


async def everything_stored(registry: TestRegistry) -> str:
    """Every row of every table, as text."""
    names = await registry.database.read(
        lambda tx: tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    )
    rows = []
    for name in names:
        statement = f'SELECT t::text AS row FROM "{name["tablename"]}" t'
        rows += await registry.database.read(lambda tx, statement=statement: tx.fetch(statement))
    return "\n".join(row["row"] for row in rows)


async def suspended_accounts(registry: TestRegistry, *agents: TestAgent) -> int:
    return await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM ledger_account WHERE status = 'suspended' AND did = ANY($1)",
            [agent.did for agent in agents],
        )
    )


async def test_nobody_has_asked_for_anything_at_first(developer: TestDeveloper):
    assert await status_of(developer) == {
        "status": "none",
        "requested_at": None,
        "effective_at": None,
        "blockers": [],
    }
    assert (await cancel(developer)).json()["error"]["code"] == "DELETION_NOT_REQUESTED"


async def test_an_account_is_deleted_two_weeks_after_it_was_asked_for(
    registry: TestRegistry, developer: TestDeveloper
):
    asked = await requested(developer)
    assert asked["status"] == "requested"
    since, until = (datetime.fromisoformat(asked[name]) for name in ("requested_at", "effective_at"))
    assert until - since == timedelta(days=14)
    await let_time_pass(registry, 13)
    await sweep(registry)
    again = await logged_in(developer)
    assert (await status_of(again))["status"] == "requested"
    await let_time_pass(registry, 1)
    await sweep(registry, 1)
    assert await steps(registry) == ["processing"]
    await registry.database.transaction(lambda tx: carry_out_due(tx, ACCOUNT_END.of(registry.runtime)))
    assert await steps(registry) == ["processing"]
    await sweep(registry, 1)
    assert await steps(registry) == ["deleted"]
    await sweep(registry)
    assert await steps(registry) == ["deleted"]


async def test_the_registry_sets_the_cooling_off(start_registry: StartRegistry):
    registry = await start_registry(account_deletion_cooling_off_days=0, **NO_GRANT)
    await requested(await registry.developer())
    await sweep(registry)
    assert await steps(registry) == ["deleted"]


async def test_requesting_deletion_ends_no_token_and_any_of_them_can_cancel(
    registry: TestRegistry, developer: TestDeveloper
):
    login = (await log_in(registry, developer.email)).json()
    await requested(developer)
    for token in (developer.token, login["access_token"]):
        answer = await registry.get("/auth/profile", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200
    refresh = await registry.post("/auth/refresh", json={"refresh_token": login["refresh_token"]})
    assert refresh.status_code == 200
    again = TestDeveloper(registry, developer.email, refresh.json()["access_token"])
    answer = await cancel(again)
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert (await cancel(again)).status_code == 409
    await let_time_pass(registry, 15)
    await sweep(registry)
    assert (await status_of(again))["status"] == "cancelled"
    assert (await requested(again))["status"] == "requested"


async def test_the_owner_is_notified_by_mail_until_when_the_deletion_can_be_cancelled(
    registry: TestRegistry, developer: TestDeveloper
):
    asked = await requested(developer)
    (mail,) = [mail for mail in await registry.outbox() if mail["To"] == developer.email]
    assert mail["Subject"] == "Your account is to be deleted"
    assert asked["effective_at"][:10] in text_of(mail)
    assert "cancel" in text_of(mail)


async def test_asked_twice_the_first_request_counts(registry: TestRegistry, developer: TestDeveloper):
    by_key = await developer.api_key()
    first = await requested(by_key)
    await let_time_pass(registry, 3)
    second = await requested(by_key)
    shift = datetime.fromisoformat(first["effective_at"]) - datetime.fromisoformat(second["effective_at"])
    assert shift == timedelta(days=3)
    assert await steps(registry) == ["requested"]


async def test_api_keys_work_until_the_account_is_closed(registry: TestRegistry, developer: TestDeveloper):
    by_key = await developer.api_key()
    await requested(by_key)
    assert (await status_of(by_key))["status"] == "requested"
    await let_time_pass(registry, 14)
    await sweep(registry, 1)
    answer = await registry.get("/account/deletion-status", headers=by_key.headers)
    assert answer.status_code == 401


async def test_what_the_agents_hold_blocks_the_deletion_and_each_thing_is_named(
    start_registry: StartRegistry,
):
    registry = await start_registry()
    developer = await registry.developer()
    agent = await developer.agent()
    role = await registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "staker"}, headers=developer.headers
    )
    assert role.status_code == 200, role.text
    staked = await registry.post("/staking/stake", json={"amount": "40"}, headers=agent.headers)
    assert staked.status_code == 200, staked.text
    answer = await request(developer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "DELETION_BLOCKED")
    returned = [(each["kind"], each["agent_did"], each["amount"]) for each in answer.json()["blockers"]]
    assert returned == [("balance", agent.did, "60"), ("stake", agent.did, "40")]
    assert answer.json()["error"]["context"]["blockers"] == answer.json()["blockers"]
    assert (await status_of(developer))["blockers"] == answer.json()["blockers"]
    assert (await status_of(developer))["status"] == "none"


async def test_units_that_come_in_the_cooling_off_put_the_deletion_off_and_are_not_lost(
    registry: TestRegistry, developer: TestDeveloper
):
    receiver = await developer.agent()
    payer = await registry.agent()
    await requested(developer)
    await give(registry, payer)
    assert (await payer.transfer(receiver, "1")).status_code == 200
    await let_time_pass(registry, 14)
    await sweep(registry)
    assert await steps(registry) == ["requested"]
    again = await logged_in(developer)
    assert [blocker["amount"] for blocker in (await status_of(again))["blockers"]] == ["1"]
    assert await receiver.balance() == "1"
    assert (await receiver.transfer(payer, "0.99502488")).status_code == 200
    assert await receiver.balance() == "0"
    await let_time_pass(registry, 1)
    await sweep(registry)
    assert await steps(registry) == ["deleted"]


async def give(registry: TestRegistry, agent: TestAgent) -> None:
    """Ten units of the treasury's, as a grant."""
    book = ledger.Book.of(registry.settings)
    paid = await registry.database.transaction(
        lambda tx: ledger.grant(tx, payee=agent.did, amount=parse_amount("10"), ref="test", book=book)
    )
    assert paid


async def test_a_deletion_that_is_put_off_holds_up_no_other(registry: TestRegistry):
    held, free = [await registry.developer() for _ in range(2)]
    await give(registry, await held.agent())
    for who in (held, free):
        await registry.database.transaction(
            lambda tx, email=who.email: tx.execute(
                "INSERT INTO people_deletion (developer_id, status, effective_at, next_try_at)"
                " SELECT id, 'requested', now(), now() FROM people_developer WHERE email = $1",
                email,
            )
        )
    await sweep(registry)
    assert await steps(registry) == ["requested", "deleted"]
    assert (await registry.get("/auth/profile", headers=held.headers)).status_code == 200


async def test_with_the_account_its_agents_end_for_good(registry: TestRegistry, developer: TestDeveloper):
    agents = [await developer.agent(name=name) for name in ("One", "Two")]
    other = await registry.agent()
    unused = await developer.bootstrap_token()
    await requested(developer)
    await let_time_pass(registry, 14)
    await sweep(registry)
    for agent in agents:
        answer = await registry.get("/agents/me", headers=agent.headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "AGENT_REVOKED")
        card = (await registry.get(f"/agents/by-did/{agent.did}")).json()
        assert (card["status"], card["is_active"]) == ("revoked", False)
        assert (await other.transfer(agent, "1")).status_code in (402, 403)
    assert await suspended_accounts(registry, *agents) == 2
    created = await registry.post(
        "/onboard/create_agent",
        json={"agent_did_method": registry.settings.did_method, "agent_card": card_of("Late")},
        headers={"Bootstrap-Token": unused},
    )
    assert created.status_code in (401, 403), created.text
    assert (await registry.supply())["status"] == "OK"
    revoked = await registry.get("/events/", params={"event_type": "AgentRevoked"}, headers=registry.internal)
    assert {event["data"]["did"] for event in revoked.json()["items"]} == {agent.did for agent in agents}


async def test_nothing_stored_names_the_person_any_more(registry: TestRegistry):
    admin = await registry.administrator("admin_support")
    code = (await registry.post("/admin/invite-codes/generate", json={}, headers=admin.headers)).json()[0]
    body = {
        "name": "Ada Vanishing",
        "email": "ada.vanishing@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        "invite_code": code["code"],
    }
    answer = await registry.post("/auth/register", json=body, headers=registry.elsewhere())
    assert answer.status_code == 201, answer.text
    ada = TestDeveloper(
        registry, body["email"], (await log_in(registry, body["email"])).json()["access_token"]
    )
    me = (await registry.get("/auth/profile", headers=ada.headers)).json()["id"]
    await ada.agent()
    await registry.post("/auth/api-keys", json="Vanishing key", headers=ada.headers)
    await registry.post("/auth/2fa/setup", headers=ada.headers)
    await registry.post(
        "/developers/webhooks",
        json={"url": "https://vanishing.example.org/hook", "event_types": ["*"]},
        headers=ada.headers,
    )
    await opened(ada, subject="Vanishing worry", body="It is vanishing.")
    await registry.post("/auth/forgot-password", json={"email": body["email"]})
    stored = await everything_stored(registry)
    for trace in (
        "Ada Vanishing",
        "ada.vanishing@example.org",
        "Vanishing key",
        "vanishing.example.org",
        "Vanishing worry",
    ):
        assert trace in stored
    await requested(ada)
    await let_time_pass(registry, 14)
    await sweep(registry)
    stored = (await everything_stored(registry)).lower()
    assert "vanishing" not in stored
    left = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND table_name LIKE 'people\\_%' AND column_name = 'developer_id' AND table_name <> 'people_deletion'"
        )
    )
    assert len(left) > 5
    for row in left:
        count = f'SELECT count(*) FROM "{row["table_name"]}" WHERE developer_id = $1'
        assert await registry.database.read(lambda tx, s=count: tx.fetchval(s, me)) == 0, row["table_name"]


async def test_a_colleague_who_was_deleted_stays_in_the_work_of_the_support_without_a_number(
    registry: TestRegistry, developer: TestDeveloper
):
    colleague = await registry.administrator("admin_support")
    ticket = await opened(developer)
    number = (await registry.get("/auth/profile", headers=colleague.headers)).json()["id"]
    await changed(colleague, ticket, assignee=number)
    await answered(colleague, ticket)
    await answered(colleague, ticket, internal=True)
    await requested(colleague)
    await let_time_pass(registry, 14)
    await sweep(registry)
    other = await registry.administrator("admin_support")
    case = (await registry.get(f"/admin/support/tickets/{ticket['id']}", headers=other.headers)).json()
    assert (case["assignee"], case["messages"][0]["staff"], case["notes"][0]["staff"]) == (None, None, None)


async def test_a_request_to_invite_the_person_is_cancelled_without_the_address(
    registry: TestRegistry, developer: TestDeveloper
):
    guild = await found(registry)
    await guild.member("admin")
    await ruled(guild, ONE_OWNER | {"from": "admin"})
    invited = {"email": developer.email, "role": "admin"}
    asked = (await guild.send(guild.owner, "POST", "/invitations", json=invited)).json()
    assert (asked["status"], asked["body"]["email"]) == ("PENDING", developer.email.lower())
    await requested(developer)
    await let_time_pass(registry, 14)
    await sweep(registry)
    left = await guild.read(guild.owner, f"/treasury/requests/{asked['request_id']}")
    assert (left["status"], "email" in left["body"]) == ("CANCELLED", False)


async def test_nothing_opens_a_deleted_account_and_its_name_and_address_are_free(registry: TestRegistry):
    developer = await registry.developer("Once Mine")
    await requested(developer)
    await let_time_pass(registry, 14)
    await sweep(registry, 1)
    wrong = await log_in(registry, developer.email)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "AUTH_FAILED")
    await sweep(registry, 1)
    assert (await log_in(registry, developer.email)).status_code == 401
    body = {
        "name": "Once Mine",
        "email": developer.email,
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    }
    assert (await registry.post("/auth/register", json=body, headers=registry.elsewhere())).status_code == 201
    assert (await log_in(registry, developer.email)).status_code == 200


async def test_an_administrator_who_was_deleted_stands_in_the_log_by_number_alone(registry: TestRegistry):
    leaver, stayer = [await registry.administrator("admin_platform", "admin_support") for _ in range(2)]
    made = await registry.post("/admin/invite-codes/generate", json={}, headers=leaver.headers)
    code = made.json()[0]["code"]
    await requested(leaver)
    await let_time_pass(registry, 14)
    await sweep(registry)
    (logged,) = (await registry.get("/admin/audit-log", headers=stayer.headers)).json()["items"]
    assert (logged["act"], logged["developer_name"]) == ("invite.make", None)
    assert logged["developer_id"] == made.json()[0]["created_by"]
    body = {
        "name": "Late",
        "email": "late@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        "invite_code": code,
    }
    assert (await registry.post("/auth/register", json=body, headers=registry.elsewhere())).status_code == 400


async def test_a_narrow_key_deletes_no_account(registry: TestRegistry, developer: TestDeveloper):
    narrow = await developer.api_key("profile:write", "keys:manage")
    assert (await request(narrow)).status_code == 403
    assert (await status_of(narrow))["status"] == "none"


async def test_a_cancellation_and_the_sweep_at_once_leave_the_account_whole_or_closed(registry: TestRegistry):
    for _ in range(5):
        developer = await registry.developer()
        by_key = await developer.api_key()
        agent = await by_key.agent()
        await requested(by_key)
        await let_time_pass(registry, 14)
        cancelled, _ = await at_once(cancel(by_key), sweep(registry, 1))
        lives = (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
        assert cancelled.status_code in (200, 401, 409)
        assert lives == (cancelled.status_code == 200)
        await sweep(registry)


async def test_of_many_requests_at_once_one_counts(registry: TestRegistry, developer: TestDeveloper):
    keys = [await developer.api_key() for _ in range(5)]
    answers = await at_once(*(request(key) for key in keys))
    assert [answer.status_code for answer in answers] == [200] * 5
    assert len({answer.json()["effective_at"] for answer in answers}) == 1


async def test_a_bond_prevents_the_deletion_and_is_named(start_registry: StartRegistry):
    developer = await (await start_registry(genesis_grant_enabled=True)).developer()
    agent = await developer.agent()
    path = f"/agents/{agent.did}/reputation-bond/deposit"
    made = await agent.registry.post(path, json={"amount": "100"}, headers=agent.headers)
    assert made.status_code == 200, made.text
    blockers = (await status_of(developer))["blockers"]
    assert [(one["kind"], one["amount"]) for one in blockers] == [("bond", "100")]
    refused = await request(developer)
    assert (refused.status_code, refused.json()["blockers"][0]["kind"]) == (409, "bond")
