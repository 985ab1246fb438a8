"""Cards that leave the public listings: their notices, their remains, and their former content."""

from datetime import timedelta
from typing import Any

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.canonical import digest
from hansa.rooms import catalogue
from hansa.rooms.agents import revoke
from hansa.rooms.catalogue.retire import ACCOUNT_END_OF_CARDS, erase_old
from tests.registry import StartRegistry, TestDeveloper, TestRegistry, card_of
from tests.rooms.catalogue.catalogue_cards import change, names, publish

SINCE = "2000-01-01T00:00:00Z"
STONE = {"id", "did", "listing", "is_active", "status", "updated_at", "deleted_at"}


async def page(
    registry: TestRegistry, developer: TestDeveloper | None = None, **query: Any
) -> dict[str, Any]:
    headers = developer.headers if developer else {}
    answer = await registry.get("/agent-cards/", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def changes(
    registry: TestRegistry, query: dict[str, Any]
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Read on until everything is read: the names seen, and the tombstones by DID. The query then resumes from there."""
    seen: list[str] = []
    stones: dict[str, dict[str, Any]] = {}
    while True:
        answer = await page(registry, **query)
        seen += [item["name"] for item in answer["items"]]
        stones |= {stone["did"]: stone for stone in answer["tombstones"]}
        query.pop("next", None)
        query["resume"] = answer["resume"]
        if answer["next"] is None:
            return seen, stones
        query["next"] = answer["next"]


async def age(registry: TestRegistry, did: str, days: int) -> None:
    """Move the time since which the card is hidden back by so many days."""
    statement = "UPDATE catalogue_card SET hidden_since = hidden_since - $2::interval WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, did, timedelta(days=days)))


async def test_a_follower_hears_of_cards_that_leave_and_learns_nothing_of_their_text(registry: TestRegistry):
    query: dict[str, Any] = {"updated_since": SINCE, "limit": 2, "include_card_data": True}
    cards = {
        name: await publish(registry, name, tags=["secret"])
        for name in ("Unlisted", "Off", "Suspended", "Revoked", "Shown")
    }
    seen, stones = await changes(registry, query)
    assert (set(seen), stones) == (set(cards), {})
    await change(registry, cards["Unlisted"], unlisted=True)
    await change(registry, cards["Off"], is_active=False)
    await change(registry, cards["Suspended"], status="suspended")
    await registry.database.transaction(lambda tx: catalogue.retire_card(tx, str(cards["Revoked"].did)))
    seen, stones = await changes(registry, query)
    assert seen == []
    tombstones = {name: stones[str(card.did)] for name, card in cards.items() if name != "Shown"}
    assert all(set(stone) == STONE for stone in tombstones.values())
    assert [tombstones["Unlisted"][member] for member in ("listing", "status", "deleted_at")] == [
        {"unlisted": True},
        "active",
        None,
    ]
    assert [tombstones["Off"][member] for member in ("listing", "is_active", "deleted_at")] == [
        {"unlisted": False},
        False,
        None,
    ]
    assert [tombstones["Suspended"][member] for member in ("status", "deleted_at")] == ["suspended", None]
    assert tombstones["Revoked"]["status"] == "revoked"
    assert tombstones["Revoked"]["deleted_at"] is not None
    assert await changes(registry, query) == ([], {})
    await change(registry, cards["Unlisted"], unlisted=False)
    assert await changes(registry, query) == (["Unlisted"], {})


async def test_limit_and_total_count_cards_and_tombstones_come_in_addition(registry: TestRegistry):
    for number in range(3):
        hidden = await publish(registry, f"Hidden {number}")
        await change(registry, hidden, unlisted=True)
        await publish(registry, f"Shown {number}")
    await change(registry, await publish(registry, "Hidden 3"), unlisted=True)
    query: dict[str, Any] = {"updated_since": SINCE, "limit": 2}
    first = await page(registry, **query)
    assert [item["name"] for item in first["items"]] == ["Shown 0", "Shown 1"]
    assert (len(first["tombstones"]), first["pagination"]["total_items"]) == (2, 3)
    assert first["next"]
    last = await page(registry, **query, next=first["next"])
    assert [item["name"] for item in last["items"]] == ["Shown 2"]
    assert (len(last["tombstones"]), last["pagination"]["total_items"]) == (2, 3)
    assert last["next"] is None
    for member in ("next", "resume"):
        later = await page(registry, **query, **{member: last["resume"]})
        assert (later["items"], later["tombstones"], later["next"]) == ([], [], None)
        assert later["pagination"]["total_items"] == 0
    exact = await page(registry, updated_since=SINCE, limit=3)
    assert (len(exact["items"]), len(exact["tombstones"]), exact["next"]) == (3, 4, None)


async def test_a_listing_of_the_newest_has_no_place_to_resume(registry: TestRegistry):
    await publish(registry)
    assert (await page(registry))["resume"] is None


async def test_a_page_with_too_many_tombstones_ends_early_and_loses_none(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.catalogue.changes.TOMBSTONES_MAX", 2)
    dids = set()
    for number in range(5):
        hidden = await publish(registry, f"Hidden {number}")
        await change(registry, hidden, unlisted=True)
        dids.add(str(hidden.did))
        if number in {0, 4}:
            await publish(registry, f"Shown {number}")
    query: dict[str, Any] = {"updated_since": SINCE, "limit": 10}
    seen, stones = await changes(registry, query)
    assert (seen, set(stones)) == (["Shown 0", "Shown 4"], dids)
    assert await changes(registry, query) == ([], {})


async def test_who_does_not_follow_changes_sees_no_tombstone_and_no_hidden_card(registry: TestRegistry):
    hidden = await publish(registry, "Hidden", tags=["secret"])
    await change(registry, hidden, unlisted=True)
    listed = await page(registry)
    assert (listed["items"], listed["tombstones"], listed["pagination"]["total_items"]) == ([], None, 0)
    # A filter does not reveal whether a hidden card holds what is looked for.
    for query in (
        {"search": "Hidden"},
        {"search": "No such"},
        {"tags": "secret"},
        {"tags": "none"},
        {"has_tee": True},
    ):
        followed = await page(registry, updated_since=SINCE, **query)
        assert (followed["items"], len(followed["tombstones"])) == ([], 1), query
    text = str(await page(registry, updated_since=SINCE, include_card_data=True))
    assert not {"Hidden", "secret"} & set(text.replace("'", " ").split())


async def test_a_tombstone_stands_for_thirty_days(registry: TestRegistry):
    card = await publish(registry)
    await registry.database.transaction(lambda tx: catalogue.retire_card(tx, str(card.did)))
    await age(registry, str(card.did), 29)
    assert len((await page(registry, updated_since=SINCE))["tombstones"]) == 1
    await age(registry, str(card.did), 2)
    assert (await page(registry, updated_since=SINCE))["tombstones"] == []


async def test_mirrors_leave_only_for_those_who_follow_mirrors(registry: TestRegistry):
    mirror = await publish(registry, "Mirror")
    await change(registry, mirror, source_registry="peer", developer_id=None)
    await change(registry, mirror, unlisted=True)
    assert (await page(registry, updated_since=SINCE))["tombstones"] == []
    assert len((await page(registry, updated_since=SINCE, include_federated=True))["tombstones"]) == 1
    both = {"include_federated": True, "natives_only": True}
    assert (await page(registry, updated_since=SINCE, **both))["tombstones"] == []


@pytest.mark.parametrize("area", sorted(ADMIN_AREAS))
async def test_administrators_of_every_area_list_what_is_unlisted(area: str, registry: TestRegistry):
    await change(registry, await publish(registry, "Unlisted"), unlisted=True)
    await change(registry, await publish(registry, "Suspended"), status="suspended")
    await publish(registry, "Shown")
    administrator = await registry.administrator(area)
    listed = await page(registry, administrator, include_unlisted=True)
    assert [item["name"] for item in listed["items"]] == ["Shown", "Unlisted"]
    narrow = await administrator.api_key("cards:read")
    for stranger in (narrow, await registry.developer()):
        headers = stranger.headers
        assert (await registry.get("/agent-cards/?include_unlisted=true", headers=headers)).status_code == 403
    wide = await administrator.api_key("cards:read", f"admin:{area}")
    assert len((await page(registry, wide, include_unlisted=True))["items"]) == 2
    assert await names(registry) == ["Shown"]


async def test_under_two_factor_for_administrators_an_account_without_it_lists_nothing_unlisted(
    start_registry: StartRegistry,
):
    registry = await start_registry(require_admin_2fa=True)
    administrator = await registry.administrator("admin_enforcement")
    headers = administrator.headers
    assert (await registry.get("/agent-cards/?include_unlisted=true", headers=headers)).status_code == 403


async def test_the_versions_of_a_card_show_what_it_said_and_when(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="One", pricing={"base_rate": 1})
    first = (await registry.get(f"/agent-cards/{agent.did}")).json()
    for name in ("Two", "Three"):
        body = {"card_data": card_of(name, pricing={"base_rate": 2})}
        await registry.http.put(f"/api/v1/agent-cards/{agent.did}", json=body, headers=developer.headers)
    paths = (
        f"/agent-cards/{first['id']}/versions",
        f"/agent-cards/{first['card_id']}/versions",
        f"/agents/{agent.did}/versions",
    )
    answers = [(await registry.get(path)).json() for path in paths]
    assert answers[0] == answers[1] == answers[2]
    versions = answers[0]["versions"]
    assert [(one["version"], one["source"]) for one in versions] == [(3, "owner"), (2, "owner"), (1, "owner")]
    assert versions[0]["changed_at"] > versions[1]["changed_at"] > versions[2]["changed_at"]
    for one in versions:
        read = (await registry.get(f"{paths[0]}/{one['version']}")).json()
        document = read.pop("card_data")
        assert read == one
        assert digest(document).hex() == one["card_hash"]
        assert "extensions" not in document
    assert document["pricing"] == {"base_rate": 1}
    for path, code in (
        (f"{paths[0]}/4", "CARD_VERSION_UNKNOWN"),
        ("/agent-cards/nobody/versions", "CARD_UNKNOWN"),
        ("/agent-cards/999999/versions/1", "CARD_UNKNOWN"),
        ("/agents/did:hansa:nobody/versions", "CARD_UNKNOWN"),
    ):
        answer = await registry.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, code)
    for number in ("0", "-1", "x", "99999999999"):
        assert (await registry.get(f"{paths[0]}/{number}")).status_code == 422


@pytest.mark.parametrize("removal", ["switched off", "deleted", "agent revoked"])
async def test_the_versions_of_a_withdrawn_card_are_readable_by_its_owner_alone(
    removal: str, registry: TestRegistry
):
    owner, stranger = await registry.developer(), await registry.developer()
    agent = await owner.agent(name="One")
    path = f"/agent-cards/{agent.did}"
    body = {"card_data": card_of("Two")}
    assert (await registry.http.put("/api/v1" + path, json=body, headers=owner.headers)).status_code == 200
    if removal == "switched off":
        await registry.http.put("/api/v1" + path, json={"is_active": False}, headers=owner.headers)
    elif removal == "deleted":
        await registry.http.delete("/api/v1" + path, headers=owner.headers)
    else:
        await registry.database.transaction(lambda tx: revoke(tx, agent.did, by="owner"))
    key = await owner.api_key("cards:read")
    narrow = await owner.api_key("profile:read")
    assert (await registry.get(path)).status_code == 200
    for versions in (f"{path}/versions", f"{path}/versions/1", f"/agents/{agent.did}/versions"):
        for reader in (owner.headers, key.headers):
            assert (await registry.get(versions, headers=reader)).status_code == 200, versions
        for reader in ({}, stranger.headers, narrow.headers, {"Authorization": f"Bearer {agent.token}"}):
            answer = await registry.get(versions, headers=reader)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "CARD_UNKNOWN"), versions


async def test_the_versions_of_an_unlisted_or_suspended_card_stay_public(registry: TestRegistry):
    agent = await (await registry.developer()).agent(name="One")
    statement = "UPDATE catalogue_card SET unlisted = true, status = 'suspended' WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, agent.did))
    assert (await registry.get(f"/agents/{agent.did}/versions")).status_code == 200


async def test_when_the_tombstone_ends_the_document_is_erased_with_its_versions(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="Personal", humanReadableId="jane/doe", tags=["personal"])
    body = {"card_data": card_of("Personal too", humanReadableId="jane/doe")}
    await registry.http.put(f"/api/v1/agent-cards/{agent.did}", json=body, headers=developer.headers)
    await registry.database.transaction(lambda tx: revoke(tx, agent.did, by="owner"))
    await registry.database.transaction(erase_old)
    assert (await registry.get(f"/agent-cards/{agent.did}")).json()["name"] == "Personal too"
    await age(registry, agent.did, 31)
    for _ in range(2):
        await registry.database.transaction(erase_old)
    read = await registry.get(f"/agent-cards/{agent.did}")
    assert (read.status_code, read.json()["status"], read.json()["did"]) == (200, "revoked", agent.did)
    history = await registry.get(f"/agents/{agent.did}/versions", headers=developer.headers)
    assert [one["version"] for one in history.json()["versions"]] == [2]
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT c::text FROM catalogue_card c UNION ALL SELECT v::text FROM catalogue_card_version v"
        )
    )
    assert not any(word in row[0].lower() for row in rows for word in ("personal", "jane"))
    assert (await registry.get(f"/agents/{agent.did}/did.json")).status_code in {200, 410}
    again = await registry.post(
        "/agent-cards/", json={"card_data": card_of(humanReadableId="jane/doe")}, headers=developer.headers
    )
    assert again.status_code == 201


async def test_with_the_account_its_cards_are_erased_at_once(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="Personal")
    number = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    made = await registry.post(
        "/agent-cards/", json={"card_data": card_of("Personal listing")}, headers=developer.headers
    )

    async def end(tx: Any) -> None:
        await revoke(tx, agent.did, by="account_deletion")
        await ACCOUNT_END_OF_CARDS.end(tx, number)

    await registry.database.transaction(end)
    for key in (agent.did, made.json()["id"]):
        read = (await registry.get(f"/agent-cards/{key}")).json()
        assert (read["status"], "ersonal" in str(read)) == ("revoked", False)
    stones = (await page(registry, updated_since=SINCE))["tombstones"]
    assert {stone["status"] for stone in stones} == {"revoked"}
    assert await names(registry) == []


async def test_the_listing_cards_of_a_suspended_developer_are_hidden_until_they_return(
    registry: TestRegistry,
):
    developer, administrator = await registry.developer(), await registry.administrator("admin_enforcement")
    number = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    made = await registry.post(
        "/agent-cards/", json={"card_data": card_of("Listing")}, headers=developer.headers
    )
    assert await names(registry) == ["Listing"]
    for act, status, listed in (("suspend", "suspended", []), ("reinstate", "active", ["Listing"])):
        path = f"/admin/developers/{number}/{act}"
        answer = await registry.post(path, json={"reason": "Test."}, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
        assert (await registry.get(f"/agent-cards/{made.json()['id']}")).json()["status"] == status
        assert await names(registry) == listed


@pytest.mark.parametrize("member", ["is_active", "unlisted"])
async def test_an_owner_follows_own_hidden_cards_as_cards(member: str, registry: TestRegistry):
    developer = await registry.developer()
    number = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    card = await publish(registry, "Mine", developer=number)
    await change(registry, card, **{member: member == "unlisted"})
    followed = await page(registry, developer, updated_since=SINCE, owned_only=True, active_only=False)
    assert ([item["name"] for item in followed["items"]], followed["tombstones"]) == (["Mine"], [])
