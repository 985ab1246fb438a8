"""The pages of contracts: public for attestation contracts, for parties by a link, for nobody else."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from hansa.rooms.commerce.contracts import page_link
from tests.doors.pages_read import ReadPage
from tests.registry import TestAgent
from tests.rooms.commerce.agreements import Agreements, in_days

JSON = {"Accept": "application/json"}
PAGE = {"Accept": "text/html"}
HOSTILE = '</p></dd><script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e\u2066'


@pytest.fixture(scope="module")
def contracts(agreements_of_file: Agreements) -> Agreements:
    return agreements_of_file


async def link_of(contracts: Agreements, agent: TestAgent, contract: Any) -> str:
    answer = await contracts.post(agent, f"/{contract['id']}/page-link")
    assert answer.status_code == 201, answer.text
    address = urlsplit(answer.json()["url"])
    return f"{address.path}?{address.query}"


async def test_a_party_opens_the_page_of_its_contract_by_a_link(contracts: Agreements):
    alice, bob = await contracts.contractor(), await contracts.provider()
    contract = await contracts.submitted(alice, bob, title="Summaries of ten books")
    for party in (alice, bob):
        link = await link_of(contracts, party, contract)
        answer = await contracts.registry.http.get(link, headers=PAGE)
        assert answer.status_code == 200
        assert "Summaries of ten books" in answer.text
        assert alice.did in answer.text
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        as_json = (await contracts.registry.http.get(link, headers=JSON)).json()
        assert as_json == await contracts.read(alice, contract)
        suffixed = link.replace("?", ".json?")
        assert (await contracts.registry.http.get(suffixed, headers=PAGE)).json() == as_json


async def test_only_a_party_gets_a_link_and_a_contract_of_others_is_unknown(contracts: Agreements):
    alice, bob, eve = await contracts.contractor(), await contracts.provider(), await contracts.provider()
    contract = await contracts.accepted(alice, bob)
    for path in (f"/{contract['id']}/page-link", "/999999/page-link"):
        answer = await contracts.post(eve, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "CONTRACT_UNKNOWN")
    page = await contracts.registry.http.get(f"/contracts/{contract['id']}", headers=PAGE)
    assert page.status_code == 404
    assert contract["title"] not in page.text


async def test_a_link_opens_one_contract_until_it_expires(contracts: Agreements, monkeypatch):
    alice, bob = await contracts.contractor(), await contracts.provider()
    first, second = [await contracts.accepted(alice, bob) for _ in range(2)]
    link = await link_of(contracts, alice, first)
    monkeypatch.setattr(page_link, "LINK_LIFETIME", timedelta(seconds=-1))
    expired = await link_of(contracts, alice, first)
    bad = [
        link.replace(f"/{first['id']}?", f"/{second['id']}?"),
        expired,
        link[:-4],
        f"/contracts/{first['id']}?ticket=%00",
        f"/contracts/{first['id']}?ticket=" + "A" * 1000,
        "/contracts/999999?ticket=AAAA",
    ]
    for path in bad:
        answer = await contracts.registry.http.get(path, headers=JSON)
        assert answer.status_code in {400, 401}, path
    answer = await contracts.registry.http.get(expired, headers=JSON)
    assert answer.json()["error"]["code"] == "PAGE_LINK_INVALID"
    assert (await contracts.registry.http.get(link, headers=JSON)).status_code == 200


async def test_everyone_opens_the_page_of_an_attestation_contract_from_the_page_of_an_agent(contracts):
    alice, bob = await contracts.contractor(), await contracts.provider()
    public = await contracts.accepted(alice, bob, contract_type="attestation", title="Audit of the archive")
    private = await contracts.accepted(alice, bob, title="Between the two of us")
    page = await contracts.registry.http.get(f"/agents/{bob.did}")
    assert f'<a href="/contracts/{public["id"]}">' in page.text
    assert f"/contracts/{private['id']}" not in page.text
    assert "Between the two of us" not in page.text
    answer = await contracts.registry.http.get(f"/contracts/{public['id']}", headers=PAGE)
    assert (answer.status_code, "Audit of the archive" in answer.text) == (200, True)
    assert (await contracts.registry.http.get(f"/contracts/{public['id']}.json")).json()["id"] == public["id"]


async def test_nothing_a_party_writes_becomes_markup_on_the_page_of_a_contract(contracts: Agreements):
    alice, bob = await contracts.contractor(), await contracts.provider()
    wording = {"terms": HOSTILE, "acceptance_criteria": {HOSTILE: [HOSTILE]}, "title": HOSTILE}
    parts = [{"title": HOSTILE, "amount": "40"}, {"title": "b", "amount": "60"}]
    contract = await contracts.accepted(alice, bob, contract_type="attestation", milestones=parts, **wording)
    deliverable = {"uri": "javascript:alert(1)", "sha256": "0" * 64, "note": HOSTILE}
    await contracts.act(bob, contract, "submit", deliverable=deliverable)
    await contracts.act(alice, contract, "request-changes", note=HOSTILE)
    # The page of an agent shows its availability beside its picture.
    for path, images in ((f"/contracts/{contract['id']}", 1), (f"/agents/{bob.did}", 2)):
        text = (await contracts.registry.http.get(path)).text
        page = ReadPage(text)
        assert page.elements.count("img") == images
        assert "<script>alert" not in text
        assert not [address for address in page.addresses if address.startswith("javascript:")]
        assert not [name for name in page.attributes if name.startswith("on")]
        assert "\u202e" not in text


async def test_the_page_states_until_when_a_failed_contract_is_held_and_which_transaction_paid(
    contracts: Agreements,
):
    alice, bob = await contracts.contractor(), await contracts.provider()
    terms = {"funded": True, "review_by": in_days(2), "contract_type": "attestation"}
    proposed = await contracts.propose(alice, bob, **terms)
    page = (await contracts.registry.http.get(f"/contracts/{proposed['id']}", headers=PAGE)).text
    assert "Held from the acceptance on" in page
    assert "held for a dispute until" not in page
    failed = await contracts.submitted(alice, bob, **terms)
    await contracts.act(alice, failed, "mark-failed")
    page = (await contracts.registry.http.get(f"/contracts/{failed['id']}", headers=PAGE)).text
    assert "held for a dispute until" in page
    paid = await contracts.submitted(alice, bob, contract_type="attestation")
    approved = await contracts.act(alice, paid, "approve-completion")
    page = (await contracts.registry.http.get(f"/contracts/{paid['id']}", headers=PAGE)).text
    assert f'<a href="/transactions/{approved["payment_tx_id"]}">' in page
