"""Achievements: recomputed from events, hidden by their owner, each stated by the registry's signature."""

import json
from datetime import datetime, timedelta

import pytest

from hansa_verify import read_keys, verify_achievement
from tests.achieving import achievements, codes, count, follow, rebuild, results, shows
from tests.organizations import code
from tests.rooms.reputation.rated import Rated, open_rated

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
# An agent of another registry paid for a job.
_FOREIGN_JOB = """
WITH written AS (
  INSERT INTO reputation_signal (event_seq, event_type, at, kind, giver, receiver, amount, fee, counts)
  SELECT seq, 'CrossRegistryTransferCompleted', now(), 'payment', 'did:hansa:abroad.example:payer', $1, 500000000,
    2500000, true FROM journal_event WHERE aggregate_id = $1 AND event_type = 'AgentOnboarded' RETURNING id, event_seq
), verified AS (
  INSERT INTO reputation_verified_job (agent_did, counterparty, day, event_seq)
  SELECT $1, 'did:hansa:abroad.example', (now() AT TIME ZONE 'UTC')::date, event_seq FROM written
)
UPDATE reputation_progress SET recorded = (SELECT id FROM written)
"""


@pytest.fixture(scope="module")
async def rated(database_farm, tmp_path_factory):
    async with open_rated(database_farm, tmp_path_factory.mktemp("achievements")) as opened:
        yield opened


@pytest.fixture
def registry(rated):
    return rated.registry


async def pair(rated: Rated):
    return await rated.registry.agent(name="Buyer"), await rated.registry.agent(name="Seller")


async def execute(registry, statement, *values):
    await registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def keys(registry):
    return read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())


async def test_the_definitions_are_the_seven_marks_and_four_others(registry):
    answer = (await registry.get("/achievements")).json()
    assert answer["next"] is None
    assert [(one["title"], one["need"]) for one in answer["items"] if one["mark"]] == [
        ("Proven", 1),
        ("Established", 5),
        ("Seasoned", 15),
        ("Veteran", 40),
        ("Expert", 80),
        ("Master", 150),
        ("Sovereign", 250),
    ]
    others = [(one["code"], one["need"]) for one in answer["items"] if not one["mark"]]
    assert others == [
        ("first_bond", 1),
        ("first_job_abroad", 1),
        ("hundred_settled", 100),
        ("year_alive", 365),
    ]


async def test_a_new_agent_has_earned_nothing_and_an_unknown_one_is_404(registry):
    agent = await registry.agent()
    await count(registry)
    assert await achievements(registry, agent.did) == {
        "agent_did": agent.did,
        "shown": True,
        "earned": [],
        "next": [
            {"code": "mark_proven", "have": 0, "need": 1},
            {"code": "first_bond", "have": 0, "need": 1},
            {"code": "first_job_abroad", "have": 0, "need": 1},
            {"code": "hundred_settled", "have": 0, "need": 100},
            {"code": "year_alive", "have": 0, "need": 365},
        ],
    }
    assert (await registry.get(f"/achievements/agents/{NOBODY}")).status_code == 404


async def test_a_verified_job_earns_the_first_mark_by_its_event_and_the_card_states_it(rated, registry):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "10")
    await follow(rated)
    found = await achievements(registry, seller.did)
    assert codes(found) == ["mark_proven"]
    (earned,) = found["earned"]
    settled = await registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT event_type, recorded_at FROM journal_event WHERE seq = $1", earned["event_seq"]
        )
    )
    assert settled["event_type"] == "A2APaymentSettled"
    assert datetime.fromisoformat(earned["earned_at"]) == settled["recorded_at"]
    assert {"code": "mark_established", "have": 1, "need": 5} in found["next"]
    assert {"code": "hundred_settled", "have": 1, "need": 100} in found["next"]
    flare = (await registry.get(f"/agent-cards/{seller.did}")).json()["card_data"]["flare"]
    assert (flare["mark"], flare["grade"], flare["foreign"]) == ("Proven", 1, False)
    assert codes(await achievements(registry, buyer.did)) == []


async def test_a_lost_dispute_ends_the_row_of_settled_payments_and_takes_no_mark(rated, registry):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "10")
    await rated.rule(buyer, seller, "IN_FAVOR_OF_COMPLAINANT")
    await follow(rated)
    found = await achievements(registry, seller.did)
    assert codes(found) == ["mark_proven"]
    assert {"code": "hundred_settled", "have": 0, "need": 100} in found["next"]


async def test_a_foreign_job_dashes_the_marks_of_list_card_page_and_badge(rated, registry):
    _, seller = await pair(rated)
    await rated.follow()
    await execute(registry, _FOREIGN_JOB, seller.did)
    await execute(
        registry,
        "UPDATE catalogue_card SET verified_jobs = 1, track_record = '{\"jobs_foreign\": 1}' WHERE did = $1",
        seller.did,
    )
    await count(registry)
    found = await achievements(registry, seller.did)
    assert {one["code"]: one["dashed"] for one in found["earned"]} == {
        "mark_proven": True,
        "first_job_abroad": False,
    }
    flare = (await registry.get(f"/agent-cards/{seller.did}")).json()["card_data"]["flare"]
    assert (flare["mark"], flare["foreign"]) == ("Proven", True)
    page = (await registry.http.get(f"/agents/{seller.did}")).text
    assert '<strong class="dashed">Proven</strong>' in page
    assert "stroke-dasharray" in (await registry.get(f"/achievements/agents/{seller.did}/badge.svg")).text


