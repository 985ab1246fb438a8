"""Logs of agents: entries of the agent, its owner and the registry, for those who may read the agent."""

import itertools

import httpx2
import pytest

from hansa.doors.http.app import build_app
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.operations.logs import REGISTRY_ENTRIES, store
from tests.organizations import found
from tests.registry import another_process, at_once

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent()


async def write(who, agent, *entries, key=None, **members):
    headers = {**who.headers, **({"Idempotency-Key": key} if key else {})}
    body = {"entries": list(entries)} if entries else members
    return await agent.registry.post(f"/agents/{agent.did}/logs", json=body, headers=headers)


async def read(who, agent, **query):
    return await agent.registry.get(f"/agents/{agent.did}/logs", params=query, headers=who.headers)


async def messages(who, agent, **query):
    answer = await read(who, agent, **query)
    assert answer.status_code == 200, answer.text
    return [entry["message"] for entry in answer.json()["logs"]]


def entry(message="Started", level="INFO", **members):
    return {"level": level, "message": message, **members}


async def test_an_agent_writes_an_entry_and_its_owner_reads_it(owner, agent):
    written = await write(agent, agent, **entry("Started", log_metadata={"port": 80}, trace_id=TRACE.upper()))
    assert (written.status_code, written.json()) == (201, {"accepted": 1})
    answer = (await read(owner, agent)).json()
    (one,) = answer["logs"]
    assert answer["next"] is None
    assert {name: one[name] for name in ("level", "message", "log_metadata", "trace_id", "source")} == {
        "level": "INFO",
        "message": "Started",
        "log_metadata": {"port": 80},
        "trace_id": TRACE,
        "source": "agent",
    }
    assert set(one) == {"id", "level", "message", "log_metadata", "trace_id", "source", "timestamp"}


async def test_levels_of_other_systems_are_mapped_and_unknown_ones_refused(agent):
    levels = ["DEBUG", "INFO", "WARN", "ERROR", "WARNING", "CRITICAL"]
    assert (await write(agent, agent, *(entry(level=level) for level in levels))).status_code == 201
    stored_levels = [one["level"] for one in (await read(agent, agent)).json()["logs"]]
    assert stored_levels[::-1] == ["DEBUG", "INFO", "WARN", "ERROR", "WARN", "ERROR"]
    assert (await write(agent, agent, **entry(level="TRACE"))).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"level": "INFO"},
        {"message": "x"},
        {"entries": []},
        {"entries": [entry()] * 101},
        {"entries": [entry()], "level": "INFO"},
        entry(message=""),
        entry(trace_id="4bf9"),
        entry(log_metadata={"a": {"b": {"c": {"d": {}}}}}),
        entry(log_metadata={"a": [[[[]]]]}),
        entry(log_metadata={"a": "x" * 8192}),
        entry(log_metadata=["x"]),
    ],
)
async def test_a_request_beyond_the_limits_is_refused_and_stores_nothing(body, agent):
    refused = await agent.registry.post(f"/agents/{agent.did}/logs", json=body, headers=agent.headers)
    assert refused.status_code == 422, refused.text
    assert await messages(agent, agent) == []


async def test_metadata_up_to_its_limits_is_stored(agent):
    deep, wide = {"a": [{"b": [1]}]}, {"a": "x" * (8192 - len('{"a":""}'))}
    written = await write(agent, agent, entry(log_metadata=deep), entry(log_metadata=wide))
    assert written.status_code == 201, written.text
    found = (await read(agent, agent)).json()["logs"]
    assert [one["log_metadata"] for one in found] == [wide, deep]


async def test_a_message_is_cut_after_its_secrets_were_removed(agent):
    secret = "apt_" + "a" * 64
    assert (await write(agent, agent, **entry("x" * 3980 + secret + "y" * 100))).status_code == 201
    (stored_message,) = await messages(agent, agent)
    assert stored_message == ("x" * 3980 + "[redacted:payment_token]")[:4000]


async def test_characters_that_act_on_a_terminal_are_stored_as_escapes(agent):
    text = "a\x1b[2Jb\x9bc\u202ed\u2028e\tf\ng\x07"
    assert (await write(agent, agent, **entry(text, log_metadata={"\x1b": ["\u202e"]}))).status_code == 201
    (one,) = (await read(agent, agent)).json()["logs"]
    assert one["message"] == "a\\u001b[2Jb\\u009bc\\u202ed\\u2028e\tf\ng\\u0007"
    assert one["log_metadata"] == {"\\u001b": ["\\u202e"]}


