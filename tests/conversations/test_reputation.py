"""GET /agents/{did}/reputation, /track-record and /reputation/export as the specification has them."""

from collections.abc import AsyncIterator

import pytest

from hansa_verify import read_signal, scores_of
from tests.organizations import found
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestRegistry
from tests.rooms.commerce.agreements import proposal
from tests.rooms.reputation.rated import Rated, open_rated

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
async def rated(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Rated]:
    async with open_rated(database_farm, tmp_path_factory.mktemp("reputation")) as opened:
        yield opened


async def pair(rated: Rated):
    return await rated.registry.agent(name="Buyer"), await rated.registry.agent(name="Seller")


async def test_an_agent_without_a_job_is_unrated(rated: Rated):
    agent = await rated.registry.agent()
    found = await rated.reputation(agent.did)
    assert (found["score"], found["grade"], found["formula"]) == (0, "unrated", "hansa-reputation/2")
    assert await rated.track_record(agent.did) == {
        "agent_did": agent.did,
        "jobs_verified": 0,
        "jobs_foreign": 0,
        "volume": "0",
        "disputes_won": 0,
        "disputes_lost": 0,
        "contracts_completed": 0,
        "since": None,
        "mark": None,
    }


@pytest.mark.parametrize("route", ["reputation", "track-record"])
async def test_an_unknown_agent_is_404(rated: Rated, route: str):
    assert (await rated.registry.get(f"/agents/{NOBODY}/{route}")).status_code == 404


async def test_counts_and_marks_move_with_the_payment_and_the_score_with_the_epoch(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "50")
    await rated.follow()
    record = await rated.track_record(seller.did)
    assert (record["jobs_verified"], record["volume"], record["mark"]) == (1, "50", "Proven")
    page = (await rated.registry.http.get(f"/agents/{seller.did}")).text
    assert "<dt>Verified jobs</dt><dd>1</dd>" in page
    assert "<dt>Volume received</dt><dd>50 AVT</dd>" in page
    assert record["since"] is not None
    assert (await rated.reputation(seller.did))["score"] == 0
    epoch = await rated.compute()
    found = await rated.reputation(seller.did)
    assert found["epoch"] == epoch.isoformat()
    assert found["computed_at"] is not None
    assert found["score"] > 0
    assert found["grade"] == "initial"
    amounts = {part["name"]: part["amount"] for part in found["components"]}
    assert amounts.keys() == {"paid_work", "payments_made", "disputes_won", "disputes_lost"}
    assert 0.25 * 5 / 8 / 4 * 0.98 < float(amounts["paid_work"]) < 0.25 * 5 / 8 / 3.9
    assert (await rated.track_record(buyer.did))["jobs_verified"] == 0


async def test_one_job_of_a_counterpartys_owner_and_day_counts_toward_marks(rated: Rated):
    owner = await rated.registry.developer()
    first, second = await owner.agent(), await owner.agent()
    seller = await rated.registry.agent()
    await first.transfer(second, "20")
    for buyer in (first, first, second):
        await rated.pay_funded(buyer, seller, "5")
    await rated.pay_funded((await pair(rated))[0], seller, "5")
    await rated.follow()
    record = await rated.track_record(seller.did)
    assert (record["jobs_verified"], record["volume"]) == (2, "20")


async def test_a_job_whose_fee_is_below_the_minimum_counts_toward_no_mark(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "1")
    await rated.follow()
    record = await rated.track_record(seller.did)
    assert (record["jobs_verified"], record["mark"], record["volume"]) == (0, None, "1")


async def test_jobs_between_agents_of_one_owner_change_nothing(rated: Rated):
    owner = await rated.registry.developer()
    buyer, seller = await owner.agent(), await owner.agent()
    await rated.pay_funded(buyer, seller, "50")
    await rated.compute(days_later=2)
    record = await rated.track_record(seller.did)
    assert (record["jobs_verified"], record["volume"], record["since"]) == (0, "0", None)
    assert (await rated.reputation(seller.did))["score"] == 0


async def test_the_export_gives_every_score_to_the_digit(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "30")
    await rated.pay_funded(seller, buyer, "20")
    epoch = await rated.compute(days_later=3)
    exported = await rated.exported(limit=3)
    assert exported["epoch"] == epoch.isoformat()
    recomputed = scores_of(filter(None, map(read_signal, exported["events"])), epoch)
    claimed = {one["agent_did"]: one["score"] for one in exported["scores"]}
    assert claimed == {did: score.score for did, score in recomputed.items()}
    assert claimed[seller.did] > 0


