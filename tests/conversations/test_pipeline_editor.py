"""Pages on which a pipeline is written and changed by hand, without scripts; each refusal stands beside its field."""

from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.organizations import found
from tests.pipelines import Market, open_market, step
from tests.registry import StartRegistry


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry) as opened:
        yield opened


@pytest.fixture
async def browser(market: Market) -> BrowserOf:
    return await BrowserOf(market.registry).log_in(market.owner.email)


def pages_of(market: Market) -> str:
    return f"/account/agents/{market.buyer.did}/pipelines"


def row(number: int, **fields: str) -> dict[str, str]:
    """The fields of one step."""
    return {f"step_{number}_{name}": value for name, value in fields.items()}


def trouble_beside(browser: BrowserOf, field: str) -> str:
    """The message beside a field of the open page."""
    _, found, rest = browser.text.partition(f'id="{field}-trouble">')
    assert found, f"no message beside {field}: {browser.text}"
    assert f'aria-describedby="{field}-trouble' in browser.text
    return unescape(rest.partition("</p>")[0])


async def stored(market: Market) -> dict[str, Any]:
    """The one pipeline of the agent."""
    (one,) = (await market.send("GET")).json()["items"]
    return one


async def test_a_pipeline_is_written_by_hand_run_and_changed(market: Market, browser: BrowserOf) -> None:
    echo, other = await market.sells("echo", str), await market.sells("other")
    new = f"{pages_of(market)}/new"
    await browser.open(new)
    first = row(1, id="first", agent=echo, content="{{/input/text}}", max_amount="1,5")
    await browser.send(new, name="By hand", description="Two steps.", budget="4", more_steps="true", **first)
    assert "Step 2" in browser.text
    assert (await market.send("GET")).json()["items"] == []
    second = row(
        2,
        id="second",
        agent=other,
        content="{{/steps/first/output/text}}",
        needs="first",
        max_amount="2",
        timeout_seconds="9",
        attempts="2",
        on_failure="fallback",
        fallback=echo,
        when="/steps/first/output/text",
        equals="x",
        approval="true",
    )
    await browser.send(new, more_steps="", **second)
    assert "The pipeline is created." in browser.text
    assert '<svg class="pipeline"' in browser.text
    made = await stored(market)
    assert (made["name"], made["budget"], made["deadline_seconds"]) == ("By hand", "4", 3600)
    assert made["steps"][0]["max_amount"] == "1.5"
    assert made["steps"][1] == {
        "id": "second",
        "agent": other,
        "message": "{{/steps/first/output/text}}",
        "request": None,
        "needs": ["first"],
        "max_amount": "2",
        "timeout_seconds": 9,
        "attempts": 2,
        "on_failure": {"fallback": echo},
        "when": {"ref": "/steps/first/output/text", "equals": "x"},
        "approval": True,
    }
    page = f"{pages_of(market)}/{made['id']}"
    await browser.send(f"{page}/start", input_text="x", budget="4")
    run = str(browser.page.url.path).removeprefix(pages_of(market))
    assert (await market.until(run))["status"] == "waiting_approval"
    await browser.open(f"{page}/edit")
    await browser.send(f"{page}/edit", name="Changed", **row(2, removed="true"))
    assert "Revision 2 is saved." in browser.text
    changed = await stored(market)
    assert (changed["name"], [one["id"] for one in changed["steps"]]) == ("Changed", ["first"])
    # The run keeps its revision.
    assert [one["id"] for one in (await market.read(run))["steps"]] == ["first", "second"]


async def test_a_form_that_is_sent_unchanged_saves_what_is_stored(market: Market, browser: BrowserOf) -> None:
    echo = await market.sells("echo", str)
    message = {"parts": [{"text": "ü {{/input/a}}"}, {"data": {"$ref": "/input/b"}}]}
    await market.created(
        step("text", echo, "a < b & c\n\n{{/input/a}}"),
        step("object", echo, message, needs=["text"], when={"ref": "/input/a", "equals": True}),
        step("quoted", echo, "x", when={"ref": "/input/a", "equals": "true"}, on_failure="skip"),
        step("plain", echo, "x", when={"ref": "/input/a", "equals": " "}, approval=True),
        {"id": "call", "agent": echo, "max_amount": "0.5", "request": {"method": "m", "params": {"n": [1]}}},
        description="One\nTwo",
    )
    before = await stored(market)
    page = f"{pages_of(market)}/{before['id']}/edit"
    await browser.open(page)
    await browser.send(page)
    after = await stored(market)
    changing = {"revision", "updated_at"}
    assert after["revision"] == 2
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }


