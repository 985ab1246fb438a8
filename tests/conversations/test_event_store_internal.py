"""The internal routes of the event store, and its public figures."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring
from hansa.foundation.plumbing.settings import BadSetting, read_settings
from hansa.rooms import journal
from hansa.rooms.journal.counting import count_settled
from hansa.rooms.ledger.history import balance_then
from tests.founded import open_copy
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, TestRegistry

ROUTES = ["/events/", "/events/aggregate/did:hansa:hansa.local:somebody"]

Pair = tuple[TestAgent, TestAgent]


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    """One registry for all tests: none depends on the events that the others left in the log."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("events")) as registry:
        yield registry


@pytest.fixture(scope="module")
async def pair(registry: TestRegistry) -> Pair:
    """Two agents with a few transfers between them."""
    payer, payee = await registry.agent(), await registry.agent()
    for amount in ("1", "2", "3"):
        assert (await payer.transfer(payee, amount)).status_code == 200
    assert (await payee.transfer(payer, "0.00000001")).status_code == 200
    return payer, payee


async def events(registry: TestRegistry, path: str = "/events/", **query: object) -> dict[str, Any]:
    answer = await registry.get(path, params=query, headers=registry.internal)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def all_pages(registry: TestRegistry, path: str = "/events/", **query: object) -> list[dict[str, Any]]:
    """Every event, following `next`."""
    page = await events(registry, path, **query)
    found = list(page["items"])
    while page["next"]:
        page = await events(registry, path, **query, next=page["next"])
        found += page["items"]
    return found


def sequences(found: list[dict[str, Any]]) -> list[int]:
    return [event["sequence"] for event in found]


@pytest.mark.parametrize("path", ROUTES)
async def test_the_log_is_shown_only_to_who_holds_the_internal_key(registry: TestRegistry, path: str):
    developer, agent = await registry.developer(), await registry.agent()
    administrator = await registry.administrator("admin_platform")
    key = registry.runtime.internal_key
    for headers in (
        {},
        developer.headers,
        agent.headers,
        administrator.headers,
        {"X-Internal-Key": ""},
        {"X-Internal-Key": key[:-1]},
        {"X-Internal-Key": key + "0"},
        {"X-Internal-Key": ("é" * 64).encode()},
        {"Authorization": f"Bearer {key}"},
        [("X-Internal-Key", key), ("X-Internal-Key", key)],
    ):
        answer = await registry.get(path, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.json()["error"]["type"] == "unauthorized"
    assert (await registry.get(path, headers=registry.internal)).status_code == 200


async def test_the_internal_key_is_made_once_for_its_owner_alone(registry: TestRegistry):
    file = registry.settings.data_dir / "keys" / "internal-api-key"
    assert file.read_text() == registry.runtime.internal_key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Keyring(registry.settings.data_dir).secret("internal-api-key") == registry.runtime.internal_key


async def test_a_given_internal_key_is_used_in_its_place(start_registry: StartRegistry):
    registry = await start_registry(internal_api_key="k" * 32)
    assert (await registry.get("/events/", headers={"X-Internal-Key": "k" * 32})).status_code == 200
    assert not (registry.settings.data_dir / "keys" / "internal-api-key").exists()


@pytest.mark.parametrize(("length", "warned"), [(16, True), (31, True), (32, False)])
async def test_an_internal_key_of_16_characters_is_accepted_and_below_32_the_start_warns(
    start_registry: StartRegistry, length: int, warned: bool
):
    key = "k" * length
    with capture_logs() as logged:
        registry = await start_registry(internal_api_key=key)
    assert (await registry.get("/events/", headers={"X-Internal-Key": key})).status_code == 200
    warnings = [
        line for line in logged if line["log_level"] == "warning" and "INTERNAL_API_KEY" in line["event"]
    ]
    assert [line["characters"] for line in warnings] == ([length] if warned else [])
    assert key not in str(logged)


@pytest.mark.parametrize("weak", ["short", "k" * 15, "k" * 15 + " ", "k" * 31 + "é", "k" * 257])
def test_a_weak_internal_key_stops_the_start_and_is_not_printed(weak: str, tmp_path: Path):
    with pytest.raises(BadSetting) as error:
        read_settings(internal_api_key=weak)
    assert "INTERNAL_API_KEY" in str(error.value)
    assert weak not in str(error.value)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "internal-api-key").write_text(weak)
    with pytest.raises(BadKey) as refusal:
        Keyring(tmp_path).secret("internal-api-key")
    assert weak not in str(refusal.value)


