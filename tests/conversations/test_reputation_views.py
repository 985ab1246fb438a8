"""GET /reputation/{did}, trust-score, trust-graph, volume-profile and cross-frame as the specification has them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa_verify import decayed
from tests.registry import DatabaseFarm
from tests.rooms.reputation.rated import Rated, open_rated

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
VIEWS = ("", "/trust-score", "/trust-graph", "/volume-profile", "/cross-frame")


@pytest.fixture
async def rated(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Rated]:
    async with open_rated(database_farm, tmp_path_factory.mktemp("views")) as opened:
        yield opened


@pytest.mark.parametrize("view", VIEWS)
async def test_an_unknown_agent_is_404(rated: Rated, view: str):
    assert (await rated.registry.get(f"/reputation/{NOBODY}{view}")).status_code == 404


async def test_views_are_empty_before_the_first_epoch(rated: Rated):
    agent = await rated.registry.agent()
    trust = {"agent_did": agent.did, "global_trust": 0, "score": 0, "grade": "unrated", "epoch": None}
    assert await rated.read(f"/reputation/{agent.did}") == trust
    ranked = await rated.read(f"/reputation/{agent.did}/trust-score")
    assert (ranked["rank_percentile"], {part["amount"] for part in ranked["components"]}) == (None, {"0"})
    graph = {"nodes": [{"did": agent.did, "score": 0}], "edges": [], "truncated": False}
    assert await rated.read(f"/reputation/{agent.did}/trust-graph", depth=2) == graph
    volume = {"days": [], "counterparties": 0, "top_share": 0, "same_owner_share": 0}
    assert await rated.read(f"/reputation/{agent.did}/volume-profile") == volume
    assert await rated.read(f"/reputation/{agent.did}/cross-frame") == {"frames": []}


async def test_trust_is_the_score_from_0_to_1_and_ranks_among_the_scored_agents(rated: Rated):
    buyer, seller = await rated.registry.agent(), await rated.registry.agent()
    await rated.pay_funded(buyer, seller, "50")
    epoch = await rated.compute()
    found = await rated.read(f"/reputation/{seller.did}")
    assert found["global_trust"] == found["score"] / 1000 > 0
    assert found["epoch"] == epoch.isoformat()
    ranked = await rated.read(f"/reputation/{seller.did}/trust-score")
    assert found.items() <= ranked.items()
    assert ranked["rank_percentile"] == 50
    assert (await rated.read(f"/reputation/{buyer.did}/trust-score"))["rank_percentile"] == 0


async def test_a_graph_has_the_agents_around_an_agent_and_at_depth_2_those_around_them(rated: Rated):
    first, second, third, other = [await rated.registry.agent() for _ in range(4)]
    await rated.pay_funded(first, second, "40")
    await rated.pay_funded(second, third, "30")
    await rated.pay_funded(second, third, "10")
    await rated.pay_funded(third, other, "20")
    await rated.compute()
    near = await rated.read(f"/reputation/{first.did}/trust-graph")
    fees = format_amount(decayed(20_000_000, 1))
    assert near["edges"] == [{"from": first.did, "to": second.did, "evidence": fees, "jobs": 1}]
    assert {node["did"] for node in near["nodes"]} == {first.did, second.did}
    scores = {node["did"]: node["score"] for node in near["nodes"]}
    assert scores[second.did] == (await rated.reputation(second.did))["score"] > 0
    far = await rated.read(f"/reputation/{first.did}/trust-graph", depth=2)
    assert [(edge["from"], edge["jobs"]) for edge in far["edges"]] == [(first.did, 1), (second.did, 2)]
    assert {node["did"] for node in far["nodes"]} == {first.did, second.did, third.did}
    assert not far["truncated"]
    cut = await rated.read(f"/reputation/{first.did}/trust-graph", depth=2, limit=1)
    assert (cut["edges"], cut["truncated"]) == (near["edges"], True)


async def test_a_volume_profile_shows_days_and_how_the_volume_is_spread(rated: Rated):
    owner = await rated.registry.developer()
    own, agent = await owner.agent(), await owner.agent()
    customer = await rated.registry.agent()
    await rated.pay_funded(customer, agent, "30")
    await rated.pay_funded(agent, own, "10")
    await rated.compute()
    found = await rated.read(f"/reputation/{agent.did}/volume-profile")
    today = datetime.now(UTC).date().isoformat()
    assert found == {
        "days": [{"date": today, "in": "30", "out": "10", "jobs": 2}],
        "counterparties": 2,
        "top_share": 0.75,
        "same_owner_share": 0.25,
    }
    graph = await rated.read(f"/reputation/{agent.did}/trust-graph")
    assert [edge["from"] for edge in graph["edges"]] == [customer.did], "own agents are no evidence"


async def test_each_epoch_adds_the_signals_that_no_earlier_one_counted(rated: Rated):
    buyer, seller = await rated.registry.agent(), await rated.registry.agent()
    for later in (0, 1, 1, 2, 3):
        await rated.pay_funded(buyer, seller, "5")
        await rated.rule(buyer, seller, "IN_FAVOR_OF_COMPLAINANT")
        await rated.compute(later)

    async def sums(tx: Tx) -> tuple[object, ...]:
        flows = await tx.fetchrow("SELECT sum(jobs), sum(volume), sum(disputes_lost) FROM reputation_flow")
        signals = await tx.fetchrow(
            "SELECT count(*) FILTER (WHERE kind = 'payment'), sum(amount), count(*) FILTER (WHERE kind <> 'payment')"
            " FROM reputation_signal"
        )
        assert flows is not None
        assert signals is not None
        return tuple(flows), tuple(signals)

    flows, signals = await rated.registry.database.query(sums)
    assert flows == signals
    assert (
        (await rated.read(f"/reputation/{seller.did}/volume-profile"))["days"][0]["jobs"] == signals[0] == 5
    )


async def test_jobs_for_other_frames_are_shown_by_frame(rated: Rated):
    seller = await rated.registry.agent()
    abroad = "did:hansa:other.example:00000000-0000-4000-8000-000000000001"
    add = """INSERT INTO reputation_signal (event_seq, event_type, at, kind, giver, receiver, amount, fee, counts)
      VALUES ($1, $2, now(), $3, $4, $5, $6, 20000000, true)"""
    for number, (event, kind, amount) in enumerate(
        [
            ("CrossRegistryTransferCompleted", "payment", 7),
            ("CrossRegistryTransferCompleted", "payment", 5),
            ("DisputeRuled", "ruling_for_complainant", 0),
        ]
    ):
        values = (10**9 + number, event, kind, abroad, seller.did, amount * 10**8)
        await rated.registry.database.transaction(lambda tx, values=values: tx.execute(add, *values))
    await rated.compute()
    frame = {"ledger_id": "other.example", "jobs": 2, "volume": "12", "disputes_lost": 1}
    assert await rated.read(f"/reputation/{seller.did}/cross-frame") == {"frames": [frame]}


@pytest.mark.parametrize(
    ("view", "query"),
    [("trust-graph", {"depth": 3}), ("trust-graph", {"limit": 201}), ("volume-profile", {"days": 366})],
)
async def test_a_view_beyond_its_bounds_is_422(rated: Rated, view: str, query: dict[str, int]):
    agent = await rated.registry.agent()
    assert (await rated.registry.get(f"/reputation/{agent.did}/{view}", params=query)).status_code == 422