async def test_each_refusal_stands_beside_its_field_and_nothing_is_saved(
    market: Market, browser: BrowserOf
) -> None:
    echo, new = await market.sells("echo", str), f"{pages_of(market)}/new"
    good = {"name": "Chain", "budget": "4", "deadline_seconds": "60"}
    sound = {"id": "only", "agent": echo, "content": "x", "max_amount": "1"}
    for wrong, field, message in (
        ({"name": " "}, "name", ""),
        ({"budget": "much"}, "budget", "A decimal number"),
        ({"deadline_seconds": "soon"}, "deadline_seconds", "valid integer"),
        ({"step_1_id": "Not A Slug"}, "step_1_id", "Lower-case letters"),
        ({"step_1_agent": ""}, "step_1_agent", ""),
        ({"step_1_agent": market.buyer.did}, "step_1_agent", "itself"),
        ({"step_1_max_amount": "0"}, "step_1_max_amount", ""),
        ({"step_1_timeout_seconds": "99"}, "step_1_timeout_seconds", "60"),
        ({"step_1_attempts": "x"}, "step_1_attempts", "integer"),
        ({"step_1_needs": "Other One"}, "step_1_needs", "Lower-case letters"),
        ({"step_1_needs": "other"}, "step_1_needs", "no step"),
        ({"step_1_content": ""}, "step_1_content", "characters"),
        ({"step_1_content": "{{/steps/other/output}}"}, "step_1_content", "does not need"),
        ({"step_1_kind": "message"}, "step_1_content", "A JSON object"),
        ({"step_1_kind": "request", "step_1_content": "{}"}, "step_1_content", "method and params"),
        ({"step_1_on_failure": "fallback"}, "step_1_fallback", ""),
        ({"step_1_equals": "1"}, "step_1_when", ""),
        ({"step_1_needs": "only"}, "steps", "cycle"),
    ):
        await browser.open(new)
        refused = await browser.send(new, **{**good, **row(1, **sound), **wrong})
        assert refused.status_code == 422, (wrong, refused.text)
        assert message in trouble_beside(browser, field) if field != "steps" else message in browser.text, (
            wrong
        )
        # The rest of the form is as it was sent.
        assert 'value="4"' in browser.text or "budget" in wrong
    assert (await market.send("GET")).json()["items"] == []


async def test_a_refusal_is_beside_the_row_that_was_sent_although_rows_before_it_are_empty(
    market: Market, browser: BrowserOf
) -> None:
    echo, new = await market.sells("echo", str), f"{pages_of(market)}/new"
    await browser.open(new)
    await browser.send(new, more_steps="true", **row(1, id="a", agent=echo))
    sent = {**row(1, id="", agent=""), **row(2, id="b", agent=echo, content="x", max_amount="no")}
    await browser.send(new, name="Chain", budget="1", more_steps="", **sent)
    assert "A decimal number" in trouble_beside(browser, "step_2_max_amount")


async def test_a_pipeline_has_at_most_twenty_steps_in_the_form(market: Market, browser: BrowserOf) -> None:
    echo, new = await market.sells("echo", str), f"{pages_of(market)}/new"
    await browser.open(new)
    rows = {}
    for number in range(1, 21):
        rows |= row(number, id=f"s{number}", agent=echo, content="x", max_amount="1")
    await browser.send(new, name="Long", budget="20", more_steps="true", **rows)
    assert "Step 20" in browser.text
    assert ("Step 21" in browser.text, "Add a step" in browser.text) == (False, False)
    await browser.send(new)
    assert len((await stored(market))["steps"]) == 20


async def test_an_agent_is_named_by_its_handle(market: Market, browser: BrowserOf) -> None:
    echo, new = await market.sells("echo", str), f"{pages_of(market)}/new"
    card = (await market.registry.get(f"/agents/by-did/{echo}")).json()
    await browser.open(new)
    fields = row(1, id="only", agent=card["human_readable_id"], content="x", max_amount="1")
    await browser.send(new, name="Chain", budget="1", **fields)
    assert (await stored(market))["steps"][0]["agent"] == echo


async def test_those_who_do_not_operate_the_agent_write_no_pipeline(market: Market) -> None:
    registry = market.registry
    stranger = await browser_of(registry)
    assert (await stranger.open(f"{pages_of(market)}/new")).status_code == 404
    owner = await registry.developer()
    organization = await found(registry, owner)
    agent = await organization.agent()
    viewer = await browser_of(registry, await organization.member("viewer"))
    answer = await viewer.open(f"/account/agents/{agent.did}/pipelines/new")
    assert answer.status_code == 403