async def test_the_log_is_read_page_by_page_in_its_order(registry: TestRegistry, pair: Pair):
    whole = await events(registry, limit=1000)
    pages = await all_pages(registry, limit=7)
    assert pages == whole["items"]
    assert len(pages) == whole["pagination"]["total_items"] > 15
    assert whole["next"] is None
    backward = await all_pages(registry, limit=7, sort_order="desc")
    assert backward == pages[::-1]
    by_offset = [
        event
        for offset in range(0, 100, 7)
        for event in (await events(registry, limit=7, offset=offset))["items"]
    ]
    assert by_offset == pages


async def test_a_page_says_where_it_stands(registry: TestRegistry, pair: Pair):
    page = await events(registry, limit=5, offset=10)
    total = page["pagination"]["total_items"]
    assert page["pagination"] == {
        "total_items": total,
        "limit": 5,
        "offset": 10,
        "total_pages": -(-total // 5),
        "current_page": 3,
    }


@pytest.mark.parametrize(
    "event_type", ["LedgerBalanceChanged", "TokensTransferred", "AgentOnboarded", "TokensIssued"]
)
@pytest.mark.parametrize("sort_order", ["asc", "desc"])
async def test_the_log_is_filtered_by_event_type(
    registry: TestRegistry, pair: Pair, event_type: str, sort_order: str
):
    whole = await events(registry, limit=1000, sort_order=sort_order)
    wanted = [event for event in whole["items"] if event["event_type"] == event_type]
    found = await all_pages(registry, limit=2, event_type=event_type, sort_order=sort_order)
    assert found == wanted != []
    assert (await events(registry, event_type=event_type))["pagination"]["total_items"] == len(wanted)


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": "many"},
        {"offset": -1},
        {"offset": 1_000_001},
        {"sort_order": "sideways"},
        {"event_type": "'; --"},
        {"event_type": "x" * 90},
        {"next": "nonsense"},
        {"next": "_" * 64},
        {"next": "é"},
        {"next": "/////////////////////w"},
    ],
)
async def test_bounds_of_the_listing_are_kept(registry: TestRegistry, query: dict[str, Any]):
    answer = await registry.get("/events/", params=query, headers=registry.internal)
    assert answer.status_code == 422, answer.text


async def test_a_position_kept_from_an_earlier_page_shows_what_came_since(registry: TestRegistry, pair: Pair):
    payer, payee = pair
    end = (await events(registry, limit=1000))["position"]
    assert (await events(registry, next=end))["items"] == []
    await payer.transfer(payee, "1")
    since = await events(registry, next=end)
    assert [event["event_type"] for event in since["items"]] == [
        "LedgerBalanceChanged",
        "TokensTransferred",
        "TransactionFeeCollected",
    ]


async def test_an_event_that_commits_late_is_not_lost_to_who_follows(registry: TestRegistry):
    end = (await events(registry, limit=1000))["position"]
    inserted, release = asyncio.Event(), asyncio.Event()

    async def late(tx) -> None:
        await journal.append(tx, onboarded("late"))
        inserted.set()
        await release.wait()

    slow = asyncio.create_task(registry.database.transaction(late))
    await inserted.wait()
    await registry.database.transaction(lambda tx: journal.append(tx, onboarded("early")))
    seen = await events(registry, next=end)
    newest_first = await events(registry, sort_order="desc", limit=1)
    assert newest_first["items"][0]["data"]["did"] == "early"
    release.set()
    await slow
    seen_later = await all_pages(registry, next=seen["position"])
    assert [event["data"]["did"] for event in seen["items"] + seen_later] == ["late", "early"]


def onboarded(did: str) -> AgentOnboarded:
    return AgentOnboarded(did=did, card_id="card", first_agent=False, initial_funding_status="none")


def takes_part(did: str, event: dict[str, Any]) -> bool:
    data = event["data"]
    named = [data.get(member) for member in ("did", "account", "payer", "from", "to", "collector")]
    return did in (event["aggregate_id"], *named, *(entry["account"] for entry in data.get("entries", [])))


