"""The specification on an agent's own transactions and on the published facts about fees."""

import csv
import io

import pytest

from tests.registry import TestRegistry


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def test_own_transactions_come_newest_first_with_the_balance_each_left(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    await alice.transfer(bob, "10", message="first")
    await alice.transfer(bob, "5")
    lines = (await registry.get("/teg/transactions", headers=alice.headers)).json()["items"]
    assert [(line["tx_type"], line["direction"], line["amount"], line["fee_amount"]) for line in lines] == [
        ("transfer", "sent", "5", "0.025"),
        ("transfer", "sent", "10", "0.05"),
        ("grant", "received", "100", "0"),
    ]
    assert [line["balance_after"] for line in lines] == ["84.925", "89.95", "100"]
    assert lines[1]["message"] == "first"
    assert lines[0]["counterparty"] == bob.did


async def test_the_payee_is_shown_no_fee_because_it_paid_none(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    await alice.transfer(bob, "10")
    newest = (await registry.get("/teg/transactions", headers=bob.headers)).json()["items"][0]
    assert (newest["direction"], newest["amount"], newest["fee_amount"]) == ("received", "10", "0")


async def test_transactions_are_filtered_by_direction_type_counterparty_and_time(
    registry: TestRegistry,
) -> None:
    alice, bob, carol = await registry.agent(), await registry.agent(), await registry.agent()
    await alice.transfer(bob, "1")
    await alice.transfer(carol, "2")
    await bob.transfer(alice, "3")

    async def amounts(**query: str) -> list[str]:
        answer = await registry.get("/teg/transactions", params=query, headers=alice.headers)
        assert answer.status_code == 200, answer.text
        return [line["amount"] for line in answer.json()["items"]]

    assert await amounts(direction="sent") == ["2", "1"]
    assert await amounts(direction="received") == ["3", "100"]
    assert await amounts(tx_type="grant") == ["100"]
    assert await amounts(counterparty=carol.did) == ["2"]
    assert await amounts(since="2999-01-01T00:00:00Z") == []
    assert await amounts(until="2000-01-01T00:00:00Z") == []


async def test_pages_by_offset_and_by_next_show_every_transaction_once(registry: TestRegistry) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    for number in range(1, 6):
        await alice.transfer(bob, str(number))
    page = (await registry.get("/teg/transactions?limit=4", headers=alice.headers)).json()
    assert page["pagination"] == {
        "total_items": 6,
        "limit": 4,
        "offset": 0,
        "total_pages": 2,
        "current_page": 1,
    }
    rest = (
        await registry.get(f"/teg/transactions?limit=4&next={page['next']}", headers=alice.headers)
    ).json()
    by_offset = (await registry.get("/teg/transactions?limit=4&offset=4", headers=alice.headers)).json()
    assert rest["items"] == by_offset["items"]
    assert rest["next"] is None
    assert len({line["transaction_id"] for line in page["items"] + rest["items"]}) == 6


async def test_a_statement_is_csv_on_request_and_runs_nothing_in_a_spreadsheet(
    registry: TestRegistry,
) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    await alice.transfer(bob, "10", message="=cmd|' /C calc'!A0")
    for request in ({"params": {"format": "csv"}}, {"headers": {"Accept": "text/csv"}}):
        headers = {**alice.headers, **request.pop("headers", {})}
        answer = await registry.get("/teg/transactions", headers=headers, **request)
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert rows[0]["amount"] == "10"
        assert rows[0]["message"].startswith("'=")


@pytest.mark.parametrize(
    ("message", "exported"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("paid\n=1+1", "paid\n'=1+1"),
        ("paid\r\n  +1", "paid\r\n  '+1"),
        ("a,=1+1;-2|@x", "a,'=1+1;'-2|'@x"),
        ('a,"=1+1', "a,\"'=1+1"),
        ("\u2028=1", "\u2028'=1"),
        ("\uff1d1", "'\uff1d1"),
        ("a = b - c", "a = b - c"),
    ],
)
async def test_no_cell_of_a_csv_export_begins_with_a_formula(
    registry: TestRegistry, message: str, exported: str
) -> None:
    alice, bob = await registry.agent(), await registry.agent()
    await alice.transfer(bob, "10", message=message)
    answer = await registry.get("/teg/transactions", headers=alice.headers, params={"format": "csv"})
    (row, _) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert row["message"] == exported


async def test_a_statement_refuses_what_is_out_of_bounds(registry: TestRegistry) -> None:
    alice = await registry.agent()
    bad = ["limit=0", "limit=1001", "offset=-1", "next=5", "direction=up", "since=yesterday", "format=xml",
           "since=0001-01-01T00:00:00%2B14:00", "tx_type=%27--"]  # fmt: skip
    for query in bad:
        answer = await registry.get(f"/teg/transactions?{query}", headers=alice.headers)
        assert answer.status_code == 422, query


async def test_the_fee_formula_and_what_was_collected_are_public(registry_of_test: TestRegistry) -> None:
    alice, bob = await registry_of_test.agent(), await registry_of_test.agent()
    await alice.transfer(bob, "10")
    config = (await registry_of_test.get("/teg/fees/config")).json()
    assert config == {
        "base_rate_percent": "0.5",
        "max_rate_percent": "5",
        "velocity_scaling_factor": "10",
        "rounding": "ROUND_HALF_EVEN",
        "decimals": 8,
        "currency": "AVT",
        "fee_collector_address": "did:hansa:system:fee_collector",
    }
    assert (await registry_of_test.get("/teg/fees")).json() == {**config, "collected": "0.05"}
