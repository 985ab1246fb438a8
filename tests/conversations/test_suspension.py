"""Administrators suspend and reinstate agents and developers, and revoke those that stay suspended."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hansa.doors.serving.serve import in_the_background
from hansa.foundation.plumbing.web.admin_acts import bar_author
from hansa.rooms.enforcement.blocklist import BLOCKLIST
from hansa.rooms.federation import is_blocklisted as in_blocklist
from tests.quickest import assert_within
from tests.registry import (
    PASSWORD,
    StartRegistry,
    TestAgent,
    TestDeveloper,
    TestRegistry,
    at_once,
    open_registry,
)
from tests.rooms.journal.feed.feed_client import Listener, all_sent, open_listener

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
REASON = "Sold what it did not have."
ONE_WAITS = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())"


class Enforcement:
    """An administrator at work."""

    def __init__(self, registry: TestRegistry, admin: TestDeveloper) -> None:
        self.registry = registry
        self.admin = admin

    async def ask(self, path: str, **body: Any) -> dict[str, Any]:
        answer = await self.registry.post(f"/admin/{path}", json=body, headers=self.admin.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def suspend(self, *dids: str, **more: Any) -> list[dict[str, str]]:
        body = {"agent_dids": list(dids), "reason": REASON, **more}
        return (await self.ask("agents/bulk/suspend", **body))["results"]

    async def reinstate(self, *dids: str, **more: Any) -> list[dict[str, str]]:
        return (await self.ask("agents/bulk/reinstate", agent_dids=list(dids), **more))["results"]

    async def revoke(self, *dids: str) -> list[dict[str, str]]:
        return (await self.ask("agents/bulk/revoke", agent_dids=list(dids), reason=REASON))["results"]

    async def suspend_developer(self, developer: TestDeveloper) -> dict[str, Any]:
        return await self.ask(f"developers/{await id_of(developer)}/suspend", reason=REASON)

    async def reinstate_developer(self, developer: TestDeveloper) -> dict[str, Any]:
        return await self.ask(f"developers/{await id_of(developer)}/reinstate")

    async def owned(self, developer: TestDeveloper, **query: Any) -> dict[str, Any]:
        answer = await self.registry.get(
            f"/admin/agents/by-developer/{await id_of(developer)}", headers=self.admin.headers, params=query
        )
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def enforcement(registry: TestRegistry) -> Enforcement:
    return Enforcement(registry, await registry.administrator("admin_enforcement"))


async def id_of(developer: TestDeveloper) -> int:
    return (await developer.registry.get("/auth/profile", headers=developer.headers)).json()["id"]


def row(did: str, registry: str, mtls: str, teg: str) -> dict[str, str]:
    return {"agent_did": did, "registry": registry, "mtls": mtls, "teg": teg}


async def status_of(agent: TestAgent) -> int:
    return (await agent.registry.get("/agents/me", headers=agent.headers)).status_code


async def card_of(agent: TestAgent) -> dict[str, Any]:
    answer = await agent.registry.get(f"/agent-cards/{agent.did}")
    assert answer.status_code == 200
    return answer.json()


async def enrol(agent: TestAgent) -> None:
    await agent.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO agents_mtls (agent_id, spiffe_id, expires_at)"
            " SELECT id, 'spiffe://hansa.local/agent/' || replace(did, ':', '-'), now() + interval '30 minutes'"
            " FROM agents_agent WHERE did = $1",
            agent.did,
        )
    )


async def events_of(registry: TestRegistry, *types: str) -> list[tuple[str, dict[str, Any]]]:
    events = (await registry.get("/public/eventstore-recent")).json()["events"]
    return [
        (event["event_type"], event["data"]) for event in reversed(events) if event["event_type"] in types
    ]


async def make_fail(registry: TestRegistry, table: str, did: str) -> None:
    """From now on no row of the agent in that table can be changed."""
    its = "(SELECT did FROM agents_agent WHERE id = NEW.agent_id)" if table == "agents_mtls" else "NEW.did"
    await registry.database.transaction(
        lambda tx: tx.execute(
            f"""
            CREATE FUNCTION fail_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF TG_ARGV[0] = {its} THEN
                RAISE EXCEPTION 'this row cannot be changed';
              END IF;
              RETURN NEW;
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION fail_{table}('{did}')
            """
        )
    )


def today() -> str:
    return datetime.now(UTC).date().isoformat()


async def test_a_suspended_agent_is_refused_at_its_next_request_with_a_token_from_before(
    enforcement: Enforcement,
):
    agent, payee = await enforcement.registry.agent(), await enforcement.registry.agent()
    assert await enforcement.suspend(agent.did) == [row(agent.did, "suspended", "not_enrolled", "suspended")]
    paid = await agent.transfer(payee, "1")
    assert (paid.status_code, paid.json()["error"]["code"]) == (403, "AGENT_SUSPENDED")
    for path in ("/agents/me", "/teg/balance", "/staking/status"):
        assert (await enforcement.registry.get(path, headers=agent.headers)).status_code == 403


async def test_a_suspended_agent_with_the_right_secret_gets_no_token(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    await enforcement.suspend(agent.did)
    form = {"username": agent.created["client_id"], "password": agent.created["client_secret"]}
    answer = await enforcement.registry.post(
        "/auth/agent/token", data=form, headers=enforcement.registry.elsewhere()
    )
    assert answer.status_code == 403
    assert "suspended" in answer.json()["detail"]


@pytest.mark.parametrize("soft", [False, True])
async def test_a_suspension_counts_in_every_process_within_a_second(
    enforcement: Enforcement, tmp_path: Path, soft: bool
):
    agent = await enforcement.registry.agent()
    here = enforcement.registry
    data = here.settings.data_dir
    async with open_registry(here.database.dsn, data) as elsewhere:
        there = TestAgent(elsewhere, agent.did, agent.token, agent.created)
        assert await status_of(there) == 200
        await enforcement.suspend(agent.did, soft_suspend=soft)
        assert await status_of(there) == 403
        assert (await there.transfer(NOBODY, "1")).status_code == 403
        await enforcement.reinstate(agent.did)
        assert await status_of(there) == 200


async def test_the_live_feed_sends_a_suspended_agent_nothing_private_within_a_second(
    enforcement: Enforcement,
):
    other = await enforcement.registry.agent()
    async with (
        enforcement.registry.listening() as address,
        open_listener(address, other.token) as going_on,
        AsyncExitStack() as listeners,
    ):
        await going_on.subscribe("balance:updates")

        async def suspend_another() -> Callable[[], Awaitable[object]]:
            agent = await enforcement.registry.agent()
            # The grant of the agent was sent before it listens.
            await all_sent(enforcement.registry)
            stopped = await listeners.enter_async_context(open_listener(address, agent.token))
            await stopped.subscribe("balance:updates")
            await enforcement.suspend(agent.did, soft_suspend=True)
            return partial(ends, stopped)

        async def ends(stopped: Listener) -> None:
            assert (await stopped.hear())["code"] == "AGENT_SUSPENDED"
            assert await stopped.ended() == 1008

        await assert_within(1, suspend_another)
        assert await going_on.is_quiet()


async def test_nobody_pays_a_suspended_agent_and_its_units_stay_where_they_are(enforcement: Enforcement):
    payer, agent = await enforcement.registry.agent(), await enforcement.registry.agent()
    await enforcement.suspend(agent.did)
    refused = await payer.transfer(agent, "1")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ACCOUNT_SUSPENDED")
    assert await payer.balance() == "100"
    await enforcement.reinstate(agent.did)
    assert await agent.balance() == "100"
    assert (await payer.transfer(agent, "1")).status_code == 200


async def test_a_soft_suspension_leaves_identity_and_ledger_account_alone(enforcement: Enforcement):
    payer, agent = await enforcement.registry.agent(), await enforcement.registry.agent()
    await enrol(agent)
    returned = await enforcement.suspend(agent.did, soft_suspend=True)
    assert returned == [row(agent.did, "suspended", "skipped", "skipped")]
    assert await status_of(agent) == 403
    assert (await payer.transfer(agent, "1")).status_code == 200
    assert await events_of(enforcement.registry, "AgentMtlsRevoked") == []
    assert await enforcement.reinstate(agent.did) == [row(agent.did, "reinstated", "skipped", "skipped")]
    assert await agent.balance() == "101"


async def test_a_hard_suspension_revokes_the_identity_and_reinstatement_restores_it_where_there_was_one(
    enforcement: Enforcement,
):
    enrolled, other = await enforcement.registry.agent(), await enforcement.registry.agent()
    await enrol(enrolled)
    assert await enforcement.suspend(enrolled.did, other.did) == [
        row(enrolled.did, "suspended", "revoked", "suspended"),
        row(other.did, "suspended", "not_enrolled", "suspended"),
    ]
    returned = await events_of(enforcement.registry, "AgentMtlsRevoked")
    assert [data["did"] for _, data in returned] == [enrolled.did]
    assert await enforcement.reinstate(enrolled.did, other.did) == [
        row(enrolled.did, "reinstated", "restored", "reinstated"),
        row(other.did, "reinstated", "not_enrolled", "reinstated"),
    ]


async def test_the_answer_has_one_row_for_each_agent_in_the_order_asked_for(enforcement: Enforcement):
    developer = await enforcement.registry.developer()
    first, second = await developer.agent(name="One"), await developer.agent(name="Two")
    assert await enforcement.suspend(second.did, NOBODY, first.did, second.did, "nonsense") == [
        row(second.did, "suspended", "not_enrolled", "suspended"),
        row(NOBODY, "not_found", "skipped", "skipped"),
        row(first.did, "suspended", "not_enrolled", "suspended"),
        row("nonsense", "not_found", "skipped", "skipped"),
    ]
    assert await enforcement.reinstate(NOBODY) == [row(NOBODY, "not_found", "skipped", "skipped")]
    assert await enforcement.revoke(NOBODY) == [row(NOBODY, "not_found", "skipped", "skipped")]


async def test_a_suspension_needs_agents_within_bounds_and_a_reason(enforcement: Enforcement):
    for body in (
        {"agent_dids": [], "reason": REASON},
        {"agent_dids": [NOBODY] * 501, "reason": REASON},
        {"agent_dids": ["x" * 513], "reason": REASON},
        {"agent_dids": [""], "reason": REASON},
        {"agent_dids": NOBODY, "reason": REASON},
        {"agent_dids": [NOBODY]},
        {"agent_dids": [NOBODY], "reason": " "},
        {"agent_dids": [NOBODY], "reason": "x" * 2001},
        {"agent_dids": [NOBODY], "reason": REASON, "soft_suspend": "maybe"},
    ):
        answer = await enforcement.registry.post(
            "/admin/agents/bulk/suspend", json=body, headers=enforcement.admin.headers
        )
        assert answer.status_code == 422, body


async def test_only_administrators_of_enforcement_suspend(registry: TestRegistry):
    agent = await registry.agent()
    other = await registry.administrator("admin_platform", "admin_support", "admin_treasury")
    body = {"agent_dids": [agent.did], "reason": REASON}
    for headers, status in ((other.headers, 403), (agent.headers, 401), ({}, 401)):
        answer = await registry.post("/admin/agents/bulk/suspend", json=body, headers=headers)
        assert answer.status_code == status
    assert await status_of(agent) == 200


@pytest.mark.parametrize(
    ("table", "failing"),
    [("agents_agent", "registry"), ("agents_mtls", "mtls"), ("ledger_account", "teg")],
)
async def test_one_failing_effect_aborts_no_other_and_is_applied_again_by_repeating_the_act(
    enforcement: Enforcement, table: str, failing: str
):
    registry = enforcement.registry
    agent, other = await registry.agent(), await registry.agent()
    for one in (agent, other):
        await enrol(one)
    await make_fail(registry, table, agent.did)
    hurt, whole = await enforcement.suspend(agent.did, other.did)
    assert whole == row(other.did, "suspended", "revoked", "suspended")
    assert hurt == {**row(agent.did, "suspended", "revoked", "suspended"), failing: "failed"}
    await registry.database.transaction(lambda tx: tx.execute(f"DROP TRIGGER fail ON {table}"))
    (again,) = await enforcement.suspend(agent.did)
    done = {"registry": "suspended", "mtls": "revoked", "teg": "suspended"}[failing]
    assert again[failing] == done
    assert await enforcement.reinstate(agent.did) == [row(agent.did, "reinstated", "restored", "reinstated")]


async def test_an_effect_that_fails_in_a_reinstatement_is_applied_again_by_repeating_the_act(
    enforcement: Enforcement,
):
    registry = enforcement.registry
    agent, other = await registry.agent(), await registry.agent()
    await enforcement.suspend(agent.did, other.did)
    await make_fail(registry, "ledger_account", agent.did)
    assert await enforcement.reinstate(agent.did, other.did) == [
        row(agent.did, "reinstated", "not_enrolled", "failed"),
        row(other.did, "reinstated", "not_enrolled", "reinstated"),
    ]
    await registry.database.transaction(lambda tx: tx.execute("DROP TRIGGER fail ON ledger_account"))
    assert await enforcement.reinstate(agent.did) == [
        row(agent.did, "already_active", "not_enrolled", "reinstated")
    ]
    assert (await agent.transfer(other, "1")).status_code == 200


async def test_a_card_carries_status_and_day_only_and_leaves_lists_and_discovery(enforcement: Enforcement):
    registry = enforcement.registry
    agent = await registry.agent(name="Vanisher")
    before = await card_of(agent)
    assert before["status"] == "active"
    assert "extensions" not in before["card_data"]
    await enforcement.suspend(agent.did)
    card = await card_of(agent)
    assert card["status"] == "suspended"
    (returned,) = card["card_data"]["extensions"]
    assert returned["uri"] == "https://hansa.dev/extensions/v1/enforcement"
    assert returned["params"] == {"status": "suspended", "since": today()}
    assert REASON not in (await registry.get(f"/agents/by-did/{agent.did}")).text
    assert REASON not in (await registry.get("/public/eventstore-recent")).text
    for path in ("/agent-cards/", "/agent-cards/?active_only=false"):
        listed = (await registry.get(path)).json()["items"]
        assert agent.did not in [item["did"] for item in listed]
    await registry.indexed()
    assert (await registry.get("/discover", params={"query": "vanisher"})).json()["total"] == 0
    await enforcement.reinstate(agent.did)
    after = await card_of(agent)
    assert {**after, "updated_at": None} == {**before, "updated_at": None}
    await registry.indexed()
    assert (await registry.get("/discover", params={"query": "vanisher"})).json()["total"] == 1


async def test_suspension_and_reinstatement_are_published_without_the_reason(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    await enforcement.suspend(agent.did, soft_suspend=True)
    await enforcement.reinstate(agent.did, reason="Cleared.")
    assert await events_of(enforcement.registry, "AgentSuspended", "AgentReinstated") == [
        ("AgentSuspended", {"did": agent.did, "soft": True, "date": today()}),
        ("AgentReinstated", {"did": agent.did, "soft": False, "date": today()}),
    ]


async def test_agent_status_changed_is_recorded_on_suspend_reinstate_and_revoke(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    await enforcement.suspend(agent.did)
    await enforcement.suspend(agent.did)
    await enforcement.reinstate(agent.did)
    await enforcement.suspend(agent.did, soft_suspend=True)
    await enforcement.revoke(agent.did)
    changes = [
        ("active", "suspended"),
        ("suspended", "active"),
        ("active", "suspended"),
        ("suspended", "revoked"),
    ]
    assert await events_of(enforcement.registry, "AgentStatusChanged") == [
        ("AgentStatusChanged", {"did": agent.did, "previous_status": before, "status": after})
        for before, after in changes
    ]


async def test_a_repeated_act_changes_and_publishes_nothing_more(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    await enforcement.suspend(agent.did)
    assert await enforcement.suspend(agent.did) == [
        row(agent.did, "already_suspended", "not_enrolled", "suspended")
    ]
    await enforcement.reinstate(agent.did)
    assert await enforcement.reinstate(agent.did) == [row(agent.did, "already_active", "skipped", "skipped")]
    returned = await events_of(enforcement.registry, "AgentSuspended", "AgentReinstated")
    assert [kind for kind, _ in returned] == ["AgentSuspended", "AgentReinstated"]


async def test_a_hard_suspension_makes_a_soft_one_hard_and_never_the_reverse(enforcement: Enforcement):
    payer, agent = await enforcement.registry.agent(), await enforcement.registry.agent()
    await enforcement.suspend(agent.did, soft_suspend=True)
    assert await enforcement.suspend(agent.did) == [
        row(agent.did, "already_suspended", "not_enrolled", "suspended")
    ]
    assert (await payer.transfer(agent, "1")).status_code == 403
    assert await enforcement.suspend(agent.did, soft_suspend=True) == [
        row(agent.did, "already_suspended", "skipped", "skipped")
    ]
    assert (await payer.transfer(agent, "1")).status_code == 403
    returned = await events_of(enforcement.registry, "AgentSuspended")
    assert [data["soft"] for _, data in returned] == [True, False]


async def test_a_soft_reinstatement_leaves_withheld_what_is_withheld_until_a_hard_one(
    enforcement: Enforcement,
):
    payer, agent = await enforcement.registry.agent(), await enforcement.registry.agent()
    await enforcement.suspend(agent.did)
    assert await enforcement.reinstate(agent.did, soft_reinstate=True) == [
        row(agent.did, "reinstated", "skipped", "skipped")
    ]
    assert await status_of(agent) == 200
    assert (await payer.transfer(agent, "1")).status_code == 403
    assert await enforcement.reinstate(agent.did) == [
        row(agent.did, "already_active", "not_enrolled", "reinstated")
    ]
    assert (await payer.transfer(agent, "1")).status_code == 200


async def test_a_suspended_developer_has_every_agent_suspended_hard(enforcement: Enforcement):
    registry = enforcement.registry
    developer = await registry.developer()
    first, second = await developer.agent(name="One"), await developer.agent(name="Two")
    bystander = await registry.agent()
    returned = await enforcement.suspend_developer(developer)
    assert returned == {
        "developer_id": await id_of(developer),
        "status": "suspended",
        "results": [
            row(first.did, "suspended", "not_enrolled", "suspended"),
            row(second.did, "suspended", "not_enrolled", "suspended"),
        ],
    }
    assert [await status_of(agent) for agent in (first, second, bystander)] == [403, 403, 200]
    assert await events_of(registry, "DeveloperSuspended") == [
        (
            "DeveloperSuspended",
            {"developer_id": await id_of(developer), "agents": 2, "date": today()},
        )
    ]
    assert len(await events_of(registry, "AgentSuspended")) == 2
    returned = await enforcement.reinstate_developer(developer)
    assert returned["status"] == "active"
    assert [await status_of(agent) for agent in (first, second)] == [200, 200]


async def test_a_suspended_developer_logs_in_and_reads_and_creates_no_agent(enforcement: Enforcement):
    registry = enforcement.registry
    developer = await registry.developer()
    spare = await developer.bootstrap_token()
    await enforcement.suspend_developer(developer)
    assert (await registry.get("/auth/profile", headers=developer.headers)).status_code == 200
    asked = await registry.post("/onboard/bootstrap/request-token", json={}, headers=developer.headers)
    assert (asked.status_code, asked.json()["error"]["code"]) == (403, "DEVELOPER_SUSPENDED")
    body = {"agent_did_method": "hansa", "agent_host": "https://agent.example.org"}
    headers = {"Bootstrap-Token": spare, **registry.elsewhere()}
    created = await registry.post("/onboard/create_agent", json=body, headers=headers)
    assert (created.status_code, created.json()["error"]["code"]) == (403, "DEVELOPER_SUSPENDED")
    await enforcement.reinstate_developer(developer)
    created = await registry.post("/onboard/create_agent", json=body, headers=headers)
    assert created.status_code == 201, "a refused creation leaves the token usable"


async def test_the_reinstatement_of_a_developer_lifts_whatever_stands_against_the_agents(
    enforcement: Enforcement,
):
    developer = await enforcement.registry.developer()
    itself, both, soft = [await developer.agent(name=name) for name in ("Itself", "Both", "Soft")]
    await enforcement.suspend(itself.did)
    await enforcement.suspend(soft.did, soft_suspend=True)
    await enforcement.suspend_developer(developer)
    returned = await enforcement.reinstate_developer(developer)
    assert returned["results"] == [
        row(itself.did, "reinstated", "not_enrolled", "reinstated"),
        row(both.did, "reinstated", "not_enrolled", "reinstated"),
        row(soft.did, "reinstated", "not_enrolled", "reinstated"),
    ]
    payer = await enforcement.registry.agent()
    assert [(await payer.transfer(agent, "1")).status_code for agent in (itself, both, soft)] == [200] * 3
    assert [await status_of(agent) for agent in (itself, both, soft)] == [200, 200, 200]


async def test_an_agent_that_is_named_is_reinstated_whatever_it_was_suspended_for(enforcement: Enforcement):
    developer = await enforcement.registry.developer()
    agent = await developer.agent()
    await enforcement.suspend(agent.did)
    await enforcement.suspend_developer(developer)
    assert await enforcement.reinstate(agent.did) == [
        row(agent.did, "reinstated", "not_enrolled", "reinstated")
    ]
    assert await status_of(agent) == 200


async def test_a_developer_who_is_not_there_is_not_found(enforcement: Enforcement):
    for path in ("developers/999999/suspend", "developers/999999/reinstate"):
        answer = await enforcement.registry.post(
            f"/admin/{path}", json={"reason": REASON}, headers=enforcement.admin.headers
        )
        assert answer.status_code == 404
    answer = await enforcement.registry.get(
        "/admin/agents/by-developer/999999", headers=enforcement.admin.headers
    )
    assert answer.status_code == 404


async def test_the_agents_of_a_developer_are_listed_with_what_stands_against_each(enforcement: Enforcement):
    developer = await enforcement.registry.developer("Owner")
    first, second = await developer.agent(name="One"), await developer.agent(name="Two")
    await enforcement.suspend(first.did, soft_suspend=True)
    owned = await enforcement.owned(developer)
    assert (owned["developer_name"], owned["developer_status"]) == ("Owner", "active")
    assert owned["developer_suspension"] is None
    assert [(item["agent_did"], item["status"]) for item in owned["items"]] == [
        (first.did, "suspended"),
        (second.did, "active"),
    ]
    (against,) = owned["items"][0]["suspensions"]
    admin_id = await id_of(enforcement.admin)
    assert (against["basis"], against["soft"], against["reason"]) == ("agent", True, REASON)
    assert against["suspended_by"] == admin_id
    assert owned["items"][1]["suspensions"] == []
    await enforcement.suspend_developer(developer)
    owned = await enforcement.owned(developer, limit=1, offset=1)
    assert owned["developer_status"] == "suspended"
    assert owned["developer_suspension"]["reason"] == REASON
    assert [item["agent_did"] for item in owned["items"]] == [second.did]
    assert owned["pagination"]["total_items"] == 2


async def test_a_suspended_agent_is_revoked_for_good(enforcement: Enforcement):
    registry = enforcement.registry
    payer, agent = await registry.agent(), await registry.agent()
    await enrol(agent)
    await enforcement.suspend(agent.did, soft_suspend=True)
    assert await enforcement.revoke(agent.did) == [row(agent.did, "revoked", "revoked", "suspended")]
    assert await enforcement.revoke(agent.did) == [row(agent.did, "already_revoked", "skipped", "skipped")]
    assert await enforcement.suspend(agent.did) == [row(agent.did, "revoked", "skipped", "skipped")]
    assert await enforcement.reinstate(agent.did) == [row(agent.did, "revoked", "skipped", "skipped")]
    assert await status_of(agent) == 403
    assert (await payer.transfer(agent, "1")).status_code == 403
    assert (await card_of(agent))["status"] == "revoked"
    assert await events_of(registry, "AgentRevoked") == [
        ("AgentRevoked", {"did": agent.did, "by": "administrator"})
    ]


async def test_an_agent_that_is_not_suspended_is_not_revoked(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    assert await enforcement.revoke(agent.did) == [row(agent.did, "not_suspended", "skipped", "skipped")]
    assert await status_of(agent) == 200


async def test_of_acts_on_one_agent_at_once_each_is_done_and_published_once(enforcement: Enforcement):
    agent = await enforcement.registry.agent()
    returned = await at_once(*(enforcement.suspend(agent.did) for _ in range(5)))
    assert sorted(rows[0]["registry"] for rows in returned) == ["already_suspended"] * 4 + ["suspended"]
    returned = await at_once(*(enforcement.reinstate(agent.did) for _ in range(5)))
    assert sorted(rows[0]["registry"] for rows in returned) == ["already_active"] * 4 + ["reinstated"]
    kinds = [kind for kind, _ in await events_of(enforcement.registry, "AgentSuspended", "AgentReinstated")]
    assert kinds == ["AgentSuspended", "AgentReinstated"]


async def test_bulk_acts_on_the_same_agents_in_other_orders_all_finish(enforcement: Enforcement):
    developer = await enforcement.registry.developer()
    agents = [await developer.agent(name=f"Agent {number}") for number in range(6)]
    dids = [agent.did for agent in agents]
    await at_once(
        enforcement.suspend(*dids),
        enforcement.reinstate(*reversed(dids)),
        enforcement.suspend(*reversed(dids)),
        enforcement.reinstate(*dids),
        agents[0].transfer(agents[1], "1"),
        agents[0].transfer(agents[2], "1"),
    )
    await enforcement.reinstate(*dids)
    assert [await status_of(agent) for agent in agents] == [200] * 6
    assert (await agents[0].transfer(agents[1], "1")).status_code == 200


async def test_an_agent_created_while_its_developer_is_suspended_does_not_escape(enforcement: Enforcement):
    developer = await enforcement.registry.developer()
    for _ in range(4):
        token = await developer.bootstrap_token()
        body = {"agent_did_method": "hansa", "agent_host": "https://agent.example.org"}
        headers = {"Bootstrap-Token": token, **enforcement.registry.elsewhere()}
        await at_once(
            enforcement.registry.post("/onboard/create_agent", json=body, headers=headers),
            enforcement.suspend_developer(developer),
        )
        owned = await enforcement.owned(developer)
        assert {item["status"] for item in owned["items"]} <= {"suspended"}
        await enforcement.reinstate_developer(developer)


async def is_blocklisted(registry: TestRegistry, agent: TestAgent) -> bool:
    return await registry.database.query(lambda tx: in_blocklist(tx, agent.did))


async def until_blocklisted(registry: TestRegistry, agent: TestAgent, wanted: bool) -> None:
    async with asyncio.timeout(60):
        while await is_blocklisted(registry, agent) != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_the_blocklist_follows_hard_suspensions_and_their_end(enforcement: Enforcement):
    registry = enforcement.registry
    hard, soft = await registry.agent(), await registry.agent()
    async with in_the_background(registry.runtime):
        await enforcement.suspend(soft.did, soft_suspend=True)
        await enforcement.suspend(hard.did)
        await until_blocklisted(registry, hard, wanted=True)
        assert not await is_blocklisted(registry, soft)
        await enforcement.reinstate(hard.did)
        await until_blocklisted(registry, hard, wanted=False)


async def test_the_blocklist_follows_the_status_however_often_and_late_it_is_notified(
    enforcement: Enforcement,
):
    registry = enforcement.registry
    agent, other = await registry.agent(), await registry.agent()
    await enforcement.suspend(agent.did, other.did)
    await enforcement.reinstate(agent.did)
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT data ->> 'did' AS did FROM journal_event"
            " WHERE event_type IN ('AgentSuspended', 'AgentReinstated') ORDER BY seq DESC"
        )
    )

    class Event:
        def __init__(self, did: str) -> None:
            self.data = {"did": did}

    for row_ in [*rows, *rows]:
        await registry.database.transaction(lambda tx, did=row_["did"]: BLOCKLIST.react(tx, Event(did)))
    assert (await is_blocklisted(registry, agent), await is_blocklisted(registry, other)) == (False, True)


async def test_without_reactors_a_suspension_holds_and_the_blocklist_waits_for_them(
    start_registry: StartRegistry,
):
    registry = await start_registry(reactor_framework_enabled=False)
    enforcement = Enforcement(registry, await registry.administrator("admin_enforcement"))
    agent, outbox = await registry.agent(), registry.settings.data_dir / "outbox"
    async with in_the_background(registry.runtime):
        await enforcement.suspend(agent.did)
        # What is due later than the event has been carried out.
        await registry.post("/auth/forgot-password", json={"email": enforcement.admin.email})
        async with asyncio.timeout(60):
            while not list(outbox.glob("*.eml")):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert await status_of(agent) == 403
        assert not await is_blocklisted(registry, agent)
    async with (
        open_registry(registry.database.dsn, registry.settings.data_dir) as again,
        in_the_background(again.runtime),
    ):
        await until_blocklisted(again, agent, wanted=True)


async def test_who_suspended_whom_and_why_is_in_the_audit_log(registry: TestRegistry):
    admin = await registry.administrator("admin_enforcement", "admin_platform")
    enforcement = Enforcement(registry, admin)
    developer = await registry.developer()
    agent = await developer.agent()
    await enforcement.suspend(agent.did, NOBODY)
    await enforcement.revoke(agent.did)
    await enforcement.suspend_developer(developer)
    logged = (await registry.get("/admin/audit-log", headers=admin.headers)).json()["items"]
    assert [(act["act"], act["subject"], act["reason"]) for act in logged] == [
        ("developer.suspend", str(await id_of(developer)), REASON),
        ("agent.revoke", agent.did, REASON),
        ("agent.suspend", agent.did, REASON),
    ]


async def test_a_suspended_administrator_has_no_area_until_reinstated(enforcement: Enforcement):
    registry = enforcement.registry
    other = await registry.administrator("admin_enforcement", "admin_support")
    key, narrow = await other.api_key(), await other.api_key("admin:admin_enforcement")
    number = await id_of(other)
    await enforcement.suspend_developer(other)
    for who in (other, key, narrow):
        for method, path, body in (
            ("GET", f"/admin/agents/by-developer/{number}", None),
            ("POST", f"/admin/developers/{number}/reinstate", {}),
            ("POST", "/admin/agents/bulk/suspend", {"agent_dids": [NOBODY], "reason": REASON}),
        ):
            answer = await registry.http.request(method, "/api/v1" + path, json=body, headers=who.headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "DEVELOPER_SUSPENDED")
            assert "another administrator reinstates it" in answer.json()["detail"]
    made = await registry.post(
        "/auth/api-keys",
        json={"key_name": "Spare", "scopes": ["admin:admin_support"]},
        headers=other.headers,
    )
    assert made.status_code == 403
    await enforcement.reinstate_developer(other)
    for who in (other, key, narrow):
        answer = await registry.get(f"/admin/agents/by-developer/{number}", headers=who.headers)
        assert answer.status_code == 200


async def test_an_invitation_of_a_suspended_administrator_gives_no_area(enforcement: Enforcement):
    registry = enforcement.registry
    author = await registry.administrator("admin_support")
    made = await registry.post(
        "/admin/invite-codes/generate",
        json={"grants_admin": True, "admin_flags": ["admin_support"]},
        headers=author.headers,
    )
    await enforcement.suspend_developer(author)
    body = {
        "name": "Guest",
        "email": "guest@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        "invite_code": made.json()[0]["code"],
    }
    joined = await registry.post("/auth/register", json=body, headers=registry.elsewhere())
    assert joined.status_code == 201, joined.text
    form = {"username": body["email"], "password": PASSWORD}
    login = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
    guest = TestDeveloper(registry, body["email"], login.json()["access_token"])
    answer = await registry.get("/admin/invite-codes", headers=guest.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "AREA_MISSING")


async def test_nobody_suspends_or_reinstates_the_own_account(enforcement: Enforcement):
    number = await id_of(enforcement.admin)
    for act in ("suspend", "reinstate"):
        answer = await enforcement.registry.post(
            f"/admin/developers/{number}/{act}", json={"reason": REASON}, headers=enforcement.admin.headers
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ACCESS_DENIED")
        assert "another administrator" in answer.json()["detail"]
    assert (await enforcement.owned(enforcement.admin))["items"] == [], "still an administrator"


async def test_of_administrators_who_suspend_each_other_one_remains(registry: TestRegistry):
    circle = [await registry.administrator("admin_enforcement") for _ in range(3)]
    numbers = [await id_of(one) for one in circle]
    answers = await at_once(
        *(
            registry.post(
                f"/admin/developers/{number}/suspend", json={"reason": REASON}, headers=administrator.headers
            )
            for administrator, number in zip(circle, numbers[1:] + numbers[:1], strict=True)
        )
    )
    assert {answer.status_code for answer in answers} <= {200, 403}
    suspended = sum(answer.status_code == 200 for answer in answers)
    remaining = [
        administrator
        for administrator in circle
        if (
            await registry.get(f"/admin/agents/by-developer/{numbers[0]}", headers=administrator.headers)
        ).status_code
        == 200
    ]
    assert len(remaining) == len(circle) - suspended > 0


async def test_an_act_under_way_is_judged_when_it_is_written(enforcement: Enforcement):
    registry, database = enforcement.registry, enforcement.registry.database
    other = await registry.administrator("admin_support")
    number, let_go, withheld = await id_of(other), asyncio.Event(), asyncio.Event()

    async def suspended_slowly(tx: Any) -> None:
        await bar_author(tx, number)
        withheld.set()
        await let_go.wait()

    suspending = asyncio.create_task(database.transaction(suspended_slowly))
    await withheld.wait()
    making = asyncio.create_task(
        registry.post("/admin/invite-codes/generate", json={}, headers=other.headers)
    )
    async with asyncio.timeout(60):
        while not await database.query(lambda tx: tx.fetchval(ONE_WAITS)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    let_go.set()
    await suspending
    answer = await making
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "DEVELOPER_SUSPENDED")
    assert await database.query(lambda tx: tx.fetchval("SELECT count(*) FROM people_invite")) == 0
