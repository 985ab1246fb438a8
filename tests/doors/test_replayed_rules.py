"""Replays with other rules: contracts without a bond, deposits below the minimum, transfers to a suspended peer, and all that follows from them."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from hansa.doors.replay import ReplayRefused, Report
from hansa.foundation.values.errors import Gone, Invalid
from hansa.foundation.values.money import units
from hansa.rooms import ledger
from tests.hostile.credentials import peer_of
from tests.recorded.conversation import hold_conversation, registry_to_record
from tests.registry import DatabaseFarm, TestRegistry
from tests.replaying import Replays, scratch_template
from tests.rooms.commerce.agreements import in_days
from tests.rooms.reputation.bonded import Bonded, open_bonded
from tests.unknown_paths import unknown_paths

PEER = "peer.example"


@pytest.fixture
async def bonds(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Bonded]:
    async with open_bonded(database_farm, tmp_path, bond_mode="observe") as bonded:
        yield bonded


@pytest.fixture
async def replays(database_farm: DatabaseFarm, registry: TestRegistry) -> AsyncIterator[Replays]:
    async with scratch_template(database_farm, registry.settings) as replays:
        yield replays


def refused(report: Report) -> list[tuple[str, str]]:
    """The type and the reason of each refused act; one that follows another names no number."""
    return [
        (one.movement.tx_type, one.reason if one.follows is None else "follows") for one in report.refused
    ]


def require_no_difference(report: Report) -> None:
    assert {line.difference for line in report.lines} == {0}
    assert (report.kept_fees, list(report.refused)) == (0, [])


async def test_an_enforced_bond_refuses_contracts_of_providers_without_one_and_what_follows(
    bonds: Bonded, replays: Replays
):
    alice, bob, carol = (
        await bonds.agreements.contractor(),
        await bonds.agreements.provider(),
        await bonds.agreements.contractor(),
    )
    await bonds.act(carol, "deposit", amount="100")
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    for provider in (bob, carol):
        contract = await bonds.agreements.submitted(alice, provider, funded=True, **dates)
        await bonds.agreements.act(alice, contract, "approve-completion")
    require_no_difference(await replays.of(bonds.registry))
    report = await replays.of(bonds.registry, bond_mode="enforce")
    assert refused(report) == [("hold", "the provider has no active bond"), ("capture", "follows")]
    differences = {line.account: line.difference for line in report.lines}
    assert differences[carol.did] == 0
    assert differences[bob.did] < 0 < differences[alice.did]
    assert report.difference == 0


async def test_a_larger_minimum_refuses_deposits_below_it_with_their_slash_and_release(
    bonds: Bonded, replays: Replays
):
    alice, bob = await bonds.agreements.contractor(), await bonds.agreements.contractor()
    await bonds.act(alice, "deposit", amount="100")
    await bonds.act(alice, "deposit", amount="80")
    await bonds.act(bob, "deposit", amount="150")
    await bonds.slash(alice, "30", "dispute:1")
    await bonds.slash(bob, "30", "dispute:2")
    require_no_difference(await replays.of(bonds.registry))
    report = await replays.of(bonds.registry, bond_minimum="150")
    reasons = [reason for _, reason in refused(report)]
    assert [kind for kind, _ in refused(report)] == ["hold", "release", "hold", "destroy"]
    assert reasons[0].startswith("A bond is at least 150")
    assert reasons[3] == "follows"
    # The slash of the second deposit destroys nothing: the sum of the differences says so.
    assert report.difference == -report.destroyed == units(30)
    assert not (await replays.of(bonds.registry, bond_minimum="50")).refused


async def test_bonds_need_the_journal_from_its_beginning(bonds: Bonded, replays: Replays):
    await bonds.agreements.contractor()
    await bonds.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO journal_archive SELECT '2020-01-01', 1, 1, 1, 1, 1, 1, sha256('x'), 'kid', now(), now(),"
            " 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}'"
        )
    )
    with pytest.raises(Gone):
        await replays.of(bonds.registry)
    with pytest.raises(ReplayRefused):
        await replays.of(bonds.registry, 2, bond_mode="enforce")


async def test_an_enforced_trust_refuses_transfers_with_a_peer_once_its_score_suspends_it(
    registry: TestRegistry, replays: Replays
):
    await peer_of(registry, PEER)
    alice, book = await registry.agent(), ledger.Book.of(registry.settings)

    async def send(*, returns: bool = False) -> None:
        transfer_id = uuid4()
        reserve = ledger.ReserveOut(PEER, transfer_id, alice.did, units(10))
        end = (ledger.AbortOut if returns else ledger.CommitOut)(PEER, transfer_id)
        for step in (reserve, end):
            await registry.database.transaction(
                lambda tx, step=step: ledger.apply(tx, [step.order(book)], book)
            )

    await send()
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO federation_peer_signal (peer_id, kind, mark)"
            " SELECT id, 'dispute_lost', n::text FROM federation_peer, generate_series(1, 12) n"
        )
    )
    await send()
    await send(returns=True)
    require_no_difference(await replays.of(registry))
    assert not (await replays.of(registry, peer_trust_suspend_below="0.2")).refused
    report = await replays.of(registry, peer_trust_mode="enforce")
    suspended = f"the peer {PEER} is suspended by its trust score"
    assert refused(report) == [("out", suspended), ("out", suspended), ("return", "follows")]
    assert {line.account: line.difference for line in report.lines}[alice.did] == units(10)
    assert report.difference == 0
    lenient = await replays.of(
        registry, peer_trust_mode="enforce", peer_trust_suspend_below="0", peer_trust_min_interactions=1
    )
    assert not lenient.refused
    assert not (await replays.of(registry, peer_trust_mode="enforce", peer_trust_min_interactions=13)).refused


async def test_values_that_do_not_fit_together_are_refused(registry: TestRegistry, replays: Replays):
    await registry.agent()
    with pytest.raises(Invalid, match="do not fit together"):
        await replays.of(registry, peer_trust_suspend_below="0.9")


async def test_the_recorded_conversation_is_replayed_without_a_difference(
    database_farm: DatabaseFarm, tmp_path: Path, replays: Replays
):
    async with registry_to_record(await database_farm.fresh(), tmp_path) as registry:
        with unknown_paths():
            await hold_conversation(registry)
        report = await replays.of(registry)
        assert {"transfer", "stake", "unstake", "reward"} <= {*report.computed, *report.kept}
        require_no_difference(report)
        assert (await replays.of(registry, fee_base_rate_percent="0")).difference == 0
