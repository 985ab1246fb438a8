"""Bonds as the specification has them: deposited, released after maturity, slashed by rulings, required of providers."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.notified import notified_of, subscribe
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import in_days, refused
from tests.rooms.reputation.bonded import DAY, Bonded, open_bonded

MEMBERS = {"agent_did", "state", "amount", "minimum", "matures_at", "releasable_at", "blockers"}


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Bonded]:
    async with open_bonded(database_farm, tmp_path_factory.mktemp("bonds")) as bonded:
        yield bonded


@pytest.fixture
async def bonds(open_here: Bonded) -> AsyncIterator[Bonded]:
    """No unit is made or lost, no bond without its hold, and no card that says otherwise."""
    yield open_here
    await open_here.prove()


@pytest.fixture
async def bob(bonds: Bonded) -> TestAgent:
    """An agent who holds 1000 units."""
    return await bonds.agreements.contractor()


async def funded(bonds: Bonded, provider: TestAgent) -> Any:
    """A proposal of version 2 for this provider."""
    alice = await bonds.agreements.contractor()
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    return alice, await bonds.agreements.propose(alice, provider, funded=True, **dates)


def between(timestamp: str, other: str) -> timedelta:
    return datetime.fromisoformat(timestamp) - datetime.fromisoformat(other)


def kinds(bond: Any) -> list[str]:
    return [blocker["kind"] for blocker in bond["blockers"]]


async def test_mode_minimum_maturity_and_currency_are_public(bonds: Bonded) -> None:
    answer = await bonds.registry.get("/reputation-bond/config")
    expected = {"mode": "enforce", "minimum": "100", "maturity_days": 14, "currency": "AVT"}
    assert (answer.status_code, answer.json()) == (200, expected)


async def test_an_agent_without_a_bond_has_the_state_none(bonds: Bonded, bob: TestAgent) -> None:
    assert await bonds.status(bob) == {
        "agent_did": bob.did,
        "state": "none",
        "amount": "0",
        "minimum": "100",
        "matures_at": None,
        "releasable_at": None,
        "blockers": [],
    }


async def test_the_status_of_an_unknown_agent_is_a_404(bonds: Bonded) -> None:
    answer = await bonds.registry.get("/agents/did:hansa:hansa.local:nobody/reputation-bond/status")
    assert refused(answer) == (404, "AGENT_UNKNOWN")


async def test_a_deposit_makes_the_bond_active_and_holds_its_units_without_a_fee(
    bonds: Bonded, bob: TestAgent
) -> None:
    made = await bonds.act(bob, "deposit", amount="150")
    assert set(made) == MEMBERS
    assert (made["state"], made["amount"], kinds(made)) == ("active", "150", ["maturity"])
    assert await bonds.agreements.balances(bob) == ("850", "150")
    assert await bonds.status(bob) == made


async def test_a_further_deposit_adds_to_the_bond_and_matures_anew(bonds: Bonded, bob: TestAgent) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.elapse(bob, 10 * DAY)
    before = await bonds.status(bob)
    after = await bonds.act(bob, "deposit", amount="0.5")
    assert (after["state"], after["amount"]) == ("active", "100.5")
    assert between(after["matures_at"], before["matures_at"]) > 9 * DAY
    assert await bonds.agreements.balances(bob) == ("899.5", "100.5")


async def test_a_deposit_below_the_minimum_is_refused(bonds: Bonded, bob: TestAgent) -> None:
    answer = await bonds.post(bob, "deposit", amount="99.99999999")
    assert refused(answer) == (422, "BOND_BELOW_MINIMUM")
    assert (await bonds.status(bob))["state"] == "none"


@pytest.mark.parametrize("amount", ["0", "-1", "1e3", "0.000000001", 100, None])
async def test_a_deposit_of_no_amount_is_refused(bonds: Bonded, bob: TestAgent, amount: Any) -> None:
    assert (await bonds.post(bob, "deposit", amount=amount)).status_code == 422


async def test_a_deposit_that_the_balance_does_not_cover_is_refused(bonds: Bonded, bob: TestAgent) -> None:
    first = await bonds.post(bob, "deposit", amount="1001")
    assert refused(first) == (402, "INSUFFICIENT_BALANCE")
    await bonds.act(bob, "deposit", amount="600")
    further = await bonds.post(bob, "deposit", amount="400.5")
    assert refused(further) == (402, "INSUFFICIENT_BALANCE")
    assert further.json()["error"]["context"] == {"available": "400", "required": "400.5"}
    assert (await bonds.status(bob))["amount"] == "600"


async def test_a_repeated_deposit_deposits_once(bonds: Bonded, bob: TestAgent) -> None:
    first = await bonds.post(bob, "deposit", key="once", amount="100")
    again = await bonds.post(bob, "deposit", key="once", amount="100")
    assert again.json() == first.json()
    assert await bonds.agreements.balances(bob) == ("900", "100")


@pytest.mark.parametrize("act", ["deposit", "release", "unlock"])
async def test_nobody_acts_on_the_bond_of_another(bonds: Bonded, bob: TestAgent, act: str) -> None:
    mallory = await bonds.agreements.contractor()
    answer = await bonds.post(mallory, act, of=bob.did, amount="100")
    assert refused(answer) == (403, "BOND_OF_ANOTHER")


async def test_a_bond_is_released_after_maturity(bonds: Bonded, bob: TestAgent) -> None:
    deposited = await bonds.act(bob, "deposit", amount="100")
    releasing = await bonds.act(bob, "release")
    assert (releasing["state"], releasing["releasable_at"]) == ("releasing", deposited["matures_at"])
    assert refused(await bonds.post(bob, "unlock")) == (409, "BOND_BLOCKED")
    await bonds.elapse(bob, 14 * DAY)
    released = await bonds.act(bob, "unlock")
    assert (released["state"], released["amount"], released["blockers"]) == ("released", "0", [])
    assert await bonds.agreements.balances(bob) == ("1000", "0")


async def test_a_mature_bond_is_still_held_as_long_as_a_dispute_may_be_filed(
    bonds: Bonded, bob: TestAgent
) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.elapse(bob, 30 * DAY)
    assert kinds(await bonds.act(bob, "release")) == ["maturity"]
    await bonds.elapse(bob, 2 * DAY)
    assert refused(await bonds.post(bob, "unlock")) == (409, "BOND_BLOCKED")
    await bonds.elapse(bob, 1 * DAY)
    assert (await bonds.act(bob, "unlock"))["state"] == "released"


async def test_a_deposit_makes_a_releasing_and_a_released_bond_active_again(
    bonds: Bonded, bob: TestAgent
) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.act(bob, "release")
    again = await bonds.act(bob, "deposit", amount="1")
    assert (again["state"], again["amount"], again["releasable_at"]) == ("active", "101", None)
    await bonds.act(bob, "release")
    await bonds.elapse(bob, 15 * DAY)
    await bonds.act(bob, "unlock")
    assert (await bonds.act(bob, "deposit", amount="100"))["state"] == "active"


@pytest.mark.parametrize(
    ("acts", "act"),
    [
        ((), "release"),
        ((), "unlock"),
        (("deposit",), "unlock"),
        (("deposit", "release"), "release"),
    ],
)
async def test_an_act_out_of_turn_is_refused(
    bonds: Bonded, bob: TestAgent, acts: tuple[str, ...], act: str
) -> None:
    for before in acts:
        await bonds.act(bob, before, **({"amount": "100"} if before == "deposit" else {}))
    was = await bonds.status(bob)
    assert refused(await bonds.post(bob, act)) == (409, "BOND_WRONG_STATE")
    assert await bonds.status(bob) == was


async def test_an_open_contract_blocks_the_release_of_either_party(bonds: Bonded, bob: TestAgent) -> None:
    await bonds.act(bob, "deposit", amount="100")
    alice, made = await funded(bonds, bob)
    await bonds.act(alice, "deposit", amount="100")
    await bonds.agreements.act(bob, made, "accept")
    for party in (alice, bob):
        answer = await bonds.post(party, "release")
        assert refused(answer) == (409, "BOND_BLOCKED")
        assert answer.json()["error"]["context"] == {"blockers": ["open_contract"]}
        assert kinds(await bonds.status(party)) == ["maturity", "open_contract"]
    await bonds.agreements.act(alice, made, "mark-failed")
    assert (await bonds.act(bob, "release"))["state"] == "releasing"


async def test_a_contract_that_is_accepted_while_releasing_blocks_the_unlock(
    bonds: Bonded, bob: TestAgent
) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.act(bob, "release")
    alice = await bonds.agreements.contractor()
    made = await bonds.agreements.accepted(alice, bob)
    await bonds.elapse(bob, 15 * DAY)
    answer = await bonds.post(bob, "unlock")
    assert answer.json()["error"]["context"] == {"blockers": ["open_contract"]}
    await bonds.agreements.act(alice, made, "mark-failed")
    assert (await bonds.act(bob, "unlock"))["state"] == "released"


# Rulings


async def test_a_slash_that_leaves_the_minimum_leaves_the_bond_active(bonds: Bonded, bob: TestAgent) -> None:
    await bonds.act(bob, "deposit", amount="150")
    slashed = await bonds.slash(bob, "50", f"{bob.did} 1")
    assert slashed.amount == 50 * 10**8
    after = await bonds.status(bob)
    assert (after["state"], after["amount"]) == ("active", "100")
    assert await bonds.agreements.balances(bob) == ("850", "100")


async def test_below_the_minimum_the_bond_is_slashed_until_a_deposit_reaches_it(
    bonds: Bonded, bob: TestAgent
) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.slash(bob, "30", f"{bob.did} 1")
    assert (await bonds.status(bob))["state"] == "slashed"
    assert refused(await bonds.post(bob, "deposit", amount="29")) == (422, "BOND_BELOW_MINIMUM")
    after = await bonds.act(bob, "deposit", amount="30")
    assert (after["state"], after["amount"]) == ("active", "100")
    await bonds.slash(bob, "30", f"{bob.did} 2")
    assert (await bonds.act(bob, "release"))["state"] == "releasing"


async def test_a_slash_takes_at_most_the_bond_and_destroys_it(bonds: Bonded, bob: TestAgent) -> None:
    before = await bonds.registry.supply()
    await bonds.act(bob, "deposit", amount="100")
    slashed = await bonds.slash(bob, "250", f"{bob.did} 1")
    assert slashed.amount == 100 * 10**8
    after = await bonds.status(bob)
    assert (after["state"], after["amount"], after["blockers"]) == ("slashed", "0", [])
    supply = await bonds.registry.supply()
    assert supply["delta"] == "0"
    assert float(supply["tokens_destroyed"]) - float(before["tokens_destroyed"]) == 100
    again = await bonds.slash(bob, "1", f"{bob.did} 2")
    assert (again.amount, again.tx_id) == (0, None)


async def test_a_bond_that_is_being_released_can_still_be_slashed(bonds: Bonded, bob: TestAgent) -> None:
    await bonds.act(bob, "deposit", amount="100")
    await bonds.act(bob, "release")
    await bonds.slash(bob, "40", f"{bob.did} 1")
    assert ((left := await bonds.status(bob))["state"], left["amount"]) == ("releasing", "60")
    await bonds.elapse(bob, 15 * DAY)
    await bonds.act(bob, "unlock")
    assert await bonds.agreements.balances(bob) == ("960", "0")


# What a bond is good for


async def test_under_enforce_an_unbonded_provider_is_refused_at_accept_of_version_2_alone(
    bonds: Bonded, bob: TestAgent
) -> None:
    alice, made = await funded(bonds, bob)
    refusal = await bonds.agreements.post(bob, f"/{made['id']}/accept")
    assert refused(refusal) == (403, "BOND_REQUIRED")
    assert (await bonds.agreements.read(alice, made))["status"] == "PROPOSED"
    plain = await bonds.agreements.accepted(alice, bob)
    assert (plain["version"], plain["status"]) == (1, "ACCEPTED")
    await bonds.act(bob, "deposit", amount="100")
    assert (await bonds.agreements.act(bob, made, "accept"))["status"] == "ACCEPTED"


async def test_under_enforce_discovery_and_the_page_show_an_agent_once_it_is_bonded(
    bonds: Bonded, bob: TestAgent
) -> None:
    async def found() -> list[str]:
        await bonds.registry.indexed()
        query = {"q": bob.did, "include_unbonded": "true"}
        answer = await bonds.registry.get("/agent-cards/discover", params=query)
        return [one["did"] for one in answer.json()["results"]]

    assert bob.did not in await found()
    await bonds.act(bob, "deposit", amount="100")
    assert bob.did in await found()
    page = await bonds.registry.http.get(f"/agents/{bob.did}")
    assert "<dt>Bond</dt><dd>100 AVT, active</dd>" in page.text


async def test_events_and_the_card_state_each_move(bonds: Bonded, bob: TestAgent) -> None:
    await bonds.act(bob, "deposit", amount="150")
    await bonds.slash(bob, "50", f"{bob.did} 1")
    answer = await bonds.registry.get(f"/agents/{bob.did}/card-export")
    (extension,) = [one for one in answer.json()["extensions"] if one["uri"].endswith("/reputation/bond")]
    assert extension["uri"] == "https://hansa.dev/extensions/v1/reputation/bond"
    assert extension["params"] == {"state": "active", "bonded": True, "amount": "100", "currency": "AVT"}
    await bonds.act(bob, "release")
    await bonds.elapse(bob, 15 * DAY)
    await bonds.act(bob, "unlock")
    listed = await bonds.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT event_type FROM journal_event WHERE aggregate_id = $1 AND event_type LIKE 'Bond%' ORDER BY seq",
            bob.did,
        )
    )
    kinds = ["BondDeposited", "BondSlashed", "BondReleaseStarted", "BondReleased"]
    assert [row["event_type"] for row in listed] == kinds
    answer = await bonds.registry.get(f"/agents/{bob.did}/card-export")
    assert "extensions" not in answer.json()


async def test_the_owner_is_notified_of_every_move_of_a_bond(bonds: Bonded, bob: TestAgent) -> None:
    await subscribe(
        bonds.agreements.purses.developer, "bond.deposited", "bond.releasing", "bond.slashed", "bond.released"
    )
    await bonds.act(bob, "deposit", amount="150")
    await bonds.slash(bob, "50", f"{bob.did} 1")
    await bonds.act(bob, "release")
    await bonds.elapse(bob, 15 * DAY)
    await bonds.act(bob, "unlock")
    notified = dict(await notified_of(bonds.registry, bob.did))
    assert sorted(notified) == ["bond.deposited", "bond.released", "bond.releasing", "bond.slashed"]
    assert {data["did"] for data in notified.values()} == {bob.did}
    assert (notified["bond.deposited"]["amount"], notified["bond.slashed"]["amount"]) == ("150", "50")
    assert (notified["bond.slashed"]["left"], notified["bond.released"]["amount"]) == ("100", "100")
