import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from hansa.foundation.values.errors import HostRefused
from hansa.rooms.catalogue import HumanReadableIdTaken, publish_card
from hansa.rooms.catalogue.cursor import ChangesCursor, ListingCursor, encode
from hansa.rooms.catalogue.rules import BIGINT_MAX
from tests.registry import TestRegistry, card_of
from tests.rooms.catalogue.catalogue_cards import change, names, new_did, publish, stub

READ_MEMBERS = {
    "id",
    "card_id",
    "did",
    "human_readable_id",
    "developer_id",
    "name",
    "description",
    "is_active",
    "status",
    "card_data",
    "listing",
    "mcp_server",
    "created_at",
    "updated_at",
    "last_pull_attempt_at",
    "last_pull_status",
    "pull_failures",
    "source_registry",
    "settlement_currency",
}


async def test_a_card_is_read_by_uuid_did_number_and_human_readable_id(registry):
    card = await publish(registry, humanReadableId="acme/translator")
    paths = (
        f"/agent-cards/{card.id}",
        f"/agent-cards/{card.did}",
        f"/agent-cards/{card.card_id}",
        "/agent-cards/by-hri?hri=acme/translator",
        "/agent-cards/by-hri?hri=acme%2Ftranslator",
        "/agent-cards/id/acme/translator",
        "/agent-cards/id/acme%2Ftranslator",
    )
    for path in paths:
        answer = await registry.get(path)
        assert answer.status_code == 200, path
        assert set(answer.json()) == READ_MEMBERS
        assert answer.json()["id"] == str(card.id)


