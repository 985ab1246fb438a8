"""A payment of a contract that a restored registry forgot comes to light while it is paid again, or when it has been."""

import asyncio
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from hansa.rooms import transfers
from hansa.rooms.commerce import contracts
from tests.neighbours.agreeing_scene import AgreementAbroad
from tests.neighbours.crossing_scene import LostCalls, across, deadlines_pass, refusal, run, settle
from tests.neighbours.parts_across import InParts, nobody_rules
from tests.neighbours.paying_scene import quiet_after
from tests.neighbours.restoring import backed_up, put_back
from tests.neighbours.test_restored_bridge import compare
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm

_OVERPAID = (
    "SELECT data::text FROM journal_event WHERE event_type = 'ContractOverpaid' ORDER BY seq DESC LIMIT 1"
)


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("twice")) as pair:
        for one in (pair.a, pair.b):
            await compare(one, anew=True)
        yield pair


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 0.2)


class PaidAgain:
    """A contract whose first payment was aborted here, and another one that is begun while the provider's registry is away."""

    def __init__(self, agreed: AgreementAbroad, calls: LostCalls) -> None:
        self.agreed, self.calls = agreed, calls
        self.number = self.moved_by = 0
        self.first = self.second = UUID(int=0)

    async def begin(self) -> "PaidAgain":
        agreed, home = self.agreed, self.agreed.pair.a
        self.number = await agreed.submitted()
        assert (await across(agreed.contractor, agreed.provider.did, "10")).status_code == 200
        self.moved_by = await home.registry.database.query(
            lambda tx: tx.fetchval("SELECT max(id) FROM ledger_transaction")
        )
        await settle(home, agreed.pair.b)
        self.calls.loses = lambda _: "request"
        self.first = await self.approve()
        await deadlines_pass(home)
        await settle(home)
        self.second = await self.approve()
        self.calls.loses = lambda _: None
        assert self.first != self.second
        return self

    async def approve(self) -> UUID:
        answer = await self.agreed.at_home("approve-completion", self.number)
        assert (answer.status_code, answer.json()["status"]) == (200, "SUBMITTED"), answer.text
        return UUID(answer.json()["payment_tx_id"])

    async def comes_to_light(self, transfer_id: UUID) -> None:
        """Replay an own COMMIT from before a restore, which moves units by a transaction of its own."""
        runtime = self.agreed.pair.a.registry.runtime
        decision = transfers.CrossingDecision(transfer_id, self.moved_by, None)
        await runtime.database.transaction(
            lambda tx: transfers.PAYMENT_DECIDED.of(runtime)(tx, [decision], runtime.settings)
        )

    async def settled(self) -> None:
        await settle(self.agreed.pair.a, self.agreed.pair.b)

    async def state_of(self, transfer_id: UUID) -> str:
        found = await self.agreed.pair.a.registry.database.query(
            lambda tx: transfers.find_payment(tx, transfer_id)
        )
        assert found is not None
        return found.state

    async def read(self) -> dict[str, Any]:
        return await self.agreed.read(self.number)

    async def overpaid(self) -> list[str]:
        """Return the transfers that paid more than the contract owes, as its history states."""
        return [line["note"] for line in (await self.read())["history"] if line["act"] == "overpaid"]


@pytest.fixture
async def again(pair: Neighbours, calls: LostCalls) -> PaidAgain:
    return await PaidAgain(await AgreementAbroad.between(pair), calls).begin()


async def test_a_second_payment_that_is_under_way_is_aborted_when_the_first_one_comes_to_light(
    again: PaidAgain,
):
    await again.comes_to_light(again.first)
    approved = await again.read()
    assert (approved["status"], approved["payment_tx_id"]) == ("COMPLETED", str(again.first))
    # The process may end here: the row of the second transfer alone says that its time is over.
    assert await again.state_of(again.second) == "reserved"
    async with quiet_after(again.agreed.pair):
        await again.settled()
    assert await again.state_of(again.second) == "aborted"
    assert await again.read() == approved
    assert await again.overpaid() == []
    assert await again.agreed.balances() == ("90", "109.95")