async def test_entries_are_found_by_level_source_trace_text_and_time(owner, agent):
    await write(agent, agent, entry("One 100%", "DEBUG"), entry("Two_2", "ERROR", trace_id=TRACE))
    await write(owner, agent, **entry("Three"))
    assert await messages(owner, agent) == ["Three", "Two_2", "One 100%"]
    assert await messages(owner, agent, level="ERROR") == ["Two_2"]
    assert await messages(owner, agent, trace_id=TRACE) == ["Two_2"]
    assert await messages(owner, agent, q="tWO_") == ["Two_2"]
    assert await messages(owner, agent, q="0%") == ["One 100%"]
    assert await messages(owner, agent, q="%") == ["One 100%"]
    assert await messages(owner, agent, source="registry") == []
    newest = (await read(owner, agent)).json()["logs"][0]["timestamp"]
    assert await messages(owner, agent, since=newest) == ["Three"]
    for refused in ({"level": "WARNING"}, {"since": "1"}, {"next": "x"}, {"limit": 501}, {"trace_id": "x"}):
        assert (await read(owner, agent, **refused)).status_code == 422, refused


async def test_pages_hold_every_entry_once_while_others_are_written(agent):
    for number in range(7):
        await write(agent, agent, **entry(f"Entry {number}"))
    found, cursor = [], None
    for _ in itertools.count():
        page = (await read(agent, agent, limit=3, **({"next": cursor} if cursor else {}))).json()
        found += [one["message"] for one in page["logs"]]
        await write(agent, agent, **entry("Meanwhile"))
        if (cursor := page["next"]) is None:
            break
    assert found == [f"Entry {number}" for number in range(6, -1, -1)]


async def test_only_the_agent_and_those_who_may_read_it_have_its_log(registry, owner, agent):
    await write(agent, agent, **entry())
    stranger, administrator = await registry.developer(), await registry.administrator()
    for other in (stranger, administrator, await stranger.agent()):
        for answer in (await read(other, agent), await write(other, agent, **entry())):
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "RESOURCE_NOT_FOUND")
    path = f"/api/v1/agents/{agent.did}/logs"
    assert (await registry.http.delete(path, headers=stranger.headers)).status_code == 404
    assert (await registry.http.delete(path, headers=agent.headers)).status_code == 401
    assert await messages(owner, agent) == ["Started"]


async def test_an_api_key_needs_its_scope(owner, agent):
    reader, writer = await owner.api_key("agents:read"), await owner.api_key("agents:write")
    other = await owner.api_key("profile:read")
    assert (await write(writer, agent, **entry())).status_code == 201
    assert (await write(reader, agent, **entry())).status_code == 403
    assert await messages(reader, agent) == ["Started"]
    assert (await read(other, agent)).status_code == 403


async def test_members_of_an_organization_have_the_rights_of_their_roles(registry):
    organization = await found(registry)
    agent = await organization.born()
    viewer, admin = await organization.member("viewer"), await organization.member("admin")
    assert (await write(agent, agent, **entry())).status_code == 201
    assert await messages(viewer, agent) == await messages(admin, agent) == ["Started"]
    refused = await write(viewer, agent, **entry())
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ORG_ROLE_REQUIRED")
    assert (await write(admin, agent, **entry())).status_code == 201
    path = f"/api/v1/agents/{agent.did}/logs"
    assert (await registry.http.delete(path, headers=viewer.headers)).status_code == 403
    assert (await registry.http.delete(path, headers=admin.headers)).json() == {"deleted": 2}
    await organization.remove(organization.owner, viewer)
    assert (await read(viewer, agent)).status_code == 404


async def test_the_owner_deletes_the_log(registry, owner, agent):
    await write(agent, agent, *(entry() for _ in range(3)))
    path = f"/api/v1/agents/{agent.did}/logs"
    assert (await registry.http.delete(path, headers=owner.headers)).json() == {"deleted": 3}
    assert (await registry.http.delete(path, headers=owner.headers)).json() == {"deleted": 0}
    assert await messages(owner, agent) == []
    await write(agent, agent, **entry("After"))
    assert await messages(owner, agent) == ["After"]


async def test_a_repeated_request_is_stored_once(agent):
    first = await write(agent, agent, key="one", **entry())
    again = await write(agent, agent, key="one", **entry())
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert await messages(agent, agent) == ["Started"]


async def test_two_processes_at_once_take_six_hundred_entries_a_minute_and_no_more(registry, agent):
    other = httpx2.ASGITransport(app=build_app(another_process(registry.runtime)))
    async with httpx2.AsyncClient(transport=other, base_url="http://registry.test") as elsewhere:
        body = {"entries": [entry()] * 90}
        path = f"/api/v1/agents/{agent.did}/logs"
        answers = await at_once(
            *(
                client.post(path, json=body, headers=agent.headers)
                for client in (registry.http, elsewhere)
                for _ in range(8)
            )
        )
    accepted = [answer for answer in answers if answer.status_code == 201]
    refused = [answer for answer in answers if answer.status_code != 201]
    minutes = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT count(*) AS entries FROM operations_log_entry WHERE agent_did = $1"
            " GROUP BY date_trunc('minute', written_at)",
            agent.did,
        )
    )
    assert sum(row["entries"] for row in minutes) == 90 * len(accepted)
    assert all(row["entries"] <= 600 for row in minutes)
    assert len(accepted) == 6 * len(minutes) or len(minutes) > 1
    for answer in refused:
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "QUOTA_REACHED")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
    if refused and len(minutes) == 1:
        assert (await write(agent, agent, *(entry() for _ in range(60)))).status_code in {201, 429}


