"""Pages of the event log and of transactions: they show the public facts, and nothing more."""

import json
import re
from html import unescape

import pytest

from hansa.doors.console.event_sentences import SENTENCES
from hansa.foundation.events import event_types
from hansa.foundation.events.schemas import event_schema
from tests.doors.pages_read import ReadPage
from tests.registry import TestRegistry

BROWSER = {"Accept": "text/html"}
# Scripts, ends of elements and attributes, and signs that turn the text around them.
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2066'


async def events_of(registry: TestRegistry, **filters: str) -> list[dict]:
    answer = await registry.http.get("/events.json", params=filters)
    assert answer.status_code == 200, answer.text
    return answer.json()["events"]


async def test_the_list_of_events_shows_the_newest_first_and_pages_to_the_oldest(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    for _ in range(25):
        assert (await payer.transfer(payee, "1")).status_code == 200
    everything, page = [], (await registry.http.get("/events.json")).json()
    everything += page["events"]
    while page["older"]:
        page = (await registry.http.get("/events.json", params={"before": page["older"]})).json()
        everything += page["events"]
    numbers = [event["sequence"] for event in everything]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == len(set(numbers)) > 75
    kinds = {event["sequence"]: event["event_type"] for event in everything}
    html = (await registry.http.get("/events")).text
    shown = [int(number) for number in re.findall(r'<a href="/events/(\d+)">', html)]
    entries = {"LedgerBalanceChanged", "TransactionFeeCollected"}
    assert shown == [number for number in numbers if kinds[number] not in entries][:50]
    html = (await registry.http.get("/events?entries=true")).text
    assert [int(number) for number in re.findall(r'<a href="/events/(\d+)">', html)] == numbers[:50]
    assert 'rel="next"' in html


async def test_an_event_is_a_sentence_with_the_names_of_the_agents_in_it(registry: TestRegistry):
    payer, payee = await registry.agent(name="Lingua"), await registry.agent(name="Redpen")
    done = (await payer.transfer(payee, "10", message="for your eyes")).json()
    path = f"/transactions/{done['transaction_id']}"
    number = (await events_of(registry, did=payee.did, type="TokensTransferred"))[0]["sequence"]
    for page in ("/events", f"/events?did={payee.did}", f"/events/{number}", path):
        text = unescape(re.sub(r"<[^>]*>", " ", (await registry.http.get(page)).text))
        words = " ".join(text.split())
        said = f"Lingua did:…{payer.did[-4:]} paid Redpen did:…{payee.did[-4:]} 10 AVT"
        assert said in words, (page, words[-2000:])
        assert "for your eyes" not in words


def test_each_public_type_of_event_has_a_sentence_of_its_members():
    for kind in event_types():
        if kind.is_private:
            continue
        members = event_schema(kind)["properties"].keys()
        named = set(re.findall(r"\{(\w+)\}", SENTENCES[kind.__name__]))
        assert named <= members, kind.__name__


async def test_the_list_of_events_is_filtered_by_type_and_did(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    await payer.transfer(payee, "2")
    assert {event["event_type"] for event in await events_of(registry, type="TokensTransferred")} == {
        "TokensTransferred"
    }
    found = await events_of(registry, did=payee.did, type="TokensTransferred")
    # The genesis grant is a transfer to the agent as well.
    assert [event["data"]["to"] for event in found] == [payee.did, payee.did]
    assert found[0]["data"]["amount"] == "2"
    of_payee = await events_of(registry, did=payee.did)
    assert {"AgentOnboarded", "TokensTransferred"} <= {event["event_type"] for event in of_payee}
    assert await events_of(registry, did="did:hansa:hansa.local:nobody") == []


async def test_events_show_neither_memos_nor_balances_nor_private_events(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    done = (await payer.transfer(payee, "2", message="for your eyes")).json()
    number = next(e["sequence"] for e in await events_of(registry, did=payee.did, type="TokensTransferred"))
    pages = [
        *("/events", f"/events?did={payee.did}", f"/events/{number}", f"/events/{number - 1}"),
        *(f"/transactions/{done['transaction_id']}", f"/transactions/{done['transaction_id']}.json"),
    ]
    for path in pages:
        answer = await registry.http.get(path)
        assert (path, answer.status_code) == (path, 200)
        assert "for your eyes" not in answer.text
        assert "balance_after" not in answer.text
    private = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT seq FROM journal_event WHERE event_type = 'DeveloperRegistered' LIMIT 1"
        )
    )
    if private is not None:
        assert (await registry.http.get(f"/events/{private}")).status_code == 404


async def test_the_page_of_a_transaction_shows_entries_that_add_up_and_its_events(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    done = (await payer.transfer(payee, "10")).json()
    answer = await registry.http.get(f"/transactions/{done['transaction_id']}")
    text = answer.text
    for part in ("-10.05", ">10<", "0.05", '<td class="number">0</td>', "Final", payee.did):
        assert part in text
    document = (await registry.http.get(f"/transactions/{done['transaction_id']}.json")).json()
    assert [event["event_type"] for event in document["events"]] == [
        *("LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"),
    ]


async def test_pages_of_records_answer_json_by_suffix_and_by_accept(registry: TestRegistry):
    await registry.agent()
    number = (await events_of(registry))[0]["sequence"]
    for path in ("/events", f"/events/{number}", "/transactions/tx-1"):
        by_suffix = await registry.http.get(f"{path}.json", headers=BROWSER)
        by_accept = await registry.http.get(path, headers={"Accept": "application/json"})
        page = await registry.http.get(path, headers=BROWSER)
        assert by_suffix.headers["content-type"] == by_accept.headers["content-type"] == "application/json"
        assert by_suffix.json() == by_accept.json()
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["vary"] == by_accept.headers["vary"] == "Accept, Accept-Encoding"
        assert f'href="{path}.json"' in page.text


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_unknown_records_and_invalid_filters_are_refused_as_a_page(registry: TestRegistry):
    refused = {
        "/events/999999": 404,
        "/events/999999.json": 404,
        "/events/0": 422,
        "/events/99999999999999999999": 422,
        "/events?type=lower": 422,
        "/events?before=no-cursor": 422,
        "/events.json?before=AAAA": 422,
        "/events?did=" + "x" * 513: 422,
        "/events/stream?after=no-cursor": 422,
        "/transactions/tx-999999": 404,
        "/transactions/tx-0": 422,
        "/transactions/tx-x": 404,
    }
    for path, status in refused.items():
        answer = await registry.http.get(path, headers=BROWSER)
        assert (path, answer.status_code) == (path, status)
        assert "<h1>" in answer.text


async def test_nothing_a_stranger_writes_becomes_markup_on_pages_of_records(registry: TestRegistry):
    payer, payee = await registry.agent(name=HOSTILE[:100]), await registry.agent()
    done = (await payer.transfer(payee, "1", message=HOSTILE)).json()
    numbers = [event["sequence"] for event in await events_of(registry)]
    for path in [
        *(f"/events/{number}" for number in numbers),
        f"/transactions/{done['transaction_id']}",
        "/events",
    ]:
        text = (await registry.http.get(path)).text
        page = ReadPage(text)
        assert page.inline == []
        assert page.elements.count("img") == 1
        assert "<script>alert" not in text
        assert "\u202e" not in text
    filtered = (await registry.http.get("/events", params={"did": HOSTILE})).text
    assert "<script>alert" not in filtered
    assert not [name for name in ReadPage(filtered).attributes if name.startswith("on")]


async def test_an_event_page_links_parties_transaction_and_agent(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    done = (await payer.transfer(payee, "3")).json()
    event = (await events_of(registry, type="TokensTransferred"))[0]
    text = (await registry.http.get(f"/events/{event['sequence']}")).text
    page = ReadPage(text)
    assert f"/events?did={payee.did.replace(':', '%3A')}" in [
        address.replace(":", "%3A") for address in page.addresses
    ]
    assert f"/transactions/{done['transaction_id']}" in page.addresses
    assert json.loads(page.commands[0]) == event["data"]
