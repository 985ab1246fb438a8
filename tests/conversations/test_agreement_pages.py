"""Contracts and disputes of own agents in a browser: timelines with the next acts, evidence, facts and proposal."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.registry import TestRegistry

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
HOSTILE = "<script>alert(1)</script> \"' onload=x \u202etxt"
AGREED = {
    "title": "Translate",
    "contract_type": "service",
    "amount": "10",
    "terms": "Ten pages.",
    "acceptance_criteria": "No page is missing.",
}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Side:
    """A party at a browser."""

    def __init__(self, browser, agent, developer):
        self.browser, self.agent, self.developer = browser, agent, developer

    def path(self, page):
        return f"/account/agents/{self.agent.did}/{page}"

    async def act(self, contract_id, act, **fields):
        """Carry out an act with the button that its page shows."""
        path = self.path(f"contracts/{contract_id}")
        await self.browser.open(path)
        assert f'name="act" value="{act}"' in self.browser.text
        return await self.browser.send(path, act=act, **fields)


@pytest.fixture
async def sides(registry: TestRegistry) -> tuple[Side, Side]:
    """A contractor and a provider of two developers."""
    found = []
    for name in ("Contractor", "Provider"):
        developer = await registry.developer()
        browser = await browser_of(registry, developer)
        found.append(Side(browser, await developer.agent(name=name), developer))
    return found[0], found[1]


async def proposed(contractor, provider, **fields):
    await contractor.browser.open(contractor.path(f"contracts/new?provider={provider.agent.did}"))
    answer = await contractor.browser.send(contractor.path("contracts"), **{**AGREED, **fields})
    assert (answer.status_code, "The contract is proposed." in answer.text) == (200, True), answer.text
    return int(answer.url.path.rpartition("/")[2])


def acts_shown(text):
    return re.findall(r'name="act" value="([a-z-]+)"', text)


async def test_a_contract_is_proposed_accepted_submitted_and_paid_by_buttons(sides):
    contractor, provider = sides
    number = await proposed(contractor, provider)
    assert acts_shown(contractor.browser.text) == ["cancel"]
    accepted = await provider.act(number, "accept")
    assert acts_shown(accepted.text) == ["submit"]
    returned = await provider.act(number, "submit", sha256=SHA256, uri="https://work.example.org/1")
    assert "https://work.example.org/1" in returned.text
    assert acts_shown((await contractor.browser.open(contractor.path(f"contracts/{number}"))).text) == [
        "request-changes",
        "approve-completion",
        "mark-failed",
    ]
    changes = await contractor.act(number, "request-changes", note=HOSTILE)
    assert "Changes are requested." in changes.text
    await provider.act(number, "submit")
    paid = await contractor.act(number, "approve-completion")
    assert "The work is approved and paid." in paid.text
    assert "Completed</span> (approved)" in paid.text
    assert await provider.agent.balance() == "110"


async def test_an_act_that_is_sent_twice_is_carried_out_once(sides):
    contractor, provider = sides
    number = await proposed(contractor, provider)
    await provider.act(number, "accept")
    await provider.act(number, "submit")
    path = contractor.path(f"contracts/{number}")
    await contractor.browser.open(path)
    form = contractor.browser.form(path)
    for _ in range(2):
        answer = await contractor.browser.post(path, form.fields, act="approve-completion")
        assert (answer.status_code, "approved and paid" in answer.text) == (200, True)
    assert await provider.agent.balance() == "110"
    late = await contractor.browser.post(path, form.fields, act="mark-failed")
    assert (late.status_code, 'role="alert"' in late.text) == (409, True)
    unknown = await contractor.browser.post(path, form.fields, act="delete")
    assert unknown.status_code == 422


def milestones(*rows: tuple[str, str]) -> dict[str, str]:
    """Fields of the form with these titles and amounts, in its rows from the first on; an empty pair leaves a row out."""
    filled = {row: pair for row, pair in enumerate(rows, start=1) if any(pair)}
    return {
        f"milestone_{row}_{name}": text
        for row, pair in filled.items()
        for name, text in zip(("title", "amount"), pair, strict=True)
    }


async def test_a_contract_with_milestones_is_proposed_by_the_form_and_paid_part_by_part(sides):
    contractor, provider = sides
    number = await proposed(contractor, provider, **milestones(("Draft", "2,5"), ("", ""), ("Final", "7.5")))
    text = contractor.browser.text
    assert re.findall(r"<td><bdi>(.*?)</bdi></td><td class=\"number\">(.*?)</td>", text) == [
        ("Draft", "2.5"),
        ("Final", "7.5"),
    ]
    await provider.act(number, "accept")
    for paid, part in (("102.5", "2.5"), ("110", "7.5")):
        await provider.act(number, "submit")
        await contractor.browser.open(contractor.path(f"contracts/{number}"))
        assert f"The milestone is accepted for good, and {part} AVT are paid" in contractor.browser.text
        await contractor.act(number, "approve-completion")
        assert await provider.agent.balance() == paid


@pytest.mark.parametrize(
    ("rows", "field", "sentence"),
    [
        (
            (("Draft", "2"), ("Final", "7")),
            "milestones",
            "The amounts of the milestones sum to 9, not to 10.",
        ),
        ((("", ""), ("Draft", "10"), ("", "")), None, ""),
        ((("", ""), ("Draft", "ten")), "milestone_2_amount", "A decimal number with at most 8 decimals"),
        ((("Draft", "5"), ("", "5")), "milestone_2_title", ""),
    ],
    ids=["another sum", "one row alone", "no amount", "no title"],
)
async def test_milestones_that_do_not_fit_are_refused_beside_their_field_and_kept(
    sides, rows, field, sentence
):
    contractor, provider = sides
    await contractor.browser.open(contractor.path(f"contracts/new?provider={provider.agent.did}"))
    answer = await contractor.browser.send(contractor.path("contracts"), **AGREED, **milestones(*rows))
    if field is None:
        assert "The contract is proposed." in answer.text
        return
    assert (answer.status_code, f'id="{field}-trouble"' in answer.text) == (422, True), answer.text
    assert sentence in answer.text
    assert '<details class="milestones" id="milestones" open>' in answer.text
    for text in (text for pair in rows for text in pair if text):
        assert f'value="{text}"' in answer.text


async def test_the_form_of_a_proposal_grows_to_as_many_milestones_as_the_api_takes(sides):
    contractor, provider = sides
    path = contractor.path("contracts")
    await contractor.browser.open(contractor.path(f"contracts/new?provider={provider.agent.did}"))
    shown = contractor.browser.text.count('role="group" aria-label="Milestone ')
    filled = {**AGREED, **milestones(("First", "1"))}
    while 'name="more_milestones"' in contractor.browser.text:
        answer = await contractor.browser.send(path, **filled, more_milestones="true")
        assert (answer.status_code, answer.url.path) == (200, path)
        rows = answer.text.count('role="group" aria-label="Milestone ')
        assert shown < rows <= 50
        shown = rows
        assert '<details class="milestones" id="milestones" open>' in answer.text
        assert 'value="First"' in answer.text
    assert shown == 50
    listed = (await contractor.browser.registry.get("/contracts", headers=contractor.agent.headers)).json()
    assert listed["items"] == []
    every = milestones(*((f"Part {number}", "0.2") for number in range(1, 51)))
    answer = await contractor.browser.send(path, **{**AGREED, **every})
    assert "The contract is proposed." in answer.text, answer.text
    assert answer.text.count('<td class="number">0.2</td>') == 50


async def test_a_row_of_a_milestone_beyond_the_first_ones_keeps_its_error_beside_it(sides):
    contractor, _ = sides
    path = contractor.path("contracts")
    await contractor.browser.open(contractor.path("contracts/new"))
    await contractor.browser.send(path, more_milestones="true")
    rows = (("", ""),) * 6
    answer = await contractor.browser.send(path, **AGREED, **milestones(*rows, ("Seventh", "ten")))
    assert (answer.status_code, 'id="milestone_7_amount-trouble"' in answer.text) == (422, True)


async def under_policy(side, over):
    policy = {"spend_policy": {"approval_over": over}}
    answer = await side.browser.registry.http.put(
        f"/api/v1/agents/{side.agent.did}/authz", json=policy, headers=side.developer.headers
    )
    assert answer.status_code == 200, answer.text


async def test_a_proposal_above_the_limit_is_approved_and_made_by_one_button(sides):
    contractor, provider = sides
    await under_policy(contractor, "5")
    path = contractor.path("contracts")
    review_by = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    await contractor.browser.open(contractor.path(f"contracts/new?provider={provider.agent.did}"))
    bound = {**AGREED, "funded": "true", "review_by": review_by, **milestones(("Draft", "4"), ("Final", "6"))}
    asked = await contractor.browser.send(path, **bound)
    assert (asked.status_code, "Approve and propose: 10 AVT" in asked.text) == (202, True), asked.text
    answer = await contractor.browser.send(path)
    assert "The contract is proposed." in answer.text, answer.text
    for title in ("Draft", "Final"):
        assert f"<bdi>{title}</bdi>" in answer.text


async def test_work_above_the_limit_is_approved_and_paid_by_one_button_and_by_an_approval_given_before(sides):
    contractor, provider = sides
    numbers = [await proposed(contractor, provider, amount=amount) for amount in ("10", "20")]
    await under_policy(contractor, "5")
    for number in numbers:
        await provider.act(number, "accept")
        await provider.act(number, "submit")
    asked = await contractor.act(numbers[0], "approve-completion")
    assert (asked.status_code, "Approve and pay: 10 AVT" in asked.text) == (202, True), asked.text
    paid = await contractor.browser.send(contractor.path(f"contracts/{numbers[0]}"))
    assert "The work is approved and paid." in paid.text
    registry = contractor.browser.registry
    refused = await registry.post(
        f"/contracts/{numbers[1]}/approve-completion", json={}, headers=contractor.agent.headers
    )
    approval = refused.json()["error"]["context"]["approval_id"]
    await contractor.browser.open(f"/account/approvals/{approval}")
    await contractor.browser.send(f"/account/approvals/{approval}/approve")
    path = contractor.path(f"contracts/{numbers[1]}")
    await contractor.browser.open(path)
    assert f'<option value="{approval}" selected>20 AVT to Provider' in contractor.browser.text
    paid = await contractor.browser.send(path, act="approve-completion")
    assert "The work is approved and paid." in paid.text, paid.text
    assert await provider.agent.balance() == "130"


async def test_a_proposal_that_is_refused_keeps_its_values_and_says_why_beside_the_field(sides):
    contractor, _ = sides
    await contractor.browser.open(contractor.path("contracts/new"))
    past = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M}"
    for fields, name in (
        ({"amount": "ten"}, "amount"),
        ({"funded": "true"}, "review_by"),
        ({"contract_type": "Work!"}, "contract_type"),
    ):
        answer = await contractor.browser.send(contractor.path("contracts"), **{**AGREED, **fields})
        assert (answer.status_code, f'id="{name}-trouble"' in answer.text) == (422, True), name
        assert "Ten pages." in answer.text
    answer = await contractor.browser.send(
        contractor.path("contracts"), **{**AGREED, "funded": [], "submit_by": past, "provider_did": ""}
    )
    assert (answer.status_code, "Every date must be in the future." in answer.text) == (422, True)


async def test_the_form_of_an_open_proposal_states_the_bond_and_the_record_of_its_provider(sides):
    contractor, provider = sides
    later = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    offered = {"provider_did": "", "funded": "true", "review_by": later}
    form = await contractor.browser.open(contractor.path("contracts/new"))
    assert "at most a hundredth of the fees of its counted jobs. 0 admits every provider." in form.text
    number = await proposed(contractor, provider, **offered, provider_bond_min="2.5", provider_jobs_min=" 3 ")
    page = await contractor.browser.open(contractor.path(f"contracts/{number}"))
    assert "A bond of 2.5 AVT or 3 verified jobs" in page.text
    unstated = await proposed(contractor, provider, **offered)
    page = await contractor.browser.open(contractor.path(f"contracts/{unstated}"))
    assert "<dd>A bond of 0.1 AVT</dd>" in page.text
    free = await proposed(contractor, provider, **offered, provider_jobs_min="0")
    page = await contractor.browser.open(contractor.path(f"contracts/{free}"))
    assert "<dd>0 verified jobs</dd>" in page.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("provider_bond_min", "two"),
        ("provider_bond_min", "-1"),
        ("provider_jobs_min", "several"),
        ("provider_jobs_min", "-1"),
        ("provider_jobs_min", "999999999"),
        ("provider_jobs_min", "\u0663"),
    ],
)
async def test_a_requirement_that_is_refused_says_why_beside_its_field(sides, name: str, value: str):
    contractor, _ = sides
    later = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    await contractor.browser.open(contractor.path("contracts/new"))
    offered = {"provider_did": "", "funded": "true", "review_by": later, name: value}
    answer = await contractor.browser.send(contractor.path("contracts"), **{**AGREED, **offered})
    assert (answer.status_code, f'id="{name}-trouble"' in answer.text) == (422, True)


async def test_a_requirement_of_a_proposal_to_one_provider_is_refused_beside_its_field(sides):
    contractor, provider = sides
    await contractor.browser.open(contractor.path(f"contracts/new?provider={provider.agent.did}"))
    answer = await contractor.browser.send(
        contractor.path("contracts"), **{**AGREED, "provider_jobs_min": "3"}
    )
    assert (answer.status_code, 'id="provider_jobs_min-trouble"' in answer.text) == (422, True)


async def test_a_dispute_is_filed_from_its_contract_with_evidence_facts_and_proposal(sides):
    contractor, provider = sides
    soon = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    number = await proposed(contractor, provider, review_by=soon, funded="true")
    await provider.act(number, "accept")
    await contractor.browser.open(contractor.path(f"contracts/{number}"))
    (link,) = re.findall(r'href="([^"]+disputes/new[^"]+)"', contractor.browser.text)
    await contractor.browser.open(link.replace("&amp;", "&"))
    form = dict(contractor.browser.form(contractor.path("disputes")).fields)
    assert (form["contract_id"], form["defendant_did"]) == (str(number), provider.agent.did)
    filed = await contractor.browser.send(
        contractor.path("disputes"), description=HOSTILE, reason_code="SERVICE_NOT_DELIVERED"
    )
    assert "The dispute is filed." in filed.text
    dispute = int(filed.url.path.rpartition("/")[2])
    assert "Proposed ruling" in filed.text
    page = provider.path(f"disputes/{dispute}")
    await provider.browser.open(page)
    refused = await provider.browser.send(f"{page}/evidence", sha256="x", note="Seen.")
    assert (refused.status_code, 'id="sha256-trouble"' in refused.text) == (422, True)
    added = await provider.browser.send(f"{page}/evidence", sha256=SHA256, note=HOSTILE)
    assert "The evidence was added." in added.text
    bundle = json.loads((await provider.browser.open(f"{page}/bundle.json")).text)
    assert bundle["dispute"]["id"] == dispute
    assert bundle["signatures"]
    assert bundle["proposal"]["why"] in added.text.replace("&#39;", "'").replace("&#34;", '"')
    for side in sides:
        listed = await side.browser.open(side.path("disputes"))
        assert f'disputes/{dispute}">{dispute}</a>' in listed.text


@pytest.mark.parametrize("contract", ["x", "-1", "1e400", "NaN", "[" * 50_000, "9" * 40])
async def test_a_contract_that_has_no_number_is_refused_beside_its_field(sides, contract):
    contractor, provider = sides
    await contractor.browser.open(contractor.path("disputes/new"))
    answer = await contractor.browser.send(
        contractor.path("disputes"),
        defendant_did=provider.agent.did,
        description="Late.",
        reason_code="OTHER",
        contract_id=contract,
    )
    assert (answer.status_code, 'id="contract_id-trouble"' in answer.text) == (422, True)


async def test_what_strangers_wrote_becomes_no_markup_on_any_page_of_an_agreement(sides):
    contractor, provider = sides
    number = await proposed(contractor, provider, title=HOSTILE, terms=HOSTILE, acceptance_criteria=HOSTILE)
    await provider.act(number, "accept")
    await provider.act(number, "submit", sha256=SHA256, uri="javascript:alert(1)", note=HOSTILE)
    await contractor.browser.open(contractor.path("disputes/new"))
    filed = await contractor.browser.send(
        contractor.path("disputes"),
        defendant_did=provider.agent.did,
        description=HOSTILE,
        reason_code="OTHER",
        contract_id=str(number),
    )
    path = filed.url.path
    await contractor.browser.send(f"{path}/evidence", sha256=SHA256, uri="javascript:alert(1)", note=HOSTILE)
    await contractor.agent.transfer(provider.agent, "1", message=HOSTILE)
    pages = [
        (contractor, path),
        (contractor, contractor.path("contracts")),
        (contractor, contractor.path(f"contracts/{number}")),
        (provider, provider.path("wallet")),
        (provider, provider.path("wallet/statement")),
    ]
    for side, page in pages:
        text = (await side.browser.open(page)).text
        assert "&lt;script&gt;alert(1)" in text, page
        assert "<script>alert" not in text
        assert 'href="javascript:' not in text
        assert "\u202e" not in text


async def test_contracts_and_disputes_of_others_are_not_found(sides, registry):
    contractor, provider = sides
    number = await proposed(contractor, provider)
    stranger = await registry.developer()
    agent = await stranger.agent()
    side = Side(await browser_of(registry, stranger), agent, stranger)
    assert (await side.browser.open(side.path(f"contracts/{number}"))).status_code == 404
    assert (await side.browser.open(contractor.path(f"contracts/{number}"))).status_code == 404
    assert (await side.browser.open(contractor.path("disputes"))).status_code == 404
    assert (await side.browser.open(side.path("disputes/1"))).status_code == 404


async def test_a_link_to_a_contract_is_made_after_its_effect_and_read_by_anyone(sides, registry):
    contractor, provider = sides
    number = await proposed(contractor, provider)
    assert "Everyone who has the link reads the whole contract for 24 hours" in contractor.browser.text
    page = await contractor.browser.send(contractor.path(f"contracts/{number}/page-link"))
    (link,) = re.findall(r'aria-label="Link to the contract"><code>([^<]+)</code>', page.text)
    anyone = BrowserOf(registry)
    assert (await anyone.open(f"/contracts/{number}")).status_code == 404
    read = await anyone.open(link.removeprefix(registry.settings.base_url))
    assert (read.status_code, "Ten pages." in read.text) == (200, True)


async def test_a_dispute_names_its_payment_token_by_a_choice(sides):
    contractor, provider = sides
    page = contractor.path("disputes/new")
    assert 'name="token_id"' not in (await contractor.browser.open(page)).text
    registry, headers = contractor.browser.registry, {**contractor.agent.headers, "Prefer": "wait=10"}
    order = {"target_agent_did": provider.agent.did, "amount": "2.5"}
    token = (await registry.post("/a2a-payment/authorize", json=order, headers=headers)).json()
    settled = await registry.post("/a2a-payment/settle", json={"token": token["token"]}, headers=headers)
    assert settled.json()["status"] == "settled", settled.text
    for side, words in ((contractor, "2.5 AVT to Provider"), (provider, "2.5 AVT from Contractor")):
        text = (await side.browser.open(side.path("disputes/new"))).text
        assert f'<option value="{token["token_id"]}">{words}, 20' in text
    filed = await contractor.browser.open(f"{page}?token_id={token['token_id']}")
    assert f'<option value="{token["token_id"]}" selected>' in filed.text
    fields = {"defendant_did": provider.agent.did, "reason_code": "OTHER", "description": "Not delivered."}
    filed = await contractor.browser.send(contractor.path("disputes"), **fields)
    assert (filed.status_code, token["token_id"] in filed.text) == (200, True), filed.text