async def test_the_events_of_a_did_are_all_in_which_it_takes_part_in_pages_like_every_list(
    registry: TestRegistry, pair: Pair
):
    payer, payee = pair
    for did in (payer.did, payee.did, "did:hansa:system:fee_collector", "did:hansa:system:treasury"):
        whole = await events(registry, limit=1000)
        wanted = [event for event in whole["items"] if takes_part(did, event)]
        path = f"/events/aggregate/{did}"
        page = await events(registry, path)
        assert page["items"] == wanted != []
        total = page["pagination"]["total_items"]
        assert page["pagination"] == {
            "total_items": len(wanted),
            "limit": 100,
            "offset": 0,
            "total_pages": 1,
            "current_page": 1,
        }
        for sort_order, in_order in (("asc", wanted), ("desc", wanted[::-1])):
            for limit in (1, 2, 5):
                assert await all_pages(registry, path, limit=limit, sort_order=sort_order) == in_order
            by_offset = [
                event
                for offset in range(0, total + 3, 3)
                for event in (await events(registry, path, limit=3, offset=offset, sort_order=sort_order))[
                    "items"
                ]
            ]
            assert by_offset == in_order
        beyond = await events(registry, path, offset=total + 1000)
        assert (beyond["items"], beyond["pagination"]["total_items"]) == ([], total)


async def test_a_position_in_the_events_of_a_did_shows_what_came_since(registry: TestRegistry, pair: Pair):
    payer, payee = pair
    ends = {one.did: (await events(registry, f"/events/aggregate/{one.did}"))["position"] for one in pair}
    await payer.transfer(payee, "0.5")
    for did, count in ((payer.did, 3), (payee.did, 2)):
        since = (await events(registry, f"/events/aggregate/{did}", next=ends[did]))["items"]
        assert [event["event_type"] for event in since] == [
            *("LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"),
        ][:count]


async def test_the_events_of_a_did_are_counted_whatever_policies_keep_out(start_registry: StartRegistry):
    registry = await start_registry(agent_rbac_default_roles="trader,staker")
    administrator = await registry.administrator("admin_platform")
    payer, payee = await registry.agent(), await registry.agent()
    stake = await registry.post("/staking/stake", json={"amount": "10"}, headers=payer.headers)
    assert stake.status_code == 200

    async def agree() -> None:
        for did in (payer.did, payee.did, "did:hansa:system:fee_collector"):
            page = await events(registry, f"/events/aggregate/{did}", limit=1000)
            assert page["pagination"]["total_items"] == len(page["items"])

    await payer.transfer(payee, "1")
    await payer.transfer(payee, "0.00000001")
    await agree()
    for admitted in (False, True):
        await registry.http.put(
            "/api/v1/admin/event-emission-policies/TokensTransferred",
            json={"emit_from_teg": admitted},
            headers=administrator.headers,
        )
        await payer.transfer(payee, "1")
        await agree()


async def test_the_treasury_has_its_events_too(registry: TestRegistry, pair: Pair):
    found = await all_pages(registry, "/events/aggregate/did:hansa:system:treasury", limit=3)
    assert [event["event_type"] for event in found[:4]] == [
        "LedgerBalanceChanged",
        "TokensIssued",
        "LedgerBalanceChanged",
        "TokensTransferred",
    ]
    assert sequences(found) == sorted(sequences(found))


async def test_a_did_that_nobody_has_has_no_events(registry: TestRegistry):
    page = await events(registry, "/events/aggregate/did:hansa:hansa.local:nobody")
    assert (page["items"], page["next"]) == ([], None)


async def test_a_cursor_of_another_route_is_refused(registry: TestRegistry):
    cursor = (await events(registry))["position"]
    answer = await registry.get(
        "/events/aggregate/did:hansa:x:y", params={"next": cursor}, headers=registry.internal
    )
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "CURSOR_INVALID"