async def test_the_oldest_entries_go_from_a_log_that_is_too_large(registry, agent):
    await write(agent, agent, *(entry(f"Entry {number}") for number in range(100)))
    # Stands for many minutes of earlier entries.
    await registry.database.transaction(
        lambda tx: tx.execute(
            "WITH more AS (INSERT INTO operations_log_entry (agent_did, position, level, message, source, bytes, written_at)"
            " SELECT $1, -g, 'INFO', 'Older', 'agent', 5, now() - interval '1 hour' FROM generate_series(1, 9950) g"
            " RETURNING bytes) UPDATE operations_log SET entries = entries + 9950, bytes = bytes + 5 * 9950 WHERE agent_did = $1",
            agent.did,
        )
    )
    assert await registry.database.read(store.is_any_too_large)
    await registry.database.transaction(store.cut_too_large)
    assert await counted(registry, agent) == await present(registry, agent)
    assert (await present(registry, agent))[0] == 10_000
    await registry.database.transaction(
        lambda tx: tx.execute(
            "WITH larger AS (UPDATE operations_log_entry SET bytes = 1048576 WHERE agent_did = $1 AND position > 0 AND position <= 30)"
            " UPDATE operations_log l SET bytes = l.bytes + 30 * 1048576 - (SELECT sum(bytes) FROM operations_log_entry"
            " WHERE agent_did = $1 AND position > 0 AND position <= 30) WHERE agent_did = $1",
            agent.did,
        )
    )
    await registry.database.transaction(store.cut_too_large)
    entries, size = await counted(registry, agent)
    assert (entries, size) == await present(registry, agent)
    assert 19 << 20 < size <= 20 << 20
    assert (await messages(agent, agent))[0] == "Entry 99"


async def counted(registry, agent):
    row = await registry.database.read(
        lambda tx: tx.fetchrow("SELECT entries, bytes FROM operations_log WHERE agent_did = $1", agent.did)
    )
    return row["entries"], row["bytes"]


async def present(registry, agent):
    row = await registry.database.read(
        lambda tx: tx.fetchrow(
            "SELECT count(*) AS entries, coalesce(sum(bytes), 0)::bigint AS bytes FROM operations_log_entry"
            " WHERE agent_did = $1",
            agent.did,
        )
    )
    return row["entries"], row["bytes"]


async def test_entries_go_with_their_day(registry_of_test):
    registry = registry_of_test
    agent = await registry.agent()
    for days in (9, 8, 7, 1):
        await registry.database.transaction(
            lambda tx, days=days: tx.execute(
                "SELECT operations_add_log_day((now() AT TIME ZONE 'UTC')::date - $1::int)", days
            )
        )
    await write(agent, agent, **entry("Today"))
    for number, days in enumerate((1, 7, 8, 9)):
        await registry.database.transaction(
            lambda tx, number=number, days=days: tx.execute(
                "WITH more AS (INSERT INTO operations_log_entry (agent_did, position, level, message, source, bytes, written_at)"
                " SELECT $1, $2, 'INFO', $4, 'agent', 5, now() - $3::int * interval '1 day') UPDATE operations_log"
                " SET entries = entries + 1, bytes = bytes + 5 WHERE agent_did = $1",
                agent.did,
                -number,
                days,
                f"{days} days",
            )
        )
    for _ in range(2):
        await registry.database.transaction(lambda tx: store.keep_days(tx, 7))
        assert await messages(agent, agent) == ["Today", "1 days", "7 days"]
        assert await counted(registry, agent) == await present(registry, agent)
    parts = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'operations_log_entry'::regclass"
        )
    )
    # Seven days and one, today unless its entry came first, two days ahead and the default partition.
    assert parts in {5, 6}


async def test_the_registry_adds_approvals_asked_and_failed_payments(registry, owner, agent):
    payee = await registry.agent()
    policy = {"approval_over": "5"}
    path = f"/api/v1/agents/{agent.did}/authz"
    assert (await registry.http.put(path, json={"spend_policy": policy}, headers=owner.headers)).is_success
    assert (await agent.transfer(payee, "6")).status_code == 202
    events = await registry.database.read(
        lambda tx: tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'SpendApprovalRequested' AND aggregate_id = $1",
            agent.did,
        )
    )
    (event,) = stored(events)
    await registry.database.transaction(lambda tx: REGISTRY_ENTRIES.react(tx, event))
    (one,) = (await read(agent, agent, source="registry")).json()["logs"]
    assert (one["level"], one["log_metadata"]["receiver"], one["log_metadata"]["amount"]) == (
        "INFO",
        payee.did,
        "6",
    )
