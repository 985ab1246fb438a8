"""The job board: work is proposed openly and taken as an own agent by forms."""

import re
from typing import Any

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.registry import TestAgent, TestDeveloper, TestRegistry, at_once


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Party:
    """A developer at a browser with one agent."""

    def __init__(self, developer: TestDeveloper, browser: BrowserOf, agent: TestAgent):
        self.developer, self.browser, self.agent = developer, browser, agent
        self.contracts = f"/account/agents/{agent.did}/contracts"

    async def board(self) -> str:
        return (await self.browser.open(f"{self.contracts}/open")).text

    async def read(self, contract_id: str) -> Any:
        answer = await self.agent.registry.get(f"/contracts/{contract_id}", headers=self.agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def party(registry: TestRegistry) -> Party:
    developer = await registry.developer()
    agent = await developer.agent()
    return Party(developer, await browser_of(registry, developer), agent)


async def proposed(contractor: Party, **fields: str) -> str:
    """The number of a contract that was proposed by the form, openly."""
    await contractor.browser.open(f"{contractor.contracts}/new")
    terms = {
        "title": "Translate <b>",
        "amount": "12,5",
        "terms": "All of it",
        "acceptance_criteria": "Read it",
    }
    page = await contractor.browser.send(contractor.contracts, **{**terms, **fields})
    assert "The contract is proposed." in page.text, page.text
    return str(page.url).rpartition("/")[2].partition("?")[0]


async def test_open_work_is_on_the_board_with_its_amount_and_is_taken_after_its_effect(registry):
    contractor, provider = await party(registry), await party(registry)
    number = await proposed(contractor)
    text = await provider.board()
    row = re.search(rf'<tr>(?:(?!</tr>).)*contracts/{number}"(?:(?!</tr>).)*</tr>', text, re.DOTALL)[0]
    assert "Translate &lt;b&gt;" in row
    assert "12.5 AVT" in row
    assert "The terms bind both parties from then on." in row
    assert "Take this work for 12.5 AVT" in row
    form = provider.browser.form(f"{provider.contracts}/{number}")
    taken = await provider.browser.post(form.action, form.fields)
    assert "The contract is accepted." in taken.text
    contract = await provider.read(number)
    assert (contract["status"], contract["provider_did"]) == ("ACCEPTED", provider.agent.did)
    assert f'contracts/{number}"' not in await provider.board()


async def test_own_work_is_on_the_board_and_is_not_offered_to_its_author(registry):
    contractor = await party(registry)
    number = await proposed(contractor)
    text = await contractor.board()
    row = re.search(rf'<tr>(?:(?!</tr>).)*contracts/{number}"(?:(?!</tr>).)*</tr>', text, re.DOTALL)[0]
    assert "Own proposal" in row
    assert "<form" not in row


async def test_work_that_names_a_provider_is_on_no_board(registry):
    contractor, provider = await party(registry), await party(registry)
    number = await proposed(contractor, provider_did=provider.agent.did)
    assert f'contracts/{number}"' not in await provider.board()
    assert (await provider.read(number))["status"] == "PROPOSED"


async def test_of_two_agents_that_take_the_same_work_one_gets_it_and_the_other_is_refused(registry):
    contractor, first, second = [await party(registry) for _ in range(3)]
    number = await proposed(contractor)
    forms = []
    for one in (first, second):
        await one.board()
        forms.append(one.browser.form(f"{one.contracts}/{number}"))
    await at_once(
        *(
            one.browser.post(form.action, form.fields)
            for one, form in zip((first, second), forms, strict=True)
        )
    )
    outcomes = sorted(one.browser.page.status_code == 200 for one in (first, second))
    assert outcomes == [False, True]
    assert (await contractor.read(number))["status"] == "ACCEPTED"


async def test_the_board_of_an_own_agent_is_unknown_to_others(registry):
    contractor, stranger = await party(registry), await browser_of(registry)
    assert (await stranger.open(f"{contractor.contracts}/open")).status_code == 404