async def test_anyone_sees_how_large_the_log_is(registry: TestRegistry, pair: Pair):
    for _ in range(3):
        answer = await registry.get("/public/eventstore-stats")
        assert answer.status_code == 200
        returned, whole = answer.json(), (await events(registry, limit=1000))["items"]
        kinds = [event["event_type"] for event in whole]
        assert returned["events_by_type"] == {kind: kinds.count(kind) for kind in set(kinds)}
        assert returned["total_events"] == len(whole)
        assert (returned["first_sequence"], returned["last_sequence"]) == (
            min(sequences(whole)),
            max(sequences(whole)),
        )
        assert returned["last_timestamp"] == max(whole, key=lambda event: event["sequence"])["timestamp"]
        assert returned["scope"] == registry.settings.trust_domain
        await registry.database.transaction(count_settled)
        await registry.database.transaction(lambda tx: journal.append(tx, onboarded("one more")))


async def test_a_balance_of_the_past_is_the_one_that_was_returned_then(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    returned = []
    for amount in ("1", "2", "0.00000001", "7"):
        answer = (await payer.transfer(payee, amount)).json()
        newest = (await events(registry, sort_order="desc", limit=1))["items"][0]
        returned.append(
            (answer["timestamp"], newest["sequence"], answer["new_sender_balance"], await payee.balance())
        )
    for instant, sequence, payers, payees in returned:
        for as_of in (instant, str(sequence)):
            assert await balance(payer, as_of) == {
                "agent_id": payer.did,
                "balance": payers,
                "staked_balance": "0",
                "escrow_balance": "0",
                "as_of": as_of,
            }
            assert (await balance(payee, as_of))["balance"] == payees
    assert (await balance(payer, "0"))["balance"] == "0"
    assert (await balance(payer, "2001-01-01T00:00:00+02:00"))["balance"] == "0"
    first_movement = (await events(registry, f"/events/aggregate/{payer.did}", limit=2))["items"]
    granted = next(event for event in first_movement if event["event_type"] == "LedgerBalanceChanged")
    assert (await balance(payer, str(granted["sequence"])))["balance"] == "100"
    assert (await balance(payer, str(granted["sequence"] - 1)))["balance"] == "0"


async def balance(agent: TestAgent, as_of: str) -> dict[str, Any]:
    answer = await agent.registry.get("/teg/balance", params={"as_of": as_of}, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_present_balance_is_answered_as_before(registry: TestRegistry, pair: Pair):
    agent = pair[1]
    answer = await registry.get("/teg/balance", headers=agent.headers)
    assert answer.json() == {"agent_id": agent.did, "balance": await agent.balance()}


@pytest.mark.parametrize(
    "as_of",
    [
        *("", "yesterday", "-1", "1.5", "1e3", "٣", "9" * 18, "9" * 19, "2026-01-01", "2026-01-01T00:00:00"),
        *("2999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-13-01T00:00:00Z", "x" * 41, "0x10"),
    ],
)
async def test_a_moment_that_is_none_of_the_past_is_refused(registry: TestRegistry, pair: Pair, as_of: str):
    answer = await registry.get("/teg/balance", params={"as_of": as_of}, headers=pair[0].headers)
    assert answer.status_code == 422, answer.text


async def test_an_old_balance_is_found_in_a_few_steps_however_long_the_history(registry: TestRegistry):
    agent = await registry.agent()
    await registry.database.transaction(lambda tx: tx.execute(LONG_HISTORY, agent.did))
    counted = []

    async def watched(tx):
        tx.add_query_logger(lambda record: counted.append(record.query))
        return await balance_then(tx, agent.did, "2026-01-01T00:33:20Z", registry.settings.trust_domain)

    held = await registry.database.read(watched)
    assert held.liquid == 2000
    assert len(counted) < 40


LONG_HISTORY = """
WITH own AS (SELECT id FROM ledger_account WHERE did = $1), made AS (
  INSERT INTO ledger_transaction (id, tx_type, payee_id, payer_id, amount, recorded_at) OVERRIDING SYSTEM VALUE
  SELECT 1000 + n, 'grant', own.id, -1, 1, '2026-01-01Z'::timestamptz + n * interval '1 second'
  FROM own, generate_series(1, 5000) n RETURNING id
), ready AS (SELECT set_config('session_replication_role', 'replica', true))
INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
SELECT 1000 + n, own.id, 'liquid', 1, n FROM own, ready, generate_series(1, 5000) n
"""
