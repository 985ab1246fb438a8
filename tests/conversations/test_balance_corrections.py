"""Corrections of balances by administrators of the treasury."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.all_events import require_schemas_kept
from tests.notified import notified_of, subscribe
from tests.organizations import found
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, at_once, text_of
from tests.rooms.ledger.purses import Purses, open_purses

PATH = "/admin/balance-corrections"


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("corrections")) as purses:
        yield purses


@pytest.fixture
async def purses(open_here: Purses) -> AsyncIterator[Purses]:
    """No unit is made or lost by any correction."""
    yield open_here
    await open_here.prove()


@pytest.fixture(scope="module")
async def treasurer(open_here: Purses) -> TestDeveloper:
    return await open_here.registry.administrator("admin_treasury")


@pytest.fixture
async def alice(purses: Purses) -> TestAgent:
    return await purses.agent("100")


async def correct(
    by: TestDeveloper, account: str, ref: str, *, key: str | None = None, **more: Any
) -> httpx2.Response:
    body = {"account": account, "amount": "10", "direction": "debit", "ref": ref, **more}
    headers = by.headers if key is None else {**by.headers, "Idempotency-Key": key}
    return await by.registry.post(PATH, json=body, headers=headers)


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def treasury_holds(purses: Purses) -> int:
    statement = "SELECT liquid FROM ledger_account WHERE did = 'did:hansa:system:treasury'"
    return int(await purses.fetchval(statement))


async def test_a_correction_moves_liquid_units_between_an_account_and_the_treasury(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    before = await treasury_holds(purses)
    taken = await correct(treasurer, alice.did, "taken", amount="30.5")
    assert (taken.status_code, await alice.balance()) == (201, "69.5")
    assert await treasury_holds(purses) == before + 3_050_000_000
    given = await correct(treasurer, alice.did, "given", amount="0.5", direction="credit")
    answer = given.json()
    assert answer.pop("transaction_id").startswith("tx-")
    assert answer.pop("timestamp")
    assert (given.status_code, answer) == (
        201,
        {
            "account": alice.did,
            "amount": "0.5",
            "direction": "credit",
            "ref": "given",
            "liquid_balance": "70",
        },
    )
    assert await treasury_holds(purses) == before + 3_000_000_000
    assert (await purses.registry.supply())["status"] == "OK"


async def test_no_balance_becomes_negative(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    before = await treasury_holds(purses)
    more = await correct(treasurer, alice.did, "too much", amount="100.00000001")
    assert refused(more) == (402, "INSUFFICIENT_BALANCE")
    beyond = await correct(treasurer, alice.did, "too much", amount="9999999999", direction="credit")
    assert refused(beyond) == (402, "INSUFFICIENT_BALANCE")
    assert (await alice.balance(), await treasury_holds(purses)) == ("100", before)
    whole = await correct(treasurer, alice.did, "too much", amount="100")
    assert (whole.status_code, await alice.balance()) == (201, "0"), "a refused correction uses no reference"


async def test_a_reference_is_good_for_one_correction(
    treasurer: TestDeveloper, alice: TestAgent, purses: Purses
) -> None:
    assert (await correct(treasurer, alice.did, "once")).status_code == 201
    for more in ({}, {"direction": "credit"}, {"account": (await purses.agent("50")).did}):
        again = await correct(treasurer, **{"account": alice.did, "ref": "once", **more})
        assert refused(again) == (409, "REFERENCE_USED")
    assert await alice.balance() == "90"


async def test_of_corrections_with_one_reference_at_the_same_moment_one_is_made(
    treasurer: TestDeveloper, alice: TestAgent
) -> None:
    answers = await at_once(*(correct(treasurer, alice.did, "at once") for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 5]
    assert await alice.balance() == "90"


async def test_a_request_repeated_under_its_key_gets_the_first_answer(
    treasurer: TestDeveloper, alice: TestAgent
) -> None:
    first, again = [await correct(treasurer, alice.did, "keyed", key="c-1") for _ in range(2)]
    assert (first.status_code, again.status_code, again.text) == (201, 201, first.text)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert await alice.balance() == "90"


@pytest.mark.parametrize("name", ["treasury", "fee_collector", "shortfall", "unclaimed"])
async def test_a_system_account_is_not_corrected(purses: Purses, treasurer: TestDeveloper, name: str) -> None:
    answer = await correct(treasurer, f"did:hansa:system:{name}", "system")
    assert refused(answer) == (403, "SYSTEM_ACCOUNT")


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"account": "did:web:nobody.example"}, 404, "ACCOUNT_UNKNOWN"),
        ({"amount": "0"}, 422, "VALIDATION_ERROR"),
        ({"amount": "-1"}, 422, "VALIDATION_ERROR"),
        ({"amount": 1}, 422, "VALIDATION_ERROR"),
        ({"direction": "both"}, 422, "VALIDATION_ERROR"),
        ({"ref": ""}, 422, "VALIDATION_ERROR"),
        ({"ref": "a\u202eb"}, 422, "REFERENCE_INVALID"),
        ({"ref": "dispute:1"}, 422, "REFERENCE_INVALID"),
        ({"memo": "unknown member"}, 422, "VALIDATION_ERROR"),
    ],
    ids=str,
)
async def test_a_correction_that_is_not_well_formed_is_refused(
    treasurer: TestDeveloper, alice: TestAgent, more: dict[str, Any], status: int, code: str
) -> None:
    answer = await correct(treasurer, **{"account": alice.did, "ref": "formed", **more})
    assert refused(answer) == (status, code)
    assert await alice.balance() == "100"


async def test_only_an_administrator_of_the_treasury_corrects_and_none_its_own_agent(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    others = [await purses.registry.administrator("admin_enforcement"), purses.developer]
    assert [(await correct(one, alice.did, "others")).status_code for one in others] == [403, 403]
    own = await treasurer.agent()
    await purses.grant(own, "20")
    for direction in ("credit", "debit"):
        answer = await correct(treasurer, own.did, "own", direction=direction)
        assert refused(answer) == (403, "OWN_AGENT")
    assert (await own.balance(), await alice.balance()) == ("20", "100")


async def test_a_suspended_agent_is_corrected_and_a_revoked_one_gets_nothing(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    enforcer = await purses.registry.administrator("admin_enforcement")
    act = {"agent_dids": [alice.did], "reason": "For a test."}
    await purses.registry.post("/admin/agents/bulk/suspend", json=act, headers=enforcer.headers)
    for direction in ("credit", "debit"):
        answer = await correct(treasurer, alice.did, f"suspended {direction}", direction=direction)
        assert answer.status_code == 201, answer.text
    await purses.registry.post("/admin/agents/bulk/revoke", json=act, headers=enforcer.headers)
    given = await correct(treasurer, alice.did, "revoked", direction="credit")
    assert refused(given) == (403, "AGENT_REVOKED")
    taken = await correct(treasurer, alice.did, "revoked", amount="100")
    assert (taken.status_code, taken.json()["liquid_balance"]) == (201, "0")


async def test_a_correction_is_recorded_in_the_journal_the_statement_and_the_audit_log(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    registry = purses.registry
    done = (await correct(treasurer, alice.did, "Ticket 7")).json()
    recent = (await registry.get("/public/eventstore-recent")).json()["events"]
    event = next(one for one in recent if one["event_type"] == "BalanceCorrected")
    assert event["data"] == {
        "tx_id": int(done["transaction_id"].removeprefix("tx-")),
        "account": alice.did,
        "amount": "10",
        "direction": "debit",
        "currency": "AVT",
        "ref": "Ticket 7",
    }
    own = await registry.get(f"/events/aggregate/{alice.did}", headers=registry.internal)
    types = [one["event_type"] for one in own.json()["items"]]
    assert {"LedgerBalanceChanged", "BalanceCorrected"} <= set(types)
    assert own.json()["pagination"]["total_items"] == len(types)
    lines = (await registry.get("/teg/transactions", headers=alice.headers)).json()["items"]
    (line,) = [one for one in lines if one["tx_type"] == "correction"]
    assert (line["direction"], line["amount"], line["fee_amount"], line["balance_after"]) == (
        "sent",
        "10",
        "0",
        "90",
    )
    auditor = await registry.administrator("admin_platform")
    found = await registry.get(
        "/admin/audit-log", params={"act": "balance.correct", "subject": alice.did}, headers=auditor.headers
    )
    assert [one["reason"] for one in found.json()["items"]] == ["Ticket 7"]
    await require_schemas_kept(registry.database, "BalanceCorrected")


async def test_the_owner_is_notified_by_mail_and_webhook(
    purses: Purses, treasurer: TestDeveloper, alice: TestAgent
) -> None:
    await subscribe(purses.developer, "balance.corrected")
    await correct(treasurer, alice.did, "Ticket 8")
    (mail,) = [one for one in await purses.registry.outbox() if "Ticket 8" in text_of(one)]
    assert mail["To"] == purses.developer.email
    assert "10 AVT were taken from it; it now holds 90 AVT" in text_of(mail).replace("\n", " ")
    ((kind, data),) = await notified_of(purses.registry, alice.did)
    assert (kind, data["direction"], data["ref"]) == ("balance.corrected", "debit", "Ticket 8")


async def test_the_members_of_an_organization_are_notified_about_its_treasury(
    purses: Purses, treasurer: TestDeveloper
) -> None:
    organization = await found(purses.registry)
    member = await organization.member("owner")
    answer = await correct(treasurer, organization.created["treasury_did"], "Ticket 9", direction="credit")
    assert answer.status_code == 201, answer.text
    notified = [one["To"] for one in await purses.registry.outbox() if "Ticket 9" in text_of(one)]
    assert sorted(notified) == sorted([organization.owner.email, member.email])
