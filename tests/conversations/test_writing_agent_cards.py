"""Acts of an owner on agent cards: create, replace, switch off and on, list and unlist, delete."""

import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry, at_once, card_of
from tests.rooms.catalogue.catalogue_cards import names


async def create(
    developer: TestDeveloper, card: Any, path: str = "/agent-cards/", **more: Any
) -> httpx2.Response:
    return await developer.registry.post(path, json={"card_data": card, **more}, headers=developer.headers)


async def put(developer: TestDeveloper, key: object, body: dict[str, Any], **headers: str) -> httpx2.Response:
    http = developer.registry.http
    return await http.put(f"/api/v1/agent-cards/{key}", json=body, headers={**developer.headers, **headers})


async def patch(developer: TestDeveloper, key: object, *, unlisted: Any, **headers: str) -> httpx2.Response:
    http, asked = developer.registry.http, {**developer.headers, **headers}
    return await http.patch(f"/api/v1/agent-cards/{key}/listing", json={"unlisted": unlisted}, headers=asked)


async def delete(developer: TestDeveloper, key: object, **headers: str) -> httpx2.Response:
    http = developer.registry.http
    return await http.delete(f"/api/v1/agent-cards/{key}", headers={**developer.headers, **headers})


async def read(registry: TestRegistry, key: object) -> dict[str, Any]:
    answer = await registry.get(f"/agent-cards/{key}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def lose_card(registry: TestRegistry, agent: TestAgent) -> None:
    """Delete the agent's card, as if the agent had been made without one."""
    statement = "DELETE FROM catalogue_card WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, agent.did))


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_listing_card_is_created_under_both_spellings_of_the_path(registry: TestRegistry):
    developer = await registry.developer()
    for number, path in enumerate(("/agent-cards/", "/agent-cards")):
        answer = await create(developer, card_of(f"Listing {number}"), path)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        assert made["did"] is None
        assert made["status"] == "active"
        again = await registry.get(answer.headers["location"].removeprefix("/api/v1"))
        assert again.json() == made
        assert again.headers["etag"] == answer.headers["etag"]
    assert await names(registry) == ["Listing 1", "Listing 0"]


async def test_a_card_is_created_for_an_own_active_agent_that_has_none(registry: TestRegistry):
    developer, other = await registry.developer(), await registry.developer()
    agent = await developer.agent(name="First")
    has_one = await create(developer, card_of("Second"), agent_did=agent.did)
    assert code_of(has_one) == (409, "CARD_EXISTS")
    await lose_card(registry, agent)
    assert code_of(await create(other, card_of(), agent_did=agent.did)) == (403, "NOT_THE_OWNER")
    nobody = f"did:hansa:hansa.local:{uuid4()}"
    assert code_of(await create(developer, card_of(), agent_did=nobody)) == (404, "AGENT_NOT_HERE")
    answers = await at_once(
        *(create(developer, card_of(f"At once {n}"), agent_did=agent.did) for n in range(3))
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert (await read(registry, agent.did))["did"] == agent.did
    await lose_card(registry, agent)
    doomed = await registry.http.delete(
        f"/api/v1/agents/{(await developer.agent(name='Two')).did}", headers=developer.headers
    )
    assert doomed.status_code == 200
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET status = 'suspended' WHERE did = $1", agent.did)
    )
    assert code_of(await create(developer, card_of(), agent_did=agent.did)) == (409, "AGENT_NOT_ACTIVE")


async def test_an_api_key_writes_cards_with_its_scope_only(registry: TestRegistry):
    developer = await registry.developer()
    writer, reader = await developer.api_key("cards:write"), await developer.api_key("cards:read")
    made = await create(writer, card_of())
    assert made.status_code == 201
    key = made.json()["id"]
    assert (await put(writer, key, {"is_active": False})).json()["is_active"] is False
    for refused in (
        await create(reader, card_of("Other")),
        await put(reader, key, {"is_active": True}),
        await patch(reader, key, unlisted=True),
        await delete(reader, key),
    ):
        assert code_of(refused) == (403, "SCOPE_MISSING")
    assert (await delete(writer, key)).status_code == 204


async def test_a_put_replaces_the_whole_document(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="Before", tags=["old"], pricing={"base_rate": 1})
    before = await read(registry, agent.did)
    answer = await put(developer, agent.did, {"card_data": card_of("After", skills=card_of("New")["skills"])})
    assert answer.status_code == 200, answer.text
    after = answer.json()
    assert after == await read(registry, agent.did)
    assert (after["name"], after["description"]) == ("After", "After: an agent for tests.")
    assert not {"tags", "pricing", "extensions"} & after["card_data"].keys()
    assert after["human_readable_id"] == before["human_readable_id"] == after["card_data"]["humanReadableId"]
    assert (after["id"], after["created_at"]) == (before["id"], before["created_at"])
    assert after["updated_at"] > before["updated_at"]
    assert await names(registry, search="after") == ["After"]
    assert await names(registry, search="before") == []


async def test_an_owner_who_reads_a_card_changes_one_half_and_writes_it_back_changes_both(
    registry: TestRegistry,
):
    developer = await registry.developer()
    agent = await developer.agent(supportsAuthenticatedExtendedCard=True)
    for change, derived in (
        ({"version": "2.0.0"}, {"agentVersion": "2.0.0"}),
        ({"agentVersion": "3.0.0"}, {"version": "3.0.0"}),
        ({"url": "https://moved.example.org/a2a"}, {"supportedInterfaces": "https://moved.example.org/a2a"}),
        ({"authSchemes": [{"scheme": "bearer"}]}, {"security": [{"bearer": []}]}),
        ({"supportsAuthenticatedExtendedCard": False}, {"capabilities": {"streaming": False}}),
    ):
        before = (await read(registry, agent.did))["card_data"]
        answer = await put(developer, agent.did, {"card_data": {**before, **change}})
        assert answer.status_code == 200, answer.text
        card = answer.json()["card_data"]
        (only,) = card["supportedInterfaces"]
        shown = {**card, "supportedInterfaces": only["url"]}
        assert {name: shown[name] for name in derived} == derived
        assert {name: card[name] for name in change} == change
        again = await put(developer, agent.did, {"card_data": card})
        assert again.json() == answer.json()


async def test_a_card_of_which_both_halves_were_changed_to_opposite_abilities_is_refused(
    registry: TestRegistry,
):
    developer = await registry.developer()
    agent = await developer.agent()
    before = await read(registry, agent.did)
    opposite = {"supportsAuthenticatedExtendedCard": True, "capabilities": {"extendedAgentCard": False}}
    answer = await put(developer, agent.did, {"card_data": {**before["card_data"], **opposite}})
    assert code_of(answer) == (422, "CARD_INVALID")
    assert await read(registry, agent.did) == before


@pytest.mark.parametrize("by", ["id", "did", "card_id"])
async def test_a_card_is_written_by_uuid_did_and_number(by: str, registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    key = (await read(registry, agent.did))[by]
    assert (await put(developer, key, {"is_active": False})).json()["is_active"] is False
    assert (await patch(developer, key, unlisted=True)).json()["listing"] == {"unlisted": True}
    assert (await delete(developer, key)).status_code == 204


async def test_whatever_else_a_put_says_is_ignored_and_nothing_is_written(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(pricing={"base_rate": 1})
    before = await read(registry, agent.did)
    for body in (
        {},
        {"card_data": None, "is_active": None},
        {"status": "revoked", "did": None, "unlisted": True, "listing": {"unlisted": True}},
        {"card_data": before["card_data"], "is_active": True, "id": str(uuid4()), "version": 7},
    ):
        answer = await put(developer, agent.did, body)
        assert answer.status_code == 200, body
        assert answer.json() == before == await read(registry, agent.did), body


async def test_the_owner_switches_a_card_off_and_on_and_the_agent_keeps_working(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(name="Switched")
    for turn_off in (
        lambda: put(developer, agent.did, {"is_active": False}),
        lambda: delete(developer, agent.did),
        lambda: patch(developer, agent.did, unlisted=True),
    ):
        assert (await turn_off()).status_code in {200, 204}
        assert await names(registry) == []
        assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
        assert (await read(registry, agent.did))["status"] == "active"
        assert (await put(developer, agent.did, {"is_active": True})).status_code == 200
        assert (await patch(developer, agent.did, unlisted=False)).status_code == 200
        assert await names(registry) == ["Switched"]


async def test_deleting_twice_is_no_trouble_and_has_no_body(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    for _ in range(2):
        answer = await delete(developer, agent.did)
        assert (answer.status_code, answer.content) == (204, b"")
    assert (await read(registry, agent.did))["is_active"] is False


async def test_only_the_owner_writes_a_card(registry: TestRegistry):
    owner, other = await registry.developer(), await registry.developer()
    agent = await owner.agent()
    administrator = await registry.administrator("admin_enforcement", "admin_platform")
    before = await read(registry, agent.did)
    for stranger in (other, administrator):
        for answer in (
            await put(stranger, agent.did, {"is_active": False}),
            await put(stranger, agent.did, {}),
            await patch(stranger, agent.did, unlisted=True),
            await delete(stranger, agent.did),
        ):
            assert code_of(answer) == (403, "CARD_NOT_YOURS")
    for answer in (
        await put(owner, uuid4(), {}),
        await put(owner, 999_999, {}),
        await patch(owner, "nobody", unlisted=True),
        await delete(owner, f"did:hansa:{uuid4()}"),
    ):
        assert code_of(answer) == (404, "CARD_UNKNOWN")
    assert await read(registry, agent.did) == before


async def test_a_suspended_card_may_be_edited_and_stays_suspended(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    administrator = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "Test.", "soft_suspend": False}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    edited = await put(developer, agent.did, {"card_data": card_of("Mended"), "is_active": True})
    assert edited.status_code == 200, edited.text
    assert (edited.json()["name"], edited.json()["status"]) == ("Mended", "suspended")
    assert await names(registry) == []


async def test_a_revoked_card_changes_no_more(registry: TestRegistry):
    developer = await registry.developer()
    await developer.agent(name="First")
    agent = await developer.agent(name="Doomed")
    ended = await registry.http.delete(f"/api/v1/agents/{agent.did}", headers=developer.headers)
    assert ended.status_code == 200, ended.text
    for answer in (
        await put(developer, agent.did, {"is_active": True}),
        await put(developer, agent.did, {"card_data": card_of("Risen")}),
        await patch(developer, agent.did, unlisted=False),
    ):
        assert code_of(answer) == (409, "CARD_REVOKED")
    assert (await delete(developer, agent.did)).status_code == 204
    assert (await put(developer, agent.did, {})).json()["status"] == "revoked"


async def test_a_suspended_developer_writes_no_cards(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    number = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    administrator = await registry.administrator("admin_enforcement")
    path = f"/admin/developers/{number}/suspend"
    await registry.post(path, json={"reason": "Test."}, headers=administrator.headers)
    for answer in (
        await create(developer, card_of()),
        await put(developer, agent.did, {"card_data": card_of("New")}),
        await patch(developer, agent.did, unlisted=True),
        await delete(developer, agent.did),
    ):
        assert code_of(answer) == (403, "DEVELOPER_SUSPENDED")


async def test_a_card_that_breaks_the_form_is_refused_whole(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    before = await read(registry, agent.did)
    for card in ({**card_of(), "name": ""}, {}, {**card_of(), "humanReadableId": "No Slash"}):
        answer = await put(developer, agent.did, {"card_data": card, "is_active": False})
        assert code_of(answer) == (422, "CARD_INVALID"), card
        assert (await create(developer, card)).status_code == 422
    for body in ({"card_data": "x"}, {"card_data": []}, {"is_active": "no"}, {"is_active": 0}):
        assert (await put(developer, agent.did, body)).status_code == 422, body
    for unlisted in (None, "true", 1):
        assert (await patch(developer, agent.did, unlisted=unlisted)).status_code == 422
    assert await read(registry, agent.did) == before


async def test_a_card_is_renamed_to_a_free_human_readable_id_only(registry: TestRegistry):
    developer = await registry.developer()
    first = (await create(developer, card_of("One", humanReadableId="acme/one"))).json()
    second = (await create(developer, card_of("Two", humanReadableId="acme/two"))).json()
    taken = await put(developer, second["id"], {"card_data": card_of("Two", humanReadableId="acme/one")})
    assert code_of(taken) == (409, "HUMAN_READABLE_ID_TAKEN")
    assert code_of(await create(developer, card_of("Three", humanReadableId="acme/one"))) == (
        409,
        "HUMAN_READABLE_ID_TAKEN",
    )
    renamed = await put(developer, second["id"], {"card_data": card_of("Two", humanReadableId="acme/three")})
    assert renamed.json()["human_readable_id"] == "acme/three"
    assert (await read(registry, "acme/three"))["id"] == second["id"]
    assert (await read(registry, "id/acme/one"))["id"] == first["id"]
    assert (await registry.get("/agent-cards/acme/two")).status_code == 404


async def test_a_reader_who_has_the_answer_gets_a_304(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(humanReadableId="acme/one")
    number = (await read(registry, agent.did))["card_id"]
    paths = (
        "/agent-cards/" + agent.did,
        f"/agent-cards/{number}",
        "/agent-cards/by-hri?hri=acme/one",
        "/agent-cards/id/acme/one",
        "/agent-cards/acme/one",
    )
    tags = {(await registry.get(path)).headers["etag"] for path in paths}
    (tag,) = tags
    assert tag[0] == tag[-1] == '"'
    for named in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = await registry.get(paths[0], headers={"If-None-Match": named})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag), named
    for named in ('"other"', tag.strip('"'), "", '"', "W/*"):
        assert (await registry.get(paths[0], headers={"If-None-Match": named})).status_code == 200, named
    await patch(developer, agent.did, unlisted=True)
    changed = await registry.get(paths[0], headers={"If-None-Match": tag})
    assert (changed.status_code, changed.headers["etag"] != tag) == (200, True)
    other = await registry.get(f"/agents/by-did/{agent.did}")
    again = await registry.get(
        f"/agents/by-did/{agent.did}", headers={"If-None-Match": other.headers["etag"]}
    )
    assert again.status_code == 304


async def test_a_write_that_names_another_state_than_the_present_one_is_refused(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    old = (await registry.get(f"/agent-cards/{agent.did}")).headers["etag"]
    first = await put(developer, agent.did, {"card_data": card_of("First")}, **{"If-Match": old})
    assert first.status_code == 200
    for stale in (old, f"W/{first.headers['etag']}", '"x"', "nonsense", ""):
        named = {"If-Match": stale}
        for refused in (
            await put(developer, agent.did, {"card_data": card_of("Second")}, **named),
            await patch(developer, agent.did, unlisted=True, **named),
            await delete(developer, agent.did, **named),
        ):
            assert code_of(refused) == (412, "PRECONDITION_FAILED"), stale
    assert (await read(registry, agent.did))["name"] == "First"
    for named in (first.headers["etag"], "*"):
        assert (await delete(developer, agent.did, **{"If-Match": named})).status_code in {204, 412}
    assert (await read(registry, agent.did))["is_active"] is False


async def test_every_change_that_a_write_could_lose_refuses_who_has_not_seen_it(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    document = (await read(registry, agent.did))["card_data"]
    for change in (
        lambda: put(developer, agent.did, {"card_data": {**document, "description": "Other."}}),
        lambda: put(developer, agent.did, {"card_data": document}),
        lambda: put(developer, agent.did, {"is_active": False}),
        lambda: patch(developer, agent.did, unlisted=True),
    ):
        seen = (await registry.get(f"/agent-cards/{agent.did}")).headers["etag"]
        changed = await change()
        assert changed.status_code == 200, changed.text
        late = await put(developer, agent.did, {"card_data": document}, **{"If-Match": seen})
        assert code_of(late) == (412, "PRECONDITION_FAILED")
        assert await read(registry, agent.did) == changed.json()


async def test_a_suspension_cannot_be_overwritten_and_refuses_no_writer(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    before = await registry.get(f"/agent-cards/{agent.did}")
    administrator = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "Test.", "soft_suspend": False}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    named = {"If-Match": before.headers["etag"]}
    written = await put(developer, agent.did, {"card_data": before.json()["card_data"]}, **named)
    assert (written.status_code, written.json()["status"]) == (200, "suspended")
    news = await registry.get(f"/agent-cards/{agent.did}", headers={"If-None-Match": named["If-Match"]})
    assert (news.status_code, news.json()["status"]) == (200, "suspended")


async def test_a_tag_of_one_card_opens_no_other(registry: TestRegistry):
    developer = await registry.developer()
    one, other = await developer.agent(name="One"), await developer.agent(name="Other")
    tag = (await registry.get(f"/agent-cards/{one.did}")).headers["etag"]
    refused = await delete(developer, other.did, **{"If-Match": tag})
    assert code_of(refused) == (412, "PRECONDITION_FAILED")


async def test_of_many_writers_who_read_the_same_state_one_wins(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent()
    tag = (await registry.get(f"/agent-cards/{agent.did}")).headers["etag"]
    answers = await at_once(
        *(
            put(developer, agent.did, {"card_data": card_of(f"Writer {n}")}, **{"If-Match": tag})
            for n in range(6)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 5
    (won,) = (answer.json()["name"] for answer in answers if answer.status_code == 200)
    assert (await read(registry, agent.did))["name"] == won


async def test_the_price_block_of_an_own_card_is_shown_as_a_payment_extension(registry: TestRegistry):
    developer = await registry.developer()
    agent = await developer.agent(pricing={"model": "per-request", "base_rate": 0.5})
    shown = await read(registry, agent.did)
    (extension,) = shown["card_data"]["extensions"]
    assert extension["uri"] == "https://hansa.dev/extensions/v1/auth/a2a-payment"
    assert extension["required"] is False
    assert extension["params"] == {"base_rate": "0.5", "currency": "AVT", "pricing_model": "per-request"}
    page = (await registry.get("/agent-cards/", params={"include_card_data": True})).json()
    assert page["items"][0]["card_data"] == shown["card_data"]
    # Read, changed and written back: the extension follows the block.
    dearer = {**shown["card_data"], "pricing": {"base_rate": 2, "currency": "xyz", "payment_required": True}}
    written = (await put(developer, agent.did, {"card_data": dearer})).json()
    (extension,) = written["card_data"]["extensions"]
    assert extension["required"] is True
    assert extension["params"] == {"base_rate": "2", "currency": "XYZ", "pricing_model": "per_request"}
    free = {name: member for name, member in written["card_data"].items() if name != "pricing"}
    assert "extensions" not in (await put(developer, agent.did, {"card_data": free})).json()["card_data"]


async def test_numbers_come_back_as_they_were_written(registry: TestRegistry):
    developer = await registry.developer()
    text = json.dumps({"card_data": card_of(x="NUMBERS")}).replace(
        '"NUMBERS"', "[1.0, 1, 1e308, 12345678901234567890123456789, -0.0, 1e-7]"
    )
    answer = await registry.post(
        "/agent-cards/", content=text, headers={**developer.headers, "Content-Type": "application/json"}
    )
    assert answer.status_code == 201, answer.text
    got = json.loads(
        (await registry.get(f"/agent-cards/{answer.json()['id']}")).text, parse_float=str, parse_int=str
    )
    assert got["card_data"]["x"] == ["1.0", "1", "1e+308", "12345678901234567890123456789", "-0.0", "1e-07"]


@pytest.mark.parametrize(
    "rate", ["1e3", "1E3", "0.1e2", "1e-5", "-0.0", "-1", "0.00001", "10000000000000000.5"]
)
@pytest.mark.parametrize("holder", ["pricing", "extension"])
async def test_a_rate_that_is_not_served_as_digits_is_refused(registry: TestRegistry, rate: str, holder: str):
    developer = await registry.developer()
    stated = {"base_rate": "RATE"}
    extension = {"uri": "https://other.example/extensions/v1/auth/a2a-payment", "params": stated}
    more = {"pricing": stated} if holder == "pricing" else {"extensions": [extension]}
    headers = {**developer.headers, "Content-Type": "application/json"}

    async def written(number: str) -> httpx2.Response:
        text = json.dumps({"card_data": card_of(**more)}).replace('"RATE"', number)
        return await registry.post("/agent-cards/", content=text, headers=headers)

    refused = await written(rate)
    assert refused.status_code == 422, refused.text
    assert "without sign and exponent" in refused.text
    verdict = await registry.post(
        "/utils/validate-card",
        content=json.dumps({"card_data": card_of(**more)}).replace('"RATE"', rate),
        headers=headers,
    )
    assert verdict.json()["is_valid"] is False, verdict.text
    for plain in ("0.0001", "1000", "1000.0", '"0.00000001"'):
        taken = await written(plain)
        assert taken.status_code == 201, taken.text
        read = await registry.get(f"/agent-cards/{taken.json()['id']}")
        assert f'"base_rate":{plain}' in read.text


async def test_a_developer_has_a_bounded_number_of_listing_cards(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.catalogue.owning.create.LISTING_CARDS_MAX", 3)
    developer = await registry.developer()
    answers = await at_once(*(create(developer, card_of(f"Listing {n}")) for n in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 2
    assert {code_of(answer)[1] for answer in answers if answer.status_code == 409} == {
        "LISTING_CARDS_TOO_MANY"
    }


async def test_the_derived_terms_state_the_settlement_currency_of_the_registry(start_registry: StartRegistry):
    registry = await start_registry(settlement_currency="XUN", extension_base="https://ext.example")
    agent = await registry.agent(pricing={"base_rate": 3})
    (extension,) = (await read(registry, agent.did))["card_data"]["extensions"]
    assert extension["uri"].startswith("https://ext.example/")
    assert extension["params"]["currency"] == "XUN"
