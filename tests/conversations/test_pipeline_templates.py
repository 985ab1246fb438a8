"""Templates of pipelines: each is made for agents of the demo, and a run of it is carried out by them over HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.doors.demo.echo_service import EchoService, listening
from tests.pipelines import Market, pipeline_jobs, step_of, text_of
from tests.registry import StartRegistry


class Echoes(Market):
    """A market of agents that answer as the service of the demo."""


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        registry = await start_registry(outgoing_allow_user_hosts=place)
        owner = await registry.developer()
        buyer = await owner.agent(name="Buyer")
        async with listening(EchoService(), listener), pipeline_jobs(registry.runtime):
            yield Echoes(registry, owner, buyer, place=place)


PARAMETERS: dict[str, Any] = {
    "best-of-n": {"workers": ["a", "b", "c"], "judge": "d"},
    "research-and-merge": {"researchers": ["a", "b"], "writer": "c"},
    "translate-and-review": {"translator": "a", "reviewer": "b"},
}
LAST = {
    "best-of-n": ("choose", "echo Write a slogan for a bakery"),
    "research-and-merge": ("merge", "echo Research this question"),
    "translate-and-review": ("review", "echo Translate into French"),
}


async def instantiated(market: Market, template: str, parameters: dict[str, Any], status: int = 201) -> Any:
    answer = await market.registry.post(
        f"/pipeline-templates/{template}/instantiate",
        json={"agent_did": market.buyer.did, "parameters": parameters},
        headers=market.owner.headers,
    )
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_three_templates_ship(market: Market):
    listed = (await market.registry.get("/pipeline-templates")).json()
    assert [one["id"] for one in listed["items"]] == list(PARAMETERS)
    for one in listed["items"]:
        assert (await market.registry.get(f"/pipeline-templates/{one['id']}")).json() == one
    assert (await market.registry.get("/pipeline-templates/other")).status_code == 404


@pytest.mark.parametrize("template", PARAMETERS)
async def test_a_run_of_each_template_is_carried_out_by_agents_of_the_demo(market: Market, template: str):
    given = PARAMETERS[template]
    names = sorted({name for value in given.values() for name in value})
    dids = {name: await market.sells(name) for name in names}
    parameters = {
        role: [dids[name] for name in value] if isinstance(value, list) else dids[value]
        for role, value in given.items()
    }
    made = await instantiated(market, template, {**parameters, "max_amount": "1"})
    example = (await market.registry.get(f"/pipeline-templates/{template}")).json()["input"]
    async with asyncio.timeout(60):
        run = await market.until(await market.started(made["id"], example))
    assert run["status"] == "succeeded", run
    assert run["spent"] == str(len(names)) == made["budget"]
    last, part = LAST[template]
    assert part in (text_of(run, last) or "")
    assert all(step_of(run, one["id"])["attempts"][0]["status"] == "settled" for one in made["steps"])
    await market.books_are_exact()


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"translator": "x", "reviewer": "did:web:b.example", "max_amount": "1"},
        {"translator": "did:web:a.example", "reviewer": "did:web:b.example", "max_amount": "0"},
        {"translator": "did:web:a.example", "reviewer": "did:web:b.example", "max_amount": 1},
        {"translator": ["did:web:a.example"], "reviewer": "did:web:b.example", "max_amount": "1"},
        {"translator": "did:web:a.example", "reviewer": "did:web:b.example", "max_amount": "1", "other": 1},
    ],
)
async def test_parameters_are_those_of_the_template(market: Market, parameters: dict[str, Any]):
    refused = await instantiated(market, "translate-and-review", parameters, 422)
    assert refused["error"]["field"].startswith("parameters")


async def test_a_list_of_agents_has_at_least_two(market: Market):
    one = {"workers": ["did:web:a.example"], "judge": "did:web:b.example", "max_amount": "1"}
    await instantiated(market, "best-of-n", one, 422)


async def test_a_template_is_used_for_an_own_agent_alone(market: Market):
    stranger = await market.registry.developer()
    parameters = {"translator": "did:web:a.example", "reviewer": "did:web:b.example", "max_amount": "1"}
    answer = await market.registry.post(
        "/pipeline-templates/translate-and-review/instantiate",
        json={"agent_did": market.buyer.did, "parameters": parameters},
        headers=stranger.headers,
    )
    assert answer.status_code == 404
