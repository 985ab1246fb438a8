"""Contracts, payment tokens, disputes and suspensions between two operator registries of one frame."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.jobs import PutOff
from hansa.foundation.plumbing.outgoing import HostUnreachable
from hansa.rooms import federation
from hansa.rooms.commerce.contracts import CONTRACT_STATEMENTS
from hansa.rooms.federation import operators
from hansa.rooms.federation.operators.frames import read_roster
from hansa.rooms.federation.peers.acts import quarantine_peer, release_peer, remove_peer
from hansa.rooms.federation.peers.uncertified import REASON, UNKNOWN
from tests.conversations.test_slash_settlements import Court, awards
from tests.neighbours.agreeing_scene import WORK, AgreementAbroad
from tests.neighbours.crossing_scene import LostCalls, across, refusal, run, settle
from tests.neighbours.one_frame import FRAME, agent_of, enrol, frame_with_operators
from tests.neighbours.parts_across import PARTS_ACROSS, Rule
from tests.neighbours.paying_scene import Abroad, resumed
from tests.neighbours.reading_peers import administer, card_at, read
from tests.neighbours.test_enforcement_across import act_and_step, receipts
from tests.neighbours.two_registries import Neighbour, Neighbours
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due

NORTH, SOUTH = f"{FRAME}/registry/north", f"{FRAME}/registry/south"
MAINFRAME: dict[str, object] = {
    "is_central_registry": True,
    "sovereign_mainframes": [FRAME],
    "genesis_grant_amount": "1000",
}
ENFORCING: dict[str, object] = {"enforcement_propagation_mode": "enforce"}


@dataclass(frozen=True)
class Trade:
    """The frame and two operators, and the agents that trade."""

    frame: Neighbour
    pair: Neighbours
    court: Court
    bank: TestAgent
    """An agent of north that has what agents of north spend."""

    async def payer(self) -> TestAgent:
        """An agent of north with 20 units."""
        payer = await agent_of(self.pair.a)
        answer = await self.bank.transfer(payer, "20")
        assert answer.status_code == 200, answer.text
        return payer

    async def agreement(self) -> AgreementAbroad:
        """A contractor of north and a provider of south that never met."""
        return AgreementAbroad(self.pair, await self.payer(), await agent_of(self.pair.b))

    async def quiet(self) -> None:
        await settle(self.frame, self.pair.a, self.pair.b)
        for one in (self.frame, self.pair.a, self.pair.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


@pytest.fixture(scope="module")
async def trade(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Trade]:
    directory = tmp_path_factory.mktemp("trade")
    operators = frame_with_operators(
        database_farm, directory, "north", "south", frame=MAINFRAME, each=ENFORCING
    )
    async with operators as one:
        north, south = one.operators
        areas = "admin_enforcement"
        administrators = [await at.registry.administrator(areas) for at in (north, south)]
        pair = Neighbours(north, south)
        bank = await agent_of(north)
        assert (await across(await one.frame.registry.agent(), bank.did, "900")).status_code == 200
        await settle(one.frame, north, rounds=1)
        trade = Trade(one.frame, pair, Court(pair, *administrators), bank)
        yield trade
        await trade.quiet()
        for neighbour in one.all:
            await federation.PEER_CALLS.of(neighbour.registry.runtime).close()


async def away(*_: Any, **__: Any) -> Any:
    """The frame does not answer."""
    raise HostUnreachable


async def test_a_contract_between_two_operators_is_agreed_paid_and_in_the_providers_own_list(trade: Trade):
    agreed = await trade.agreement()
    proposed = await agreed.propose()
    assert proposed.status_code == 201, proposed.text
    contract_id = proposed.json()["id"]
    registries = {"contractor_registry": NORTH, "provider_registry": SOUTH}
    assert registries.items() <= proposed.json().items()
    assert await run_due(trade.pair.a.registry.runtime, CONTRACT_STATEMENTS) == 1
    listed = await trade.pair.b.registry.get("/contracts", headers=agreed.provider.headers)
    (copy,) = listed.json()["items"]
    assert {"id": contract_id, "status": "PROPOSED", **registries}.items() <= copy.items()
    for act, body in (("accept-federated", {}), ("submit-federated", {"deliverable": WORK})):
        answer = await agreed.abroad(act, contract_id, **body)
        assert answer.status_code == 200, answer.text
        assert registries.items() <= answer.json().items()
    approved = await agreed.at_home("approve-completion", contract_id)
    assert (approved.status_code, approved.json()["status"]) == (200, "COMPLETED"), approved.text
    assert registries.items() <= (await agreed.read(contract_id)).items()
    assert registries.items() <= (await agreed.read_abroad(contract_id)).json().items()
    await settle(trade.pair.a, trade.pair.b)
    assert await agreed.balances() == ("10", "9.95")


@PARTS_ACROSS
async def test_of_milestones_between_operators(trade: Trade, calls: LostCalls, rule: Rule):
    await rule(await trade.agreement(), calls)


async def test_an_open_proposal_that_an_agent_of_another_operator_accepts_names_its_registry(trade: Trade):
    agreed = await trade.agreement()
    contract_id = await agreed.proposed(provider_did=None)
    assert (await agreed.read(contract_id))["provider_registry"] is None
    accepted = await agreed.abroad("accept-federated", contract_id)
    assert accepted.status_code == 200, accepted.text
    assert accepted.json()["provider_registry"] == SOUTH
    own = await agent_of(trade.pair.a)
    at_home = await agreed.propose(provider_did=own.did)
    assert at_home.json()["provider_registry"] == NORTH


async def test_a_provider_that_nobody_claimed_is_unknown_and_without_the_frame_the_proposal_waits(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
):
    agreed = await trade.agreement()
    nobody = f"did:hansa:{FRAME}:{uuid4()}"
    assert await refusal(await agreed.propose(provider_did=nobody)) == (404, "PROVIDER_UNKNOWN")
    with monkeypatch.context() as patch:
        patch.setattr(federation.did_claims.operator_claims, "call_peer", away)
        assert await refusal(await agreed.propose()) == (503, "FRAME_SILENT")
    assert (await agreed.propose()).status_code == 201


async def test_a_payment_token_for_a_payee_at_another_operator_is_settled_by_a_crossing(trade: Trade):
    paying = Abroad(trade.pair.a.registry, await trade.payer(), await agent_of(trade.pair.b))
    token = await paying.authorized("10")
    seen = await paying.of_service(token["token"], paying.service)
    assert seen["valid"], seen
    settled = await paying.settle(token["token"], wait=10)
    assert (settled.status_code, settled.json()["status"]) == (200, "settled"), settled.text
    await settle(trade.pair.a, trade.pair.b)
    assert (await paying.caller.balance(), await paying.service.balance()) == ("10", "9.95")


async def test_a_token_of_which_the_frame_does_not_say_where_its_payee_is_fails_in_time(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
):
    paying = Abroad(trade.pair.a.registry, await trade.payer(), await agent_of(trade.pair.b))
    token = await paying.authorized("10")
    with monkeypatch.context() as patch:
        patch.setattr(federation.did_claims.operator_claims, "call_peer", away)
        settled = await paying.settle(token["token"], wait=0)
        assert settled.json()["status"] == "settling", settled.text
        await resumed(paying)
        assert (await paying.listed(token["token_id"]))["status"] == "settling"
        late = "UPDATE commerce_payment_token SET settling_at = settling_at - interval '91 seconds' WHERE status = 'settling'"
        await run(trade.pair.a, late)
        await resumed(paying)
    ended = await paying.listed(token["token_id"])
    assert (ended["status"], ended["reason"]) == ("failed", "timeout")
    assert await paying.caller.balance() == "20"


async def test_a_slash_across_operators_is_destroyed_at_one_and_compensated_at_the_other(trade: Trade):
    alice, bob = await trade.payer(), await agent_of(trade.pair.b)
    assert (await across(alice, bob.did, "19")).status_code == 200
    await settle(trade.pair.a, trade.pair.b)
    lines = await alice.registry.get("/teg/transactions", headers=alice.headers)
    tx_id = lines.json()["items"][0]["transaction_id"]
    opened = await trade.court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await trade.court.what_is_due_happens()
    approved = await trade.court.decide(await trade.court.incoming(opened), "approve")
    assert approved.status_code == 200, approved.text
    await trade.court.what_is_due_happens(trade.pair.b)
    assert (await trade.court.outgoing(opened))["status"] == "SETTLED"
    assert (await alice.balance(), await bob.balance()) == ("13", "3.905")


async def test_a_dispute_names_an_agent_of_another_operator_that_was_never_met(trade: Trade):
    alice, bob = await trade.payer(), await agent_of(trade.pair.b)
    body = {"defendant_did": bob.did, "reason_code": "OTHER", "description": "It imitates me."}
    filed = await alice.registry.post("/disputes/", json=body, headers=alice.headers)
    assert filed.status_code == 201, filed.text
    nobody = {**body, "defendant_did": f"did:hansa:{FRAME}:{uuid4()}"}
    refused = await alice.registry.post("/disputes/", json=nobody, headers=alice.headers)
    assert await refusal(refused) == (404, "DEFENDANT_UNKNOWN")


async def test_a_complainant_of_another_operator_is_compensated_there(trade: Trade):
    agreed = await trade.agreement()
    contract_id = await agreed.submitted_after_payment()
    complaint = {"defendant_did": agreed.contractor.did, "reason_code": "OTHER", "description": "Not paid."}
    filed = await agreed.abroad("dispute-federated", contract_id, **complaint)
    assert filed.status_code == 201, filed.text
    ruled = await trade.court.rule(filed.json()["id"], slash="8", compensation="7")
    assert ruled.status_code == 200, ruled.text
    await trade.court.what_is_due_happens()
    awarded, owed = await awards(trade.court, filed.json()["id"])
    assert (awarded["status"], owed["status"]) == ("SETTLED", "SETTLED")
    assert await agreed.balances() == ("2", "16.95")


async def test_the_bridge_is_for_frames_and_an_operator_refuses_to_mint(trade: Trade):
    alice, bob = await trade.payer(), await agent_of(trade.pair.b)
    body = {"receiver_did": bob.did, "amount": "1"}
    at_operator = await alice.registry.post("/bridge/transfer", json=body, headers=alice.headers)
    assert await refusal(at_operator) == (503, "BRIDGE_FRAME_ONLY")
    carol = await trade.frame.registry.agent()
    at_frame = await carol.registry.post("/bridge/transfer", json=body, headers=carol.headers)
    assert (at_frame.status_code, at_frame.json()["state"]) == (200, "REFUNDED"), at_frame.text
    assert await carol.balance() == "1000"


async def test_units_of_one_frame_are_not_swapped(trade: Trade):
    alice, bob = await trade.payer(), await agent_of(trade.pair.b)
    quote = {"receiver_did": bob.did, "amount": "1"}
    answer = await alice.registry.post("/teg/fx/quote", json=quote, headers=alice.headers)
    assert await refusal(answer) == (404, "POOL_UNKNOWN")


async def test_a_suspension_at_one_operator_reaches_the_other_and_its_receipt_comes_back(trade: Trade):
    alice, bob = await trade.payer(), await agent_of(trade.pair.b, name="Suspended southerner")
    await read(trade.pair.a, trade.pair.b)
    await act_and_step(trade.pair, "suspend", bob.did)
    assert (await card_at(trade.pair.a, bob.did))["status"] == "suspended"
    found = {item["ledger_id"]: item["state"] for item in await receipts(trade.pair.b, bob.did)}
    assert found[NORTH] == "applied"
    assert await refusal(await across(alice, bob.did, "1")) == (403, "AGENT_BLOCKED")
    await administer(trade.pair.b, "reinstate", bob.did)


async def test_an_operator_that_the_frame_removed_is_refused_by_the_others_until_it_is_enrolled_anew(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
):
    north, south = trade.pair.a, trade.pair.b
    alice, bob = await trade.payer(), await agent_of(south)
    contract_id = await AgreementAbroad(trade.pair, alice, bob).proposed()
    frame = trade.frame.registry
    await read_roster(north.registry.runtime)
    assert (await north.peer(south)).is_open
    await frame.database.transaction(lambda tx: remove_peer(tx, None, frame.runtime, SOUTH))
    with monkeypatch.context() as patch:
        patch.setattr(operators.frames, "call_peer", away)
        with pytest.raises(PutOff):
            await read_roster(north.registry.runtime)
    assert (await north.peer(south)).is_open
    await read_roster(north.registry.runtime)
    peer = await north.peer(south)
    assert (peer.is_open, peer.quarantine_reason) == (False, REASON)
    assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_PAUSED")
    refused = await AgreementAbroad(trade.pair, alice, bob).abroad("accept-federated", contract_id)
    assert (refused.status_code, refused.json()["error"]["context"]["code"]) == (409, "PEER_CLOSED")
    await enrol(trade.frame, south)
    await read_roster(north.registry.runtime)
    assert (await north.peer(south)).is_open
    assert (await across(alice, bob.did, "1")).status_code == 200


async def test_a_quarantine_by_an_administrator_does_not_end_with_the_list_of_the_frame(trade: Trade):
    north, database = trade.pair.a, trade.pair.a.registry.database
    await database.transaction(lambda tx: quarantine_peer(tx, None, SOUTH, "It lies."))
    await read_roster(north.registry.runtime)
    assert (await north.peer(trade.pair.b)).quarantine_reason == "It lies."
    await database.transaction(lambda tx: release_peer(tx, None, SOUTH, "It does not."))


@pytest.mark.parametrize("is_removed", [False, True], ids=["certified", "removed"])
async def test_without_an_answer_of_the_frame_for_a_day_nothing_new_crosses_between_operators_until_it_answers(
    trade: Trade, monkeypatch: pytest.MonkeyPatch, is_removed: bool
):
    north, south, frame = trade.pair.a, trade.pair.b, trade.frame.registry
    alice, bob = await trade.payer(), await agent_of(south)
    await read_roster(north.registry.runtime)
    under_way = await across(alice, bob.did, "1", backend="async")
    assert under_way.status_code == 200, under_way.text
    if is_removed:
        # Without its frame a removed operator does not learn whose the sender is.
        await settle(north, south)
        await frame.database.transaction(lambda tx: remove_peer(tx, None, frame.runtime, SOUTH))
    with monkeypatch.context() as patch:
        patch.setattr(operators.frames, "call_peer", away)
        for hours, reason in ((23, None), (25, UNKNOWN)):
            aged = "UPDATE federation_peer SET roster_read_at = now() - $1 * interval '1 hour'"
            await run(north, aged, hours)
            with pytest.raises(PutOff):
                await read_roster(north.registry.runtime)
            assert (await north.peer(south)).quarantine_reason == reason
        assert (await north.peer(trade.frame)).is_open
        assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_PAUSED")
        # What was under way is decided.
        await settle(north, south)
        assert await bob.balance() == "0.995"
    await read_roster(north.registry.runtime)
    assert (await north.peer(south)).quarantine_reason == (REASON if is_removed else None)
    if is_removed:
        await enrol(trade.frame, south)
        await read_roster(north.registry.runtime)
    assert (await across(alice, bob.did, "1")).status_code == 200


async def test_a_quarantine_by_an_administrator_stays_while_the_frame_does_not_answer(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
):
    north, database = trade.pair.a, trade.pair.a.registry.database
    await database.transaction(lambda tx: quarantine_peer(tx, None, SOUTH, "It lies."))
    await run(north, "UPDATE federation_peer SET roster_read_at = now() - interval '2 days'")
    with monkeypatch.context() as patch:
        patch.setattr(operators.frames, "call_peer", away)
        with pytest.raises(PutOff):
            await read_roster(north.registry.runtime)
    assert (await north.peer(trade.pair.b)).quarantine_reason == "It lies."
    await database.transaction(lambda tx: release_peer(tx, None, SOUTH, "It does not."))
    await read_roster(north.registry.runtime)
