"""Listings of the exchange (specification 7 AA): drafted by an organization, reviewed by the operator, final once approved."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from hansa.foundation.values.canonical import digest
from tests.all_events import require_schemas_kept
from tests.exchange import SHA256, Market, in_days, market, terms
from tests.governed_values import changed, time_passed
from tests.organizations import code
from tests.registry import StartRegistry
from tests.treasuries import ONE_OWNER, ruled


@pytest.fixture
def exchange(market_of_file: Market) -> Market:
    return market_of_file


async def test_an_admin_drafts_a_listing_of_a_public_organization(exchange: Market):
    guild = await exchange.guild()
    stated = terms()
    made = await exchange.post(
        guild.owner, "/agora/listings", {"organization_id": guild.created["id"], "terms": stated}
    )
    assert made.status_code == 201, made.text
    listing = made.json()
    moments = {"opens_at", "closes_at"}
    assert {name: listing[name] for name in stated.keys() - moments} == {
        name: stated[name] for name in stated.keys() - moments
    }
    for name in moments:
        assert datetime.fromisoformat(listing[name]) == datetime.fromisoformat(stated[name])
    assert listing["organization"] == {
        "id": guild.created["id"],
        "slug": guild.slug,
        "name": "Guild of translators",
    }
    assert (listing["treasury_did"], listing["status"]) == (guild.created["treasury_did"], "DRAFT")
    unsold = {name: listing[name] for name in ("fee_bps", "sold", "last_price", "arrears", "insider_points")}
    assert unsold == {"fee_bps": None, "sold": 0, "last_price": None, "arrears": "0", "insider_points": 0}


async def test_only_an_admin_of_a_public_organization_drafts(exchange: Market):
    guild = await exchange.guild()
    member, stranger = await guild.member(), await exchange.registry.developer()
    assert code(await exchange.try_draft(guild, member)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await exchange.try_draft(guild, stranger)) == (404, "ORGANIZATION_UNKNOWN")
    await guild.send(guild.owner, "PATCH", json={"visibility": "private"})
    assert code(await exchange.try_draft(guild)) == (409, "ORGANIZATION_NOT_PUBLIC")


@pytest.mark.parametrize(
    "members",
    [
        {"ref": "a"},
        {"ref": "TOOLONGER"},
        {"total": 0},
        {"total": 10**10 + 1},
        {"price": "0"},
        {"price": "2.005"},
        {"total": 10**10, "per_owner_max": 1},
        {"min_raise": "2000.00000001"},
        {"per_owner_max": 1001},
        {"revenue_bps": 5001},
        {"term_months": 5},
        {"term_months": 121},
        {"opens_at": in_days(-1)},
        {"opens_at": in_days(366), "closes_at": in_days(367)},
        {"closes_at": in_days(0.5)},
        {"closes_at": in_days(92)},
        {"prospectus": {"url": "http://guild.example/", "sha256": SHA256}},
        {"prospectus": {"url": 'https://guild.example/"', "sha256": SHA256}},
        {"prospectus": {"url": "https://guild.example/", "sha256": "00"}},
    ],
    ids=str,
)
async def test_terms_that_are_not_sound_are_refused(exchange: Market, members):
    guild = await exchange.guild()
    refused = await exchange.try_draft(guild, **members)
    assert refused.status_code == 422, refused.text
    assert (await exchange.try_draft(guild)).status_code == 201


async def test_a_reference_is_used_once_and_an_organization_has_one_live_listing(exchange: Market):
    guild, other = await exchange.guild(), await exchange.guild()
    listing = await exchange.draft(guild)
    assert code(await exchange.try_draft(guild)) == (409, "ORGANIZATION_LISTED")
    assert code(await exchange.try_draft(other, ref=listing["ref"])) == (409, "REF_TAKEN")
    approved = await exchange.approved(other)
    assert (await exchange.decide(approved, "delist")).status_code == 200
    assert code(await exchange.try_draft(other, ref=approved["ref"])) == (409, "REF_TAKEN")
    assert (await exchange.try_draft(other)).status_code == 201


async def test_before_its_approval_members_and_administrators_read_a_listing(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    ref, stranger = listing["ref"], await exchange.registry.developer()
    for reader in (None, stranger, exchange.enforcement):
        assert code(await exchange.try_read(ref, reader)) == (404, "LISTING_UNKNOWN")
    assert await exchange.read(listing, await guild.member("viewer")) == listing
    assert await exchange.read(listing, exchange.platform) == listing
    await exchange.act(guild.owner, listing, "submit")
    assert code(await exchange.try_read(ref)) == (404, "LISTING_UNKNOWN")
    assert ref not in await exchange.listed()
    assert ref in await exchange.listed(exchange.platform)
    await exchange.decide(listing, "approve")
    assert ref in await exchange.listed()
    assert (await exchange.try_read(ref, stranger)).status_code == 200
    assert code(await exchange.try_read("ZZZZZZZZ")) == (404, "LISTING_UNKNOWN")


async def test_a_draft_is_changed_and_an_approved_listing_is_not(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    path = f"/api/v1/agora/listings/{listing['ref']}"

    async def patch(**members):
        return await exchange.registry.http.patch(path, json=members, headers=guild.owner.headers)

    changed_listing = (await patch(price="3", total=900)).json()
    assert {name for name in listing if listing[name] != changed_listing[name]} == {"price", "total"}
    assert code(await patch(tick="7"))[0] == 422
    await exchange.act(guild.owner, listing, "submit")
    assert code(await patch(price="4")) == (409, "LISTING_STATE")
    await exchange.act(guild.owner, listing, "withdraw")
    assert (await patch(price="4")).json()["price"] == "4"
    await exchange.act(guild.owner, listing, "submit")
    await exchange.decide(listing, "approve")
    assert code(await patch(price="5")) == (409, "LISTING_STATE")
    with pytest.raises(Exception, match="final"):
        await exchange.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE exchange_listing SET price = 1, tick = 1 WHERE ref = $1", listing["ref"]
            )
        )


async def test_a_submission_needs_the_approvals_of_the_highest_tier(exchange: Market):
    guild = await exchange.guild()
    await ruled(guild, ONE_OWNER)
    listing, second = await exchange.draft(guild), await guild.member("admin")
    asked = await exchange.act(second, listing, "submit")
    assert (asked.status_code, asked.json()["kind"]) == (202, "listing")
    assert (await exchange.read(listing, second))["status"] == "DRAFT"
    assert code(await exchange.act(second, listing, "submit")) == (409, "REQUEST_EXISTS")
    done = await guild.approve(guild.owner, asked.json()["request_id"])
    assert done.json()["status"] == "EXECUTED"
    assert (await exchange.read(listing, second))["status"] == "REVIEW"


async def test_an_approved_request_for_other_terms_submits_nothing(exchange: Market):
    guild = await exchange.guild()
    await ruled(guild, ONE_OWNER)
    listing, second = await exchange.draft(guild), await guild.member("admin")
    asked = (await exchange.act(second, listing, "submit")).json()
    await exchange.registry.http.patch(
        f"/api/v1/agora/listings/{listing['ref']}", json={"revenue_bps": 5000}, headers=second.headers
    )
    pending = (await guild.approve(guild.owner, asked["request_id"])).json()
    assert (pending["status"], "changed" in pending["reason"]) == ("PENDING", True)
    assert (await exchange.read(listing, second))["status"] == "DRAFT"


async def test_an_approval_fixes_the_terms_and_is_a_leaf_of_the_log(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    key = "approve-once"
    assert code(await exchange.decide(listing, "approve")) == (409, "LISTING_STATE")
    submitted = await exchange.act(guild.owner, listing, "submit")
    assert (submitted.status_code, submitted.json()["status"]) == (200, "EXECUTED")
    path, body = f"/admin/agora/listings/{listing['ref']}/approve", {"reason": "Sound."}
    approved = await exchange.post(exchange.platform, path, body, key)
    again = await exchange.post(exchange.platform, path, body, key)
    assert (approved.status_code, again.json()) == (200, approved.json())
    assert (approved.json()["status"], approved.json()["fee_bps"]) == ("APPROVED", 50)
    ((kind, data),) = await exchange.events(listing)
    assert (kind, data["terms_sha256"]) == ("ListingApproved", approved.json()["terms_sha256"])
    leaf = await exchange.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT sha256 FROM plumbing_log_outbox WHERE kind = 'listing_approved' AND object_id = $1",
            listing["ref"],
        )
    )
    assert leaf == digest(data)
    await require_schemas_kept(exchange.registry.database, "ListingApproved")


async def test_a_rejected_listing_is_a_draft_with_the_reason(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    await exchange.act(guild.owner, listing, "submit")
    rejected = await exchange.decide(listing, "reject", reason="No risks are named.")
    assert (rejected.json()["status"], rejected.json()["reason"]) == ("DRAFT", "No risks are named.")
    assert code(await exchange.act(guild.owner, listing, "withdraw")) == (409, "LISTING_STATE")


async def test_a_listing_whose_opening_has_passed_is_not_approved(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    await exchange.act(guild.owner, listing, "submit")
    await exchange.elapse(listing, 1)
    assert code(await exchange.decide(listing, "approve")) == (409, "LISTING_OPENING_PASSED")
    assert (await exchange.decide(listing, "reject")).status_code == 200
    assert code(await exchange.act(guild.owner, listing, "submit")) == (409, "LISTING_OPENING_PASSED")


async def test_each_decision_belongs_to_an_area(exchange: Market):
    listing = await exchange.traded(await exchange.registry.agent())
    for act in ("approve", "reject", "delist"):
        assert code(await exchange.decide(listing, act, exchange.enforcement))[0] == 403
    for act in ("halt", "resume"):
        assert code(await exchange.decide(listing, act, exchange.platform))[0] == 403
    assert (await exchange.decide(listing, "halt")).json()["status"] == "HALTED"
    assert code(await exchange.decide(listing, "halt")) == (409, "LISTING_STATE")
    assert (await exchange.decide(listing, "resume")).json()["status"] == "TRADING"
    assert (await exchange.decide(listing, "delist")).json()["status"] == "DELISTED"
    assert code(await exchange.decide(listing, "resume")) == (409, "LISTING_STATE")
    kinds = [kind for kind, _ in await exchange.events(listing)]
    assert kinds == ["ListingApproved", "LaunchClosed", "ListingHalted", "ListingResumed", "ListingDelisted"]
    await require_schemas_kept(exchange.registry.database, *kinds)


async def test_a_listing_expires_at_the_end_of_its_term(exchange: Market):
    listing = await exchange.traded(await exchange.registry.agent(), term_months=6)
    await exchange.elapse(listing, 100)
    assert (await exchange.read(listing))["status"] == "TRADING"
    await exchange.elapse(listing, 90)
    assert (await exchange.read(listing))["status"] == "EXPIRED"
    assert (await exchange.events(listing))[-1][0] == "ListingExpired"
    await require_schemas_kept(exchange.registry.database, "ListingExpired")


async def test_a_listed_organization_is_not_deleted(exchange: Market):
    guild = await exchange.guild()
    listing = await exchange.draft(guild)
    await exchange.act(guild.owner, listing, "submit")
    refused = await guild.send(guild.owner, "DELETE")
    assert refused.status_code == 409
    assert [one["kind"] for one in refused.json()["blockers"]] == ["listing"]
    await exchange.act(guild.owner, listing, "withdraw")
    assert (await guild.send(guild.owner, "DELETE")).status_code == 200


async def test_an_agent_does_not_leave_a_listed_organization(exchange: Market):
    guild = await exchange.guild()
    agent = await guild.born()
    listing = await exchange.approved(guild)
    path = f"/agents/{agent.did}/release"
    assert code(await guild.send(guild.owner, "POST", path)) == (409, "ORGANIZATION_LISTED")
    await exchange.decide(listing, "delist")
    assert (await guild.send(guild.owner, "POST", path)).status_code == 200


async def test_a_fee_that_governance_changed_holds_for_later_approvals(start_registry: StartRegistry):
    exchange = await market(await start_registry(exchange_enabled=True, exchange_fee_bps=30))
    before = await exchange.approved()
    database, settings = exchange.registry.database, exchange.registry.settings
    await changed(database, settings, {"exchange_fee_bps": (30, 120)}, "test")
    await time_passed(database)
    after = await exchange.approved()
    assert [before["fee_bps"], (await exchange.read(before))["fee_bps"], after["fee_bps"]] == [30, 30, 120]


async def test_an_exchange_that_is_off_lists_nothing_and_opens_nothing_new(start_registry: StartRegistry):
    exchange = await market(await start_registry())
    guild = await exchange.guild()
    assert code(await exchange.try_draft(guild)) == (403, "exchange_disabled")
    on = exchange.registry.settings
    object.__setattr__(on, "exchange_enabled", True)
    under_review, approved = await exchange.draft(guild), await exchange.approved()
    await exchange.act(guild.owner, under_review, "submit")
    object.__setattr__(on, "exchange_enabled", False)
    assert (await exchange.registry.get("/agora/listings")).json() == {"listings": []}
    assert (await exchange.read(approved))["status"] == "APPROVED"
    assert code(await exchange.decide(under_review, "approve")) == (403, "exchange_disabled")
    await exchange.elapse(approved, 1)
    assert (await exchange.read(approved))["status"] == "APPROVED"
    agent = await exchange.registry.agent()
    assert code(await exchange.buy(agent, approved, 1)) == (403, "exchange_disabled")
    assert (await exchange.act(guild.owner, under_review, "withdraw")).json()["status"] == "DRAFT"
    assert (await exchange.decide(approved, "delist")).json()["status"] == "DELISTED"


async def test_declared_acts_wait_for_the_authorizations_of_listing_and_launch(
    start_registry: StartRegistry, tmp_path: Path
):
    profile = tmp_path / "profile.json"
    law = {
        "name": "Example law",
        "version": "1",
        "declared_at": "2026-01-31T12:00:00+00:00",
        "denied_features": [],
        "regulated_actions": ["exchange.listing", "exchange.ipo"],
    }
    profile.write_text(json.dumps(law))
    exchange = await market(await start_registry(exchange_enabled=True, jurisdiction_profile=profile))
    guild, agent = await exchange.guild(), await exchange.registry.agent()
    listing = await exchange.draft(guild)

    async def authorized(action: str, subject: str) -> None:
        body = {
            "action": action,
            "authority": "Example authority",
            "subject": subject,
            "evidence": {"tier": "reference", "reference": "Register no. 42"},
        }
        recorded = await exchange.post(exchange.platform, "/admin/jurisdiction/authorizations", body)
        assert recorded.status_code == 201, recorded.text

    parked = await exchange.act(guild.owner, listing, "submit")
    assert code(parked) == (409, "JURISDICTION_ACT_PARKED")
    assert (parked.json()["action"], parked.json()["checklist"][0]["subject"]) == (
        "exchange.listing",
        listing["treasury_did"],
    )
    await authorized("exchange.listing", listing["treasury_did"])
    assert (await exchange.act(guild.owner, listing, "submit")).status_code == 200
    assert (await exchange.decide(listing, "approve")).status_code == 200
    await exchange.elapse(listing, 1)
    parked = await exchange.buy(agent, listing, 10)
    assert (parked.status_code, parked.json()["checklist"][0]["subject"]) == (409, listing["ref"])
    assert (await exchange.read(listing))["status"] == "APPROVED"
    await authorized("exchange.ipo", listing["ref"])
    assert (await exchange.buy(agent, listing, 10)).status_code == 201
    assert (await exchange.read(listing))["status"] == "LAUNCHING"
