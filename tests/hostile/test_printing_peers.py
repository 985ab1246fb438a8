"""A registry that issues as many units as it wants buys the reputation of an agent here."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from hansa.foundation.values.money import parse_amount
from tests.neighbours.crossing_scene import settle
from tests.neighbours.paying_scene import Abroad, measure, spend_abroad
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.rooms.reputation.rated import Rated

PRINTED = "9000"


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    """The attacker has registry a, which gives each agent as much as the attacker wants."""
    async with neighbours(
        database_farm,
        tmp_path_factory.mktemp("printing"),
        a={"genesis_grant_amount": "100000"},
        b={"genesis_grant_amount": "15000"},
    ) as pair:
        yield pair


async def forge(pair: Neighbours, amount: str = PRINTED) -> Abroad:
    """An agent of the attacker's registry pays the attacker's agent here for a job."""
    paying = Abroad(pair.a.registry, await pair.a.registry.agent(), await pair.b.registry.agent())
    made = await paying.authorized(amount)
    settled = await paying.settle(made["token"], wait=20)
    assert settled.json()["status"] == "settled", settled.text
    await settle(pair.a, pair.b)
    return paying


async def test_units_that_a_peer_prints_buy_neither_score_nor_mark_nor_volume(pair: Neighbours):
    assert await measure(pair.b, pair.a) > 900
    paying = await forge(pair)
    rated = Rated(pair.b.registry)
    await rated.compute()
    assert (await rated.reputation(paying.service.did))["grade"] == "unrated"
    record = await rated.track_record(paying.service.did)
    assert (record["jobs_verified"], record["volume"], record["mark"]) == (0, "0", None)


async def test_a_peer_that_is_not_measured_buys_nothing_with_units_that_came_from_here(pair: Neighbours):
    await spend_abroad(pair.b, pair.a, PRINTED)
    assert (await pair.b.peer(pair.a)).trust_weight == 0
    paying = await forge(pair)
    rated = Rated(pair.b.registry)
    await rated.compute()
    assert (await rated.reputation(paying.service.did))["grade"] == "unrated"
    assert (await rated.track_record(paying.service.did))["jobs_verified"] == 0


async def test_units_that_came_from_here_count_once_and_their_fees_up_to_the_maximum_of_a_day(
    pair: Neighbours,
):
    await spend_abroad(pair.b, pair.a, PRINTED)
    await measure(pair.b, pair.a)
    first, second, third = await forge(pair, "100"), await forge(pair, "8900"), await forge(pair, "1")
    rated = Rated(pair.b.registry)
    await rated.compute()
    fees = {
        one["data"]["receiver_did"]: (one["data"]["fee"], one["data"]["counts"])
        for one in (await rated.exported())["events"]
    }
    # The fees were 0.5, 44.5 and 0.005; all that was committed out has come back before the third payment.
    assert fees == {
        first.service.did: ("0.4585", True),
        second.service.did: ("0.5415", True),
        third.service.did: ("0", False),
    }
    assert pair.b.registry.settings.peer_counted_fees_max == "1"
    counted = await pair.b.registry.database.query(
        lambda tx: tx.fetch("SELECT day, fee FROM transfers_counted_fee")
    )
    assert [tuple(row) for row in counted] == [(datetime.now(UTC).date(), parse_amount("1"))]