async def test_who_waits_for_the_second_payment_is_answered_with_the_contract_that_the_first_one_completed(
    again: PaidAgain, monkeypatch: pytest.MonkeyPatch
):
    await deadlines_pass(again.agreed.pair.a)
    await again.settled()
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 60)
    again.calls.loses = lambda _: "request"
    waiting = asyncio.create_task(again.agreed.at_home("approve-completion", again.number))
    while (await again.read())["payment_tx_id"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await again.comes_to_light(again.first)
    again.calls.loses = lambda _: None
    await again.settled()
    answer = await waiting
    assert (answer.status_code, answer.json()["status"]) == (200, "COMPLETED"), answer.text


async def test_a_second_payment_that_was_committed_as_well_is_recorded_once_and_both_parties_know(
    again: PaidAgain,
):
    await again.settled()
    assert await again.state_of(again.second) == "committed"
    for _ in range(2):
        await again.comes_to_light(again.first)
    approved = await again.read()
    assert (approved["status"], approved["payment_tx_id"]) == ("COMPLETED", str(again.second))
    assert await again.overpaid() == [str(again.first)]
    copied = (await again.agreed.read_abroad(again.number)).json()
    assert copied["history"][-1]["act"] == "overpaid"
    event = json.loads(await again.agreed.pair.a.registry.database.query(lambda tx: tx.fetchval(_OVERPAID)))
    assert (event["transfer_id"], event["amount"]) == (str(again.first), "10")
    assert event["contract_id"] == again.number


async def test_a_first_payment_that_approved_the_part_leaves_a_later_commit_of_the_second_as_overpaid(
    again: PaidAgain,
):
    await again.comes_to_light(again.first)
    await again.comes_to_light(again.second)
    assert await again.overpaid() == [str(again.second)]
    assert (await again.read())["payment_tx_id"] == str(again.first)
    await again.settled()


async def test_a_payment_that_comes_to_light_after_the_contract_failed_is_overpaid(again: PaidAgain):
    await deadlines_pass(again.agreed.pair.a)
    await again.settled()
    failed = await again.agreed.at_home("mark-failed", again.number)
    assert failed.status_code == 200, failed.text
    await again.comes_to_light(again.first)
    ended = await again.read()
    assert (ended["status"], ended["amount_paid"]) == ("FAILED", "0")
    assert await again.overpaid() == [str(again.first)]


async def test_what_was_overpaid_is_evidence_and_the_dispute_finds_that_it_was_settled_twice(
    again: PaidAgain,
):
    await again.settled()
    await again.comes_to_light(again.first)
    contractor, home = again.agreed.contractor, again.agreed.pair.a
    body = {
        "defendant_did": again.agreed.provider.did,
        "contract_id": again.number,
        "reason_code": "UNFAIR_FEE",
        "description": "It was paid twice.",
    }
    filed = await home.registry.post("/disputes/", json=body, headers=contractor.headers)
    assert filed.status_code == 201, filed.text
    bundle = await home.registry.get(f"/disputes/{filed.json()['id']}/bundle", headers=contractor.headers)
    assert bundle.status_code == 200, bundle.text
    facts = bundle.json()
    assert len(facts["payments"]) == 2
    assert facts["proposal"]["rule"] == "settled_twice"


async def test_the_time_for_a_dispute_begins_anew_when_it_comes_to_light_that_too_much_was_paid(
    again: PaidAgain,
):
    home, agreed = again.agreed.pair.a, again.agreed
    await deadlines_pass(home)
    await again.settled()
    assert (await agreed.at_home("mark-failed", again.number)).status_code == 200
    await run(
        home,
        "UPDATE commerce_contract SET ended_at = ended_at - interval '1 year' WHERE id = $1",
        again.number,
    )
    body = {
        "defendant_did": agreed.provider.did,
        "contract_id": again.number,
        "reason_code": "UNFAIR_FEE",
        "description": "It was paid and has failed.",
    }
    early = await home.registry.post("/disputes/", json=body, headers=agreed.contractor.headers)
    assert await refusal(early) == (409, "DISPUTE_TOO_LATE")
    await again.comes_to_light(again.first)
    filed = await home.registry.post("/disputes/", json=body, headers=agreed.contractor.headers)
    assert filed.status_code == 201, filed.text


async def closed_by_a_ruling(again: PaidAgain) -> None:
    """Let a ruling close the contract, and a payment come to light afterwards."""
    await deadlines_pass(again.agreed.pair.a)
    await again.settled()
    assert await ruled(again) == "CLOSED"
    assert await refusal(await file_about(again)) == (409, "CONTRACT_WRONG_STATE")
    await again.comes_to_light(again.first)
    assert [line["act"] for line in (await again.read())["history"]][-2:] == ["closed", "overpaid"]


async def test_what_comes_to_light_after_a_ruling_is_ruled_on_once_more(again: PaidAgain):
    await closed_by_a_ruling(again)
    assert await ruled(again) == "CLOSED"
    assert await refusal(await file_about(again)) == (409, "CONTRACT_WRONG_STATE")
    given = await again.agreed.pair.a.registry.database.query(
        lambda tx: tx.fetch(
            "SELECT payment, ruling FROM commerce_dispute WHERE contract_id = $1 ORDER BY id", again.number
        )
    )
    name = f"contract:{again.number}"
    assert [tuple(row) for row in given] == [
        (name, "IN_FAVOR_OF_COMPLAINANT"),
        (f"{name}:1", "IN_FAVOR_OF_COMPLAINANT"),
    ]


async def test_a_dismissed_dispute_about_what_came_to_light_after_a_ruling_leaves_the_contract_closed(
    again: PaidAgain,
):
    await closed_by_a_ruling(again)
    await nobody_rules(again.agreed.pair.a, await filed_about(again))
    assert (await again.read())["status"] == "CLOSED"
    assert await refusal(await file_about(again)) == (409, "DISPUTE_EXISTS")


async def test_what_comes_to_light_after_a_ruling_is_disputed_in_time(again: PaidAgain):
    await closed_by_a_ruling(again)
    for statement in (
        "UPDATE commerce_contract SET ended_at = ended_at - interval '2 years' WHERE id = $1",
        "UPDATE commerce_contract_history SET at = at - interval '1 year' WHERE contract_id = $1",
    ):
        await run(again.agreed.pair.a, statement, again.number)
    assert await refusal(await file_about(again)) == (409, "DISPUTE_TOO_LATE")


async def file_about(again: PaidAgain) -> Any:
    """The answer to a dispute of the contractor about the contract."""
    body = {
        "defendant_did": again.agreed.provider.did,
        "contract_id": again.number,
        "reason_code": "UNFAIR_FEE",
        "description": "More was paid than is owed.",
    }
    return await again.agreed.pair.a.registry.post(
        "/disputes/", json=body, headers=again.agreed.contractor.headers
    )


async def filed_about(again: PaidAgain) -> int:
    """The number of such a dispute, which stops the contract."""
    filed = await file_about(again)
    assert filed.status_code == 201, filed.text
    assert (await again.read())["status"] == "DISPUTED"
    number: int = filed.json()["id"]
    return number


async def ruled(again: PaidAgain) -> str:
    """File a dispute, rule for the contractor, and return the status of the contract then."""
    home = again.agreed.pair.a
    number = await filed_about(again)
    administrator = await home.registry.administrator("admin_enforcement")
    path = f"/api/v1/admin/disputes/{number}"
    opened = await home.registry.http.put(f"{path}/open-voting", headers=administrator.headers)
    assert opened.status_code == 200, opened.text
    ruling = {"ruling": "IN_FAVOR_OF_COMPLAINANT", "slash_amount": "1", "note": "It is so."}
    decided = await home.registry.http.put(f"{path}/ruling", json=ruling, headers=administrator.headers)
    assert decided.status_code == 200, decided.text
    status: str = (await again.read())["status"]
    return status


async def test_a_payment_that_comes_to_light_during_a_dispute_approves_the_part_once_that_is_dismissed(
    pair: Neighbours,
):
    agreed = await AgreementAbroad.between(pair)
    contract_id = await agreed.submitted()
    await settle(pair.a, pair.b)
    backup = await backed_up(pair.a)
    paid = await agreed.at_home("approve-completion", contract_id)
    await settle(pair.a, pair.b)
    assert (await agreed.read(contract_id))["status"] == "COMPLETED", paid.text
    await compare(pair.a)
    await put_back(pair.a, backup)
    body = {
        "defendant_did": agreed.provider.did,
        "contract_id": contract_id,
        "reason_code": "OTHER",
        "description": "It is late.",
    }
    filed = await pair.a.registry.post("/disputes/", json=body, headers=agreed.contractor.headers)
    assert filed.status_code == 201, filed.text
    await compare(pair.a, anew=True)
    await settle(pair.a, pair.b)
    disputed = await agreed.read(contract_id)
    assert (disputed["status"], disputed["history"][-1]["act"]) == ("DISPUTED", "overpaid")
    assert await surplus_of(pair, contract_id) == 1
    await nobody_rules(pair.a, filed.json()["id"])
    async with quiet_after(pair):
        approved = await agreed.at_home("approve-completion", contract_id)
    assert approved.json()["status"] == "COMPLETED", approved.text
    assert approved.json()["payment_tx_id"] == paid.json()["payment_tx_id"]
    assert await surplus_of(pair, contract_id) == 0
    # The deposit of the dismissed dispute is lost.
    assert await agreed.balances() == ("89.9", "109.95")


async def surplus_of(pair: Neighbours, contract_id: int) -> int:
    found = await pair.a.registry.database.query(lambda tx: contracts.surplus_of(tx, contract_id))
    return len(found)


async def test_of_a_token_and_a_transfer_that_pay_one_part_after_a_restore_one_is_paid(
    pair: Neighbours, calls: LostCalls
):
    agreed = await AgreementAbroad.between(pair)
    contract_id = await agreed.submitted()
    body = {"target_agent_did": agreed.provider.did, "amount": "10", "contract_id": contract_id}
    made = await pair.a.registry.post("/a2a-payment/authorize", json=body, headers=agreed.contractor.headers)
    await settle(pair.a, pair.b)
    await compare(pair.a)
    backup = await backed_up(pair.a)
    paid = await agreed.at_home("approve-completion", contract_id, payment_token=made.json()["token"])
    assert paid.status_code == 200, paid.text
    await settle(pair.a, pair.b)
    assert (await agreed.read(contract_id))["payment_tx_id"] == made.json()["token_id"]
    await put_back(pair.a, backup)
    calls.loses = lambda _: "request"
    begun = await agreed.at_home("approve-completion", contract_id)
    assert begun.json()["payment_tx_id"] != made.json()["token_id"], begun.text
    await compare(pair.a, anew=True)
    calls.loses = lambda _: None
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
    ended = await agreed.read(contract_id)
    assert (ended["status"], ended["payment_tx_id"]) == ("COMPLETED", made.json()["token_id"])
    assert [line["act"] for line in ended["history"]].count("overpaid") == 0
    assert tuple(Decimal(one) for one in await agreed.balances()) == (Decimal(90), Decimal("109.95"))


class DisputedAfterRestore:
    """A contract that was paid, of which the contractor's registry knows nothing since a restore, and a dispute about it that was dismissed.

    The payment came to light during the dispute.
    """

    def __init__(self, agreed: AgreementAbroad, calls: LostCalls) -> None:
        self.agreed, self.calls = agreed, calls
        self.number = 0
        self.tokens: list[dict[str, Any]] = []

    async def begin(self, *, paid_with_token: bool) -> "DisputedAfterRestore":
        agreed, home = self.agreed, self.agreed.pair.a
        self.number = await agreed.submitted()
        self.tokens = [await self._authorized(), await self._authorized()]
        await settle(home, agreed.pair.b)
        backup = await backed_up(home)
        with_token = {"payment_token": self.tokens[0]["token"]} if paid_with_token else {}
        paid = await agreed.at_home("approve-completion", self.number, **with_token)
        await settle(home, agreed.pair.b)
        assert (await agreed.read(self.number))["status"] == "COMPLETED", paid.text
        self.paid_by = paid.json()["payment_tx_id"]
        await compare(home)
        await put_back(home, backup)
        filed = await self._file()
        await compare(home, anew=True)
        await settle(home, agreed.pair.b)
        disputed = await agreed.read(self.number)
        assert (disputed["status"], disputed["history"][-1]["act"]) == ("DISPUTED", "overpaid")
        await nobody_rules(home, filed)
        return self

    async def _authorized(self) -> dict[str, Any]:
        agreed = self.agreed
        body = {"target_agent_did": agreed.provider.did, "amount": "10", "contract_id": self.number}
        made = await agreed.pair.a.registry.post(
            "/a2a-payment/authorize", json=body, headers=agreed.contractor.headers
        )
        assert made.status_code in {200, 201}, made.text
        token: dict[str, Any] = made.json()
        return token

    async def _file(self) -> int:
        agreed = self.agreed
        body = {
            "defendant_did": agreed.provider.did,
            "contract_id": self.number,
            "reason_code": "OTHER",
            "description": "It is late.",
        }
        filed = await agreed.pair.a.registry.post("/disputes/", json=body, headers=agreed.contractor.headers)
        assert filed.status_code == 201, filed.text
        number: int = filed.json()["id"]
        return number


@pytest.mark.parametrize(("first", "then"), [("token", "transfer"), ("transfer", "token")])
async def test_a_part_that_a_known_surplus_pays_is_approved_by_it_whatever_paid_and_whatever_would_pay(
    pair: Neighbours, calls: LostCalls, first: str, then: str
):
    agreed = await AgreementAbroad.between(pair)
    scene = await DisputedAfterRestore(agreed, calls).begin(paid_with_token=first == "token")
    with_token = {"payment_token": scene.tokens[1]["token"]} if then == "token" else {}
    async with quiet_after(pair):
        approved = await agreed.at_home("approve-completion", scene.number, **with_token)
        await settle(pair.a, pair.b)
    assert approved.status_code == 200, approved.text
    assert approved.json()["payment_tx_id"] == scene.paid_by
    assert await surplus_of(pair, scene.number) == 0
    # The deposit of the dismissed dispute is lost.
    assert tuple(Decimal(one) for one in await agreed.balances()) == (Decimal("89.9"), Decimal("109.95"))


async def test_a_token_that_was_forgotten_and_named_no_contract_pays_the_part_for_which_it_was_settled(
    pair: Neighbours,
):
    agreed = await AgreementAbroad.between(pair)
    number = await agreed.submitted()
    await settle(pair.a, pair.b)
    backup = await backed_up(pair.a)
    body = {"target_agent_did": agreed.provider.did, "amount": "10"}
    made = await pair.a.registry.post("/a2a-payment/authorize", json=body, headers=agreed.contractor.headers)
    paid = await agreed.at_home("approve-completion", number, payment_token=made.json()["token"])
    assert paid.json()["payment_tx_id"] == made.json()["token_id"], paid.text
    await settle(pair.a, pair.b)
    await compare(pair.a)
    await put_back(pair.a, backup)
    await compare(pair.a, anew=True)
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
    approved = await agreed.read(number)
    assert (approved["status"], approved["payment_tx_id"]) == ("COMPLETED", made.json()["token_id"])
    assert tuple(Decimal(one) for one in await agreed.balances()) == (Decimal(90), Decimal("109.95"))


async def test_a_token_that_paid_a_milestone_before_a_restore_does_not_pay_the_next_one(pair: Neighbours):
    contract = await InParts.accepted(await AgreementAbroad.between(pair))
    agreed, home = contract.agreed, pair.a
    await contract.submit(0)
    body = {"target_agent_did": agreed.provider.did, "amount": "4", "contract_id": contract.number}
    made = await home.registry.post("/a2a-payment/authorize", json=body, headers=agreed.contractor.headers)
    await settle(home, pair.b)
    backup = await backed_up(home)
    paid = await agreed.at_home("approve-completion", contract.number, payment_token=made.json()["token"])
    assert paid.json()["payment_tx_id"] == made.json()["token_id"], paid.text
    await settle(home, pair.b)
    assert (await agreed.read(contract.number))["amount_paid"] == "4"
    await compare(home)
    await put_back(home, backup)
    # As if another transfer had paid it since.
    otherwise = "UPDATE commerce_contract_milestone SET state = 'approved', payment_tx_id = 1 WHERE contract_id = $1 AND index = 0"
    await run(home, otherwise, contract.number)
    await run(
        home,
        "UPDATE commerce_contract SET status = 'ACCEPTED', amount_paid = 4 * 10 ^ 8 WHERE id = $1",
        contract.number,
    )
    await contract.submit(1)
    await compare(home, anew=True)
    await settle(home, pair.b)
    found = await agreed.read(contract.number)
    assert (found["status"], found["amount_paid"]) == ("SUBMITTED", "4")
    assert [one["state"] for one in found["milestones"]] == ["approved", "submitted"]
    (overpaid,) = [line for line in found["history"] if line["act"] == "overpaid"]
    assert (overpaid["note"], overpaid["milestone"]) == (made.json()["token_id"], 0)