async def test_a_read_card_carries_both_halves_and_what_the_owner_wrote(registry):
    card = await publish(
        registry, pricing={"model": "per-request", "base_rate": 0.5}, flare={"mark": "Sovereign"}
    )
    read = (await registry.get(f"/agent-cards/{card.card_id}")).json()
    data = read["card_data"]
    assert data["supportedInterfaces"][0] == {
        "url": "https://agent.example.org/a2a",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    assert (data["url"], data["preferredTransport"]) == ("https://agent.example.org/a2a", "JSONRPC")
    assert data["pricing"] == {"model": "per-request", "base_rate": 0.5}
    assert data["humanReadableId"] == read["human_readable_id"]
    assert data["flare"]["mark"] is None
    assert read["settlement_currency"] == "AVT"
    assert read["listing"] == {"unlisted": False}


@pytest.mark.parametrize(
    "key",
    [
        "id",
        "0",
        "999999",
        "-1",
        "1.0",
        "9223372036854775808",
        "1" * 400,
        "١",
        "8f5a1c52-0d5e-4b0e-9c54-3f1c8b2d7a90",
        "did:hansa:nobody",
        "did:" + "x" * 600,
        "%27%20OR%201=1",
        "no-such-card",
    ],
)
async def test_an_unknown_card_is_a_404(registry, key):
    answer = await registry.get(f"/agent-cards/{key}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "CARD_UNKNOWN"


async def test_an_unknown_human_readable_id_is_a_404(registry):
    for path in ("/agent-cards/by-hri?hri=nobody/none", "/agent-cards/id/nobody/none", "/agent-cards/id/x"):
        assert (await registry.get(path)).status_code == 404
    assert (await registry.get("/agent-cards/by-hri")).status_code == 422


async def test_a_human_readable_id_is_unique_and_made_where_none_is_given(registry):
    await publish(registry, humanReadableId="acme/one")
    with pytest.raises(HumanReadableIdTaken):
        await publish(registry, humanReadableId="acme/one")
    made = await publish(registry, "Übersetzer 7")
    assert made.human_readable_id.startswith("hansa/ubersetzer-7-")


async def test_of_two_cards_at_once_one_gets_the_human_readable_id(registry):
    outcomes = await asyncio.gather(
        *(publish(registry, humanReadableId="acme/one") for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(outcome, HumanReadableIdTaken) for outcome in outcomes) == 3


async def test_a_suspended_unlisted_or_inactive_card_is_read_by_key_and_in_no_list(registry):
    await publish(registry, "Shown")
    for name, members in (
        ("Suspended", {"status": "suspended"}),
        ("Revoked", {"status": "revoked"}),
        ("Unlisted", {"unlisted": True}),
        ("Inactive", {"is_active": False}),
    ):
        card = await publish(registry, name)
        await change(registry, card, **members)
        read = (await registry.get(f"/agent-cards/{card.did}")).json()
        shown = {
            "status": read["status"],
            "unlisted": read["listing"]["unlisted"],
            "is_active": read["is_active"],
        }
        assert members.items() <= shown.items()
        assert read["card_data"]["name"] == name
    assert await names(registry) == ["Shown"]
    assert await names(registry, active_only=False) == ["Inactive", "Shown"]


async def test_a_stub_names_its_host_and_waits_for_the_agents_own_card(registry):
    card = await stub(registry, "https://agent.example.org/")
    assert card.is_stub
    read = (await registry.get(f"/agent-cards/{card.id}")).json()
    assert read["name"] == "agent.example.org"
    assert read["last_pull_attempt_at"] is None
    with pytest.raises(HostRefused):
        await stub(registry, "ftp://agent.example.org")


async def test_the_list_has_items_and_pagination_and_answers_with_and_without_slash(registry):
    for number in range(3):
        await publish(registry, f"Agent {number}")
    for path in ("/agent-cards/", "/agent-cards"):
        answer = (await registry.get(path, params={"limit": 2, "skip": 2})).json()
        assert [item["name"] for item in answer["items"]] == ["Agent 0"]
        assert answer["pagination"] == {
            "total_items": 3,
            "limit": 2,
            "offset": 2,
            "total_pages": 2,
            "current_page": 2,
        }
        assert answer["next"] is None
        assert answer["items"][0]["card_data"] is None


async def test_next_leads_through_the_whole_list_once(registry):
    for number in range(5):
        await publish(registry, f"Agent {number}")
    query, seen, offsets = {"limit": 2, "include_card_data": True}, [], []
    while True:
        page = (await registry.get("/agent-cards/", params=query)).json()
        seen += [item["card_data"]["name"] for item in page["items"]]
        offsets.append(page["pagination"]["offset"])
        assert page["pagination"]["total_items"] == 5
        if page["next"] is None:
            break
        query["next"] = page["next"]
    assert seen == [f"Agent {number}" for number in (4, 3, 2, 1, 0)]
    assert offsets == [0, 2, 4]


async def test_search_takes_every_character_as_itself(registry):
    await publish(registry, "100% sure_thing", description='It\'s \\ "quoted"')
    await publish(registry, "Plain", description="plain words")
    for text in ("100%", "SURE_", "it's \\", '"QUOTED"', "% s"):
        assert await names(registry, search=text) == ["100% sure_thing"], text
    for text in ("%%", "_lain", "x' OR '1'='1", "\\%", "100%\u200b"):
        assert await names(registry, search=text) == [], text


async def test_search_ignores_case_and_unicode_form_and_reads_name_and_description_only(registry):
    await publish(registry, "ŽLUŤOUČKÝ Straße", tags=["hidden"])
    assert await names(registry, search="žluťoučký") == ["ŽLUŤOUČKÝ Straße"]
    assert await names(registry, search="z\u030clu") == ["ŽLUŤOUČKÝ Straße"]
    assert await names(registry, search="STRASSE") == ["ŽLUŤOUČKÝ Straße"]
    assert await names(registry, search="hidden") == []


async def test_a_card_must_have_all_tags_itself_or_in_its_skills(registry):
    await publish(registry, "Both", tags=["a", "b"])
    await publish(registry, "One", tags=["a"])
    assert await names(registry, tags=["a", "b"]) == ["Both"]
    assert await names(registry, tags=["a"]) == ["One", "Both"]
    assert await names(registry, tags=["test", "b"]) == ["Both"]
    assert await names(registry, tags=["b'"]) == []


async def test_tee_filters_read_the_declared_details(registry):
    await publish(registry, "Plain")
    await publish(registry, "Enclave", capabilities={"teeDetails": {"type": "sgx"}})
    assert await names(registry, has_tee=True) == ["Enclave"]
    assert await names(registry, has_tee=False) == ["Plain"]
    assert await names(registry, tee_type="sgx") == ["Enclave"]
    assert await names(registry, tee_type="tdx") == []


async def test_mirrors_are_listed_only_where_asked_for(registry):
    await publish(registry, "Native")
    mirror = await publish(registry, "Mirror")
    await change(registry, mirror, source_registry="peer", developer_id=None, settlement_currency="XYZ")
    assert await names(registry) == ["Native"]
    assert await names(registry, include_federated=True) == ["Mirror", "Native"]
    assert await names(registry, include_federated=True, natives_only=True) == ["Native"]
    assert await names(registry, include_federated=True, foreign_only=True) == ["Mirror"]
    assert await names(registry, foreign_only=True) == []
    assert await names(registry, include_federated=True, bearing_encirclement=True) == []


async def test_own_cards_need_a_developer_and_unlisted_ones_an_administrator(registry):
    refused = await registry.get("/agent-cards/", params={"owned_only": True})
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "unauthorized"
    assert (await registry.get("/agent-cards/", params={"include_unlisted": True})).status_code == 403


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer not.a.token", "Bearer avreg_unknown"],
)
async def test_the_list_takes_an_empty_or_foreign_authorization_header_as_anonymous(
    authorization: str, registry: TestRegistry
):
    await publish(registry, "Shown")
    for path in ("/agent-cards/", "/agent-cards"):
        listed = await registry.get(path, headers={"Authorization": authorization})
        assert (listed.status_code, len(listed.json()["items"])) == (200, 1), listed.text


async def test_the_list_takes_an_ended_or_narrow_credential_and_an_agents_as_anonymous(
    registry: TestRegistry,
):
    developer = await registry.developer()
    agent = await developer.agent()
    narrow = await developer.api_key("profile:read")
    ended = {"Authorization": f"Bearer {developer.token}"}
    await registry.post("/auth/logout", headers=developer.headers)
    for headers, refusal in ((ended, 401), (agent.headers, 401), (narrow.headers, 403)):
        listed = await registry.get("/agent-cards/", headers=headers)
        assert (listed.status_code, len(listed.json()["items"])) == (200, 1), listed.text
        owned = await registry.get("/agent-cards/", params={"owned_only": True}, headers=headers)
        assert owned.status_code == refusal


async def test_an_owner_lists_own_cards_unlisted_and_suspended_ones_included(registry):
    developer = await registry.developer()
    profile = (await registry.get("/auth/profile", headers=developer.headers)).json()
    for name, members in (("Unlisted", {"unlisted": True}), ("Suspended", {"status": "suspended"})):
        await change(registry, await publish(registry, name, developer=profile["id"]), **members)
    await change(registry, await publish(registry, "Off", developer=profile["id"]), is_active=False)
    await publish(registry, "Somebody else's", developer=profile["id"] + 1)

    async def own(**query):
        answer = await registry.get(
            "/agent-cards/", params={"owned_only": True, **query}, headers=developer.headers
        )
        return [item["name"] for item in answer.json()["items"]]

    assert await own() == ["Suspended", "Unlisted"]
    assert await own(active_only=False) == ["Off", "Suspended", "Unlisted"]


@pytest.mark.parametrize(
    "query",
    [
        "skip=-1",
        "skip=1000000000000000000",
        "skip=99999999999999999999999999",
        "skip=x",
        "limit=0",
        "limit=5001",
        "search=" + "x" * 101,
        "tee_type=" + "x" * 51,
        "tags=" + "x" * 61,
        "tags=",
        "has_tee=perhaps",
        "updated_since=yesterday",
        "updated_since=0001-01-01T00:00:00%2B23:00",
        "updated_since=9999-12-31T23:59:59-23:00",
        "next=x",
        "next=%25",
        "next=W10",
        "next=WyJsIiwxXQ",
        "next=WyJjIiwxLDEsMSwxLDEsMV0",
        "next=WyJsIiwtMSwxLDFd",
        "next=" + "A" * 600,
    ],
)
async def test_a_query_value_out_of_bounds_is_a_422(registry, query):
    assert (await registry.get(f"/agent-cards/?{query}")).status_code == 422


@pytest.mark.parametrize("query", ["search=%00", "search=%ff", "tags=a%00", "next=%00"])
async def test_nul_and_broken_utf8_are_refused(registry, query):
    assert (await registry.get(f"/agent-cards/?{query}")).status_code in {400, 422}


async def test_updated_since_lists_by_change_the_oldest_first(registry):
    first, second = await publish(registry, "First"), await publish(registry, "Second")
    await change(registry, first, is_active=False)
    await change(registry, first, is_active=True)
    ago = datetime.now(UTC) - timedelta(hours=1)
    assert await names(registry, updated_since=ago.isoformat()) == ["Second", "First"]
    timestamp = (await registry.get(f"/agent-cards/{first.id}")).json()["updated_at"]
    assert await names(registry, updated_since=timestamp) == ["First"]
    later = (datetime.now(UTC) + timedelta(hours=1)).replace(tzinfo=None)
    assert await names(registry, updated_since=later.isoformat()) == []
    assert second.name == "Second"


@pytest.mark.parametrize(
    "place",
    [
        ChangesCursor(0, BIGINT_MAX, BIGINT_MAX, BIGINT_MAX, BIGINT_MAX, BIGINT_MAX, BIGINT_MAX),
        ChangesCursor(BIGINT_MAX, BIGINT_MAX, 0, 0),
        ListingCursor(BIGINT_MAX, BIGINT_MAX, BIGINT_MAX),
    ],
)
async def test_a_forged_place_is_answered_or_refused(registry, place):
    await publish(registry)
    answer = await registry.get("/agent-cards/", params={"next": encode(place)})
    assert answer.status_code in {200, 422}


async def follow(registry, query):
    """Read on until everything is read; the names seen, in order. The query then resumes from there."""
    seen = []
    while True:
        page = (await registry.get("/agent-cards/", params=query)).json()
        seen += [item["name"] for item in page["items"]]
        query["next"] = page["next"] or page["resume"]
        if page["next"] is None:
            return seen


async def test_a_follower_hears_of_every_change_and_then_of_nothing(registry):
    cards = [await publish(registry, f"Agent {number}") for number in range(5)]
    await registry.transactions_ended()
    query = {"updated_since": "2000-01-01T00:00:00Z", "limit": 2}
    assert (await follow(registry, query))[:5] == [f"Agent {number}" for number in range(5)]
    await follow(registry, query)
    assert await follow(registry, query) == []
    await change(registry, cards[1], settlement_currency="XYZ")
    await publish(registry, "Agent 5")
    await registry.transactions_ended()
    assert await follow(registry, query) == ["Agent 1", "Agent 5"]
    assert await follow(registry, query) == []


async def test_changes_that_commit_out_of_order_are_all_heard(registry):
    """The earlier transaction commits after a reader has passed the later one."""
    query = {"updated_since": "2000-01-01T00:00:00Z"}
    await follow(registry, query)
    written, may_commit = asyncio.Event(), asyncio.Event()

    async def slow(tx):
        settings = registry.settings
        card = await publish_card(
            tx, did=new_did(), developer_id=1, card_data=card_of("Slow"), settings=settings
        )
        written.set()
        await may_commit.wait()
        return card

    slow_one = asyncio.create_task(registry.database.transaction(slow))
    await written.wait()
    await publish(registry, "Quick")
    seen = await follow(registry, query)
    may_commit.set()
    await slow_one
    await registry.transactions_ended()
    seen += await follow(registry, query)
    assert sorted(set(seen)) == ["Quick", "Slow"]


async def test_a_first_reading_while_a_change_is_open_misses_nothing_either(registry):
    await publish(registry, "Before")
    written, may_commit = asyncio.Event(), asyncio.Event()

    async def slow(tx):
        await publish_card(
            tx, did=new_did(), developer_id=1, card_data=card_of("Slow"), settings=registry.settings
        )
        written.set()
        await may_commit.wait()

    slow_one = asyncio.create_task(registry.database.transaction(slow))
    await written.wait()
    await publish(registry, "Quick")
    query = {"updated_since": "2000-01-01T00:00:00Z", "limit": 1}
    first_page = (await registry.get("/agent-cards/", params=query)).json()
    assert [item["name"] for item in first_page["items"]] == ["Before"]
    query["next"] = first_page["next"]
    seen = await follow(registry, query)
    assert seen == ["Quick"]
    may_commit.set()
    await slow_one
    assert set(await follow(registry, query)) == {"Quick", "Slow"}


async def test_many_writers_and_one_follower_agree_in_the_end(registry):
    query, seen = {"updated_since": "2000-01-01T00:00:00Z", "limit": 3}, set()
    writers = asyncio.gather(*(publish(registry, f"Agent {number}") for number in range(40)))
    while not writers.done():
        seen |= set(await follow(registry, query))
    await writers
    seen |= set(await follow(registry, query))
    assert len(seen) == 40


async def test_a_card_can_be_judged_before_it_is_published(registry):
    good = (await registry.post("/utils/validate-card", json={"card_data": card_of()})).json()
    assert (good["is_valid"], good["errors"]) == (True, [])
    assert good["validated_card_data"]["url"] == "https://agent.example.org/a2a"
    for card in ({}, {**card_of(), "name": ""}, "x", None, [], {**card_of(), "skills": [{}]}):
        answer = await registry.post("/utils/validate-card", json={"card_data": card})
        assert answer.status_code == 200
        bad = answer.json()
        assert bad["is_valid"] is False
        assert bad["detail"]
        assert bad["errors"][0].keys() == {"field", "message"}
        assert all(error["field"].startswith("$") for error in bad["errors"])
        assert bad["validated_card_data"] is None
    assert (await registry.post("/utils/validate-card", json={})).status_code == 422


async def test_validate_card_says_what_a_card_in_the_older_form_was_completed_with(registry):
    older = {name: value for name, value in card_of(tags=["cloth"]).items() if name != "version"}
    older |= {"agentVersion": "2.0", "provider": {"name": "Acme"}}
    older["skills"] = [{"id": "weave", "name": "Weaving", "description": "Weaves."}]
    verdict = (await registry.post("/utils/validate-card", json={"card_data": older})).json()
    assert (verdict["is_valid"], verdict["errors"]) == (True, [])
    assert {one["field"] for one in verdict["completed"]} == {
        "$.version",
        "$.provider.organization",
        "$.provider.url",
        "$.skills[0].tags",
    }
    assert verdict["detail"] == "The card is valid; members completed: 4."
    assert verdict["validated_card_data"]["skills"][0]["tags"] == ["cloth"]
    whole = (await registry.post("/utils/validate-card", json={"card_data": card_of()})).json()
    assert whole["completed"] == []