async def test_the_first_bond_is_an_achievement_and_a_further_one_changes_nothing(rated, registry):
    agent = await registry.agent()
    await rated.fund(agent, "500")
    for _ in range(2):
        path = f"/agents/{agent.did}/reputation-bond/deposit"
        answer = await registry.post(path, json={"amount": "100"}, headers=agent.headers)
        assert answer.status_code == 200, answer.text
    await count(registry)
    (earned,) = (await achievements(registry, agent.did))["earned"]
    first = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT min(seq) FROM journal_event WHERE aggregate_id = $1 AND event_type = 'BondDeposited'",
            agent.did,
        )
    )
    assert (earned["code"], earned["event_seq"]) == ("first_bond", first)


async def test_a_year_is_earned_365_days_after_the_beginning_and_not_by_a_revoked_agent(rated, registry):
    old, ended = await registry.agent(), await registry.agent()
    await count(registry)
    older = "UPDATE achievements_life SET began_at = began_at - interval '365 days' WHERE agent_did = $1"
    ends = "UPDATE achievements_life SET ended_at = began_at + interval '364 days' WHERE agent_did = $1"
    for agent in (old, ended):
        await execute(registry, older, agent.did)
    await execute(registry, ends, ended.did)
    found = await achievements(registry, old.did)
    (earned,) = found["earned"]
    assert earned["code"] == "year_alive"
    age = datetime.now(tz=datetime.fromisoformat(earned["earned_at"]).tzinfo) - datetime.fromisoformat(
        earned["earned_at"]
    )
    assert timedelta(0) <= age < timedelta(hours=1)
    assert "year_alive" not in [one["code"] for one in found["next"]]
    assert (await achievements(registry, ended.did))["earned"] == []
    # Rows that were changed by hand are again as the events say.
    await rebuild(registry)


async def test_a_rebuild_from_the_first_event_gives_the_same_results(rated, registry):
    buyer, seller = await pair(rated)
    for payer, payee in ((buyer, seller), (seller, buyer), (buyer, seller)):
        await rated.pay_funded(payer, payee, "10")
    await rated.rule(buyer, seller, "IN_FAVOR_OF_DEFENDANT")
    await follow(rated)
    before = await results(registry)
    assert before["achievements_earned"]
    await rebuild(registry)
    assert await results(registry) == before
    await count(registry)
    assert await results(registry) == before


async def test_each_achievement_has_a_statement_that_the_registry_signed(rated, registry):
    buyer, seller = await pair(rated)
    await rated.pay_funded(buyer, seller, "10")
    await follow(rated)
    (earned,) = (await achievements(registry, seller.did))["earned"]
    statement = earned["statement"]
    assert (statement["kind"], statement["did"], statement["code"]) == (
        "agent.achievement.v1",
        seller.did,
        "mark_proven",
    )
    assert statement["registry"] == registry.settings.ledger_id
    trusted = await keys(registry)
    assert verify_achievement(json.dumps(statement), trusted).is_valid
    forged = {**statement, "code": "mark_sovereign"}
    assert verify_achievement(json.dumps(forged), trusted).code == "bad_signature"
    card = (await registry.get(f"/agents/{seller.did}/card-export")).text
    assert not verify_achievement(card, trusted).is_valid
    again = (await achievements(registry, seller.did))["earned"]
    assert again == [earned]


async def test_an_owner_hides_the_achievements_of_an_agent_and_shows_them_again(rated, registry):
    owner = await registry.developer()
    seller, buyer = await owner.agent(), await registry.agent()
    await rated.pay_funded(buyer, seller, "10")
    await follow(rated)
    hidden = await shows(owner, seller, shown=False)
    assert (hidden.status_code, hidden.json()) == (200, {"agent_did": seller.did, "shown": False})
    found = await achievements(registry, seller.did)
    assert (found["shown"], found["earned"], found["next"]) == (False, [], [])
    assert "Proven" not in (await registry.get(f"/achievements/agents/{seller.did}/badge.svg")).text
    assert "achievements-title" not in (await registry.http.get(f"/agents/{seller.did}")).text
    before = await results(registry)
    await rebuild(registry)
    assert await results(registry) == before
    assert (await achievements(registry, seller.did))["shown"] is False
    assert (await shows(owner, seller, shown=True)).json()["shown"] is True
    assert codes(await achievements(registry, seller.did)) == ["mark_proven"]
    assert "achievements-title" in (await registry.http.get(f"/agents/{seller.did}")).text


async def test_only_the_owner_hides_achievements(registry):
    owner, stranger = await registry.developer(), await registry.developer()
    agent = await owner.agent()
    assert (await shows(stranger, agent, shown=False)).status_code == 404
    path = f"/api/v1/achievements/agents/{agent.did}"
    assert (await registry.http.patch(path, json={"shown": False})).status_code == 401
    assert (await registry.http.patch(path, json={"shown": False}, headers=agent.headers)).status_code == 401
    for body in ({}, {"shown": "no"}, {"shown": None}, {"shown": False, "why": "shy"}):
        assert (await shows(owner, agent, **body)).status_code == 422
    assert code(await shows(owner, agent, shown=1))[0] == 422
