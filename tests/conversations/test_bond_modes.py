"""Effect of BOND_MODE at the accept of a contract and in discovery, for agents of this registry and for mirrored ones."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.plumbing.telemetry.metrics import unbonded_accepts_total
from hansa.rooms.catalogue import mirror_cards
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, card_of
from tests.rooms.commerce.agreements import in_days, refused
from tests.rooms.commerce.disputing import Disputing
from tests.rooms.reputation.bonded import DAY, Bonded, open_bonded

PEER = "north.example.org"
BOND = {
    "uri": "https://north.example.org/extensions/v1/reputation/bond",
    "params": {"state": "active", "bonded": True},
}


@pytest.fixture
async def bonds(
    request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path: Path
) -> AsyncIterator[Bonded]:
    """A registry in the mode that the test names."""
    async with open_bonded(database_farm, tmp_path, bond_mode=request.param) as bonded:
        yield bonded
        await bonded.prove()


async def accepted_by_unbonded(bonds: Bonded) -> int:
    alice, bob = await bonds.agreements.contractor(), await bonds.agreements.provider()
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    made = await bonds.agreements.propose(alice, bob, funded=True, **dates)
    return (await bonds.agreements.post(bob, f"/{made['id']}/accept")).status_code


async def found(
    bonds: Bonded, text: str, by: TestAgent | TestDeveloper | None = None, **query: Any
) -> set[str]:
    await bonds.registry.indexed()
    answer = await bonds.registry.get(
        "/agent-cards/discover", params={"q": text, **query}, headers=by.headers if by else {}
    )
    assert answer.status_code == 200, answer.text
    return {one["did"] for one in answer.json()["results"]}


async def counted() -> float:
    (sample,) = [
        one
        for family in unbonded_accepts_total.collect()
        for one in family.samples
        if one.name.endswith("_total")
    ]
    return sample.value


@pytest.mark.parametrize(
    ("bonds", "status", "count"),
    [("off", 200, 0), ("observe", 200, 1), ("enforce", 403, 1)],
    indirect=["bonds"],
)
async def test_an_unbonded_accept_is_not_looked_at_or_counted_or_refused(
    bonds: Bonded, status: int, count: int
) -> None:
    before = await counted()
    assert await accepted_by_unbonded(bonds) == status
    assert await counted() - before == count


@pytest.mark.parametrize(
    ("bonds", "is_shown"), [("off", True), ("observe", True), ("enforce", False)], indirect=["bonds"]
)
async def test_only_under_enforce_discovery_hides_the_unbonded(bonds: Bonded, is_shown: bool) -> None:
    bob = await bonds.agreements.provider()
    assert await found(bonds, bob.did) == ({bob.did} if is_shown else set())


@pytest.mark.parametrize("bonds", ["enforce"], indirect=True)
async def test_include_unbonded_is_for_administrators_and_ignored_for_everyone_else(bonds: Bonded) -> None:
    bob, owner = await bonds.agreements.provider(), bonds.agreements.owner_of_providers
    administrator = await bonds.registry.administrator("admin_support")
    for reader in (None, bob, owner):
        assert await found(bonds, bob.did, reader, include_unbonded=True) == set()
    assert await found(bonds, bob.did, administrator) == set()
    assert await found(bonds, bob.did, administrator, include_unbonded=True) == {bob.did}


@pytest.mark.parametrize("bonds", ["enforce"], indirect=True)
async def test_the_bond_of_a_mirrored_agent_is_what_its_card_states(bonds: Bonded) -> None:
    async def mirrored(number: int, version: int, *extensions: Any) -> str:
        did = f"did:hansa:{PEER}:00000000-0000-4000-8000-00000000000{number}"
        card = card_of(f"Mirror {number}", extensions=list(extensions))
        await bonds.registry.database.transaction(
            lambda tx: mirror_cards(
                tx,
                source_registry=PEER,
                trust_domain=PEER,
                settlement_currency="AVT",
                items=[{"did": did, "version": version, "card_data": card}],
            )
        )
        return did

    bonded, unbonded = await mirrored(1, 1, BOND), await mirrored(2, 1)
    assert await found(bonds, "Mirror") == {bonded}
    for version, state in enumerate(("releasing", "slashed"), start=2):
        await mirrored(1, version, {**BOND, "params": {"state": state, "bonded": False}})
        assert await found(bonds, "Mirror") == set()
    await mirrored(2, 2, BOND)
    assert await found(bonds, "Mirror") == {unbonded}


@pytest.mark.parametrize("bonds", ["observe"], indirect=True)
async def test_an_open_dispute_about_a_payment_keeps_its_own_amount_of_either_partys_bond(
    bonds: Bonded,
) -> None:
    disputing = Disputing(bonds.agreements, await bonds.registry.administrator("admin_enforcement"))
    alice, bob = await bonds.agreements.contractor(), await bonds.agreements.contractor()
    for agent in (alice, bob):
        await bonds.act(agent, "deposit", amount="100")
    paid = (await alice.transfer(bob, "10")).json()["transaction_id"]
    await disputing.file(alice, bob)
    assert (await bonds.status(bob))["blockers"][1:] == [], "a dispute without a subject blocks nothing"
    await bonds.act(bob, "release")
    filed = await disputing.in_voting(alice, bob, transaction_id=paid)
    await bonds.elapse(bob, 15 * DAY)
    assert [one["kind"] for one in (await bonds.status(bob))["blockers"]] == ["open_dispute"]
    unlocked = await bonds.act(bob, "unlock")
    assert (unlocked["state"], unlocked["amount"]) == ("releasing", "10")
    assert (await bonds.agreements.balances(bob))[1] == "10"
    assert refused(await bonds.post(bob, "unlock")) == (409, "BOND_BLOCKED")
    assert (await bonds.act(alice, "release"))["state"] == "releasing"
    await disputing.rule(filed, "DISMISSED")
    assert (await bonds.act(bob, "unlock"))["state"] == "released"


@pytest.mark.parametrize("bonds", ["observe"], indirect=True)
async def test_an_open_dispute_about_the_whole_bond_blocks_its_release_and_one_about_dust_blocks_nothing(
    bonds: Bonded,
) -> None:
    disputing = Disputing(bonds.agreements, await bonds.registry.administrator("admin_enforcement"))
    alice, bob = await bonds.agreements.contractor(), await bonds.agreements.contractor()
    for agent in (alice, bob):
        await bonds.act(agent, "deposit", amount="100")
    dust = (await alice.transfer(bob, "0.00000001")).json()["transaction_id"]
    await disputing.file(alice, bob, transaction_id=dust)
    assert [one["kind"] for one in (await bonds.status(bob))["blockers"]] == ["maturity"]
    paid = (await alice.transfer(bob, "100")).json()["transaction_id"]
    filed = await disputing.in_voting(alice, bob, transaction_id=paid)
    for agent in (alice, bob):
        assert refused(await bonds.post(agent, "release")) == (409, "BOND_BLOCKED")
    await disputing.rule(filed, "DISMISSED")
    assert (await bonds.act(bob, "release"))["state"] == "releasing"
