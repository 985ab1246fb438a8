"""Contracts and disputes of a treasury as pages: the list, one contract with its milestones and the acts of an admin, a dispute with evidence."""

import re
from html import unescape

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.registry import TestRegistry
from tests.work_orders import Offering, awarded, offering, submit

LIST = "/account/organizations"
MILESTONES = [{"title": "Draft", "amount": "4"}, {"title": "Rest", "amount": "6"}]


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


@pytest.fixture
async def work(registry: TestRegistry) -> Offering:
    return await offering(registry)


@pytest.fixture
async def owner(registry: TestRegistry, work: Offering) -> BrowserOf:
    return await browser_of(registry, work.guild.owner)


def base_of(work: Offering) -> str:
    return f"{LIST}/{work.guild.slug}"


def words_of(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


def acts_shown(browser: BrowserOf) -> list[str]:
    return re.findall(r'name="act" value="([a-z-]+)"', browser.text)


async def test_the_contracts_of_a_treasury_are_listed_with_their_state(owner: BrowserOf, work: Offering):
    _, contract = await awarded(work)
    await owner.open(f"{base_of(work)}/treasury")
    assert f"{base_of(work)}/contracts" in owner.text
    await owner.open(f"{base_of(work)}/contracts")
    assert f"{base_of(work)}/contracts/{contract}" in owner.text
    words = words_of(owner)
    assert "Translate the manual" in words
    assert "Accepted" in words
    assert "10 AVT" in words


async def test_an_admin_approves_a_milestone_whose_amount_the_button_names_once(
    owner: BrowserOf, work: Offering
):
    bidder, contract = await awarded(work, is_submitted=True, milestones=MILESTONES)
    page = f"{base_of(work)}/contracts/{contract}"
    await owner.open(page)
    assert acts_shown(owner) == ["request-changes", "approve-completion", "mark-failed"]
    words = words_of(owner)
    assert "4 AVT are paid to the provider, from what is held. So far 0 of 10 AVT are paid." in words
    assert "Approve and pay: 4 AVT" in words
    kept = [pair for pair in owner.form(page).fields if pair[0] == "form_key"]
    for _ in range(2):
        await owner.post(page, kept, act="approve-completion")
        assert "The work is approved and paid." in owner.text
    assert await bidder.balance() == "104"
    await submit(bidder, contract)
    await owner.open(page)
    assert "So far 4 of 10 AVT are paid." in words_of(owner)
    await owner.send(page, act="approve-completion")
    assert "Completed" in words_of(owner)
    assert acts_shown(owner) == []


async def test_submitted_work_is_returned_with_a_note(owner: BrowserOf, work: Offering):
    _, contract = await awarded(work, is_submitted=True)
    page = f"{base_of(work)}/contracts/{contract}"
    await owner.open(page)
    await owner.send(page, act="request-changes", note="Page 3 is missing.")
    assert "Changes are requested." in owner.text
    assert "Page 3 is missing." in owner.text
    assert acts_shown(owner) == ["mark-failed"]


async def test_an_act_that_comes_too_late_is_refused_with_a_sentence_on_the_page(
    owner: BrowserOf, work: Offering
):
    _, contract = await awarded(work, is_submitted=True)
    page = f"{base_of(work)}/contracts/{contract}"
    await owner.open(page)
    approved = await work.act(contract, "approve-completion")
    assert approved.status_code == 200, approved.text
    answer = await owner.send(page, act="request-changes", note="Late.")
    assert answer.status_code == 409
    assert 'role="alert"' in owner.text
    assert acts_shown(owner) == []


async def test_an_admin_declares_a_contract_failed_and_the_record_names_the_act(
    owner: BrowserOf, work: Offering
):
    _, contract = await awarded(work)
    page = f"{base_of(work)}/contracts/{contract}"
    await owner.open(page)
    await owner.send(page, act="mark-failed", note="Nothing was usable.")
    assert "The contract has failed." in owner.text
    await owner.open(f"{base_of(work)}/audit")
    assert f"contract:{contract}" in owner.text


async def test_a_dispute_is_filed_from_its_contract_read_and_gets_evidence(owner: BrowserOf, work: Offering):
    bidder, contract = await awarded(work, is_submitted=True)
    base = base_of(work)
    await owner.open(f"{base}/contracts/{contract}")
    (address,) = set(re.findall(rf'href="({base}/disputes/new\?[^"]*)"', owner.text))
    await owner.open(unescape(address))
    assert bidder.did in owner.text
    assert "token_id" not in owner.text
    fields = {"reason_code": "POOR_QUALITY", "description": "Half of the pages."}
    kept = [pair for pair in owner.form(f"{base}/disputes").fields if pair[0] not in fields]
    for _ in range(2):
        await owner.post(f"{base}/disputes", kept, **fields)
        assert "The dispute is filed." in owner.text
    page = owner.page.url.path
    assert "Half of the pages." in owner.text
    await owner.send(f"{page}/evidence", sha256="short")
    assert 'id="sha256-trouble"' in owner.text
    await owner.send(f"{page}/evidence", sha256="1" * 64, note="Page 3.")
    assert "The evidence was added." in owner.text
    assert "Page 3." in owner.text
    bundle = await owner.open(f"{page}/bundle.json")
    assert bundle.headers["content-type"] == "application/json"
    await owner.open(f"{base}/disputes")
    assert page in owner.text
    assert "Poor quality" in words_of(owner)
    await owner.open(f"{base}/contracts/{contract}")
    assert page in owner.text
    assert acts_shown(owner) == []


async def test_a_dispute_without_its_contract_is_refused_beside_the_field(owner: BrowserOf, work: Offering):
    bidder, _ = await awarded(work, is_submitted=True)
    await owner.open(f"{base_of(work)}/disputes/new")
    answer = await owner.send(
        f"{base_of(work)}/disputes",
        defendant_did=bidder.did,
        reason_code="OTHER",
        description="No.",
        contract_id="",
    )
    assert answer.status_code == 422
    assert 'id="contract_id-trouble"' in owner.text


async def test_a_viewer_reads_contracts_and_disputes_and_acts_on_none(registry: TestRegistry, work: Offering):
    bidder, contract = await awarded(work, is_submitted=True)
    filed = await work.act(
        contract, "dispute", defendant_did=bidder.did, reason_code="OTHER", description="Worn tyres."
    )
    assert filed.status_code == 201, filed.text
    _, other = await awarded(work, is_submitted=True)
    viewer = await browser_of(registry, await work.guild.member("viewer"))
    base = base_of(work)
    await viewer.open(f"{base}/contracts/{other}")
    assert "Translate the manual" in viewer.text
    assert acts_shown(viewer) == []
    assert "disputes/new" not in viewer.text
    await viewer.open(f"{base}/disputes/{filed.json()['id']}")
    assert "Worn tyres." in viewer.text
    assert "Add evidence" not in viewer.text
    assert (await viewer.open(f"{base}/disputes/new")).status_code == 403


async def test_a_removed_admin_is_refused_by_the_act_of_a_page_that_was_open(
    registry: TestRegistry, work: Offering
):
    _, contract = await awarded(work, is_submitted=True)
    admin = await work.guild.member("admin")
    browser = await browser_of(registry, admin)
    page = f"{base_of(work)}/contracts/{contract}"
    await browser.open(page)
    assert (await work.guild.change(work.guild.owner, admin, "member")).status_code == 200
    answer = await browser.send(page, act="approve-completion")
    assert answer.status_code == 403
    assert "Submitted" in words_of(browser)


async def test_contracts_of_others_are_unknown_below_an_organization(
    registry: TestRegistry, owner: BrowserOf, work: Offering
):
    other = await offering(registry)
    _, contract = await awarded(other)
    assert (await owner.open(f"{base_of(work)}/contracts/{contract}")).status_code == 404
    assert (await owner.open(f"{base_of(other)}/contracts/{contract}")).status_code == 404
    assert (await owner.open(f"{base_of(other)}/disputes")).status_code == 404


async def test_the_pages_of_a_treasury_as_an_agent_lead_to_those_of_its_organization(
    owner: BrowserOf, work: Offering
):
    _, contract = await awarded(work)
    await owner.open(f"/account/agents/{work.treasury}/contracts/{contract}")
    assert owner.page.url.path == f"{LIST}/{work.guild.created['id']}/contracts/{contract}"
    assert "Translate the manual" in owner.text
    await owner.open(f"/account/agents/{work.treasury}/disputes")
    assert owner.page.url.path == f"{LIST}/{work.guild.created['id']}/disputes"