async def test_searches_sort_by_the_score_and_cards_state_the_track_record(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "90")
    await rated.compute(days_later=4)
    await rated.registry.indexed()
    results = (await rated.read("/agent-cards/discover", sort="reputation", limit=120))["results"]
    ranked = [one["reputation"]["score"] for one in results]
    assert ranked == sorted(ranked, reverse=True)
    [found] = [one for one in results if one["did"] == seller.did]
    shown = await rated.reputation(seller.did)
    assert (found["reputation"]["score"], found["reputation"]["grade"]) == (shown["score"], shown["grade"])
    assert found["marks"]["earned"] == "Proven"
    card = await rated.read(f"/agents/{seller.did}/card-export")
    [extension] = [one for one in card["extensions"] if one["uri"].endswith("/reputation/track-record")]
    assert extension["uri"] == "https://hansa.dev/extensions/v1/reputation/track-record"
    assert (extension["params"]["jobs_verified"], extension["params"]["volume"]) == (1, "90")


async def test_a_ruling_against_the_defendant_moves_both_records_at_once_and_lowers_its_score(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "90")
    before = (await rated.compute(days_later=5), await rated.reputation(seller.did))[1]["score"]
    await rated.rule(buyer, seller, "IN_FAVOR_OF_COMPLAINANT")
    await rated.follow()
    lost, won = await rated.track_record(seller.did), await rated.track_record(buyer.did)
    assert (lost["disputes_won"], lost["disputes_lost"]) == (0, 1)
    assert (won["disputes_won"], won["disputes_lost"]) == (1, 0)
    epoch = await rated.compute(days_later=6)
    found = await rated.reputation(seller.did)
    assert found["score"] < before
    exported = await rated.exported()
    recomputed = scores_of(filter(None, map(read_signal, exported["events"])), epoch)
    assert recomputed[seller.did].score == found["score"]


async def test_a_dismissed_dispute_changes_nothing(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.rule(buyer, seller, "DISMISSED")
    await rated.follow()
    for did in (buyer.did, seller.did):
        record = await rated.track_record(did)
        assert (record["disputes_won"], record["disputes_lost"]) == (0, 0)


async def test_before_the_first_epoch_the_export_is_empty_and_no_time_is_stated(registry: TestRegistry):
    exported = (await registry.get("/reputation/export")).json()
    assert (exported["epoch"], exported["events"], exported["scores"]) == (None, [], [])
    agent = await registry.agent()
    found = (await registry.get(f"/agents/{agent.did}/reputation")).json()
    assert (found["epoch"], found["computed_at"]) == (None, None)


async def test_a_contract_paid_by_a_token_counts_once(rated: Rated):
    buyer, seller = await pair(rated)
    await rated.fund(buyer, "42")
    work = await rated.registry.post("/contracts", json=proposal(seller, amount="40"), headers=buyer.headers)
    path = f"/contracts/{work.json()['id']}"
    for act in ("accept", "submit"):
        done = await rated.registry.post(f"{path}/{act}", json={}, headers=seller.headers)
        assert done.status_code == 200, done.text
    made = await Payments(rated.registry, buyer, seller).authorized("40")
    body = {"payment_token": made["token"]}
    approved = await rated.registry.post(f"{path}/approve-completion", json=body, headers=buyer.headers)
    assert approved.status_code == 200, approved.text
    await rated.follow()
    record = await rated.track_record(seller.did)
    assert (record["jobs_verified"], record["volume"], record["contracts_completed"]) == (1, "40", 1)


async def test_units_earned_by_an_agent_of_an_organization_are_the_organization_s(rated: Rated):
    guild = await found(rated.registry)
    of_guild, own = await guild.born(), await guild.owner.agent()
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, of_guild, "10")
    # The developer who created the agent has none of them.
    await rated.pay(own, seller, "5")
    await rated.follow()
    assert (await rated.track_record(of_guild.did))["jobs_verified"] == 1
    assert (await rated.track_record(seller.did))["jobs_verified"] == 0
    await rated.pay(of_guild, seller, "5")
    await rated.follow()
    assert (await rated.track_record(seller.did))["jobs_verified"] == 1
    left = await rated.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT available FROM reputation_organization_funds WHERE organization_id = $1::text::uuid",
            guild.created["id"],
        )
    )
    assert 4 * 10**8 < left < 5 * 10**8


async def test_one_job_of_an_organization_counts_a_day(rated: Rated):
    guild, seller = await found(rated.registry), await rated.registry.agent()
    for _ in range(2):
        await rated.pay_funded(await guild.born(), seller, "10")
    await rated.follow()
    assert (await rated.track_record(seller.did))["jobs_verified"] == 1
