"""Statements of a right: none for agents of developers, one at most for agents of organizations."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest

from tests.doors.test_statements_of_pages import BOUNDS, counted
from tests.organizations import found, id_of
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry

Act = Callable[[TestRegistry, TestDeveloper, str], Awaitable[httpx2.Response]]


def reading(path: str) -> Act:
    return lambda registry, who, did: registry.get(
        f"/agents/{did}/{path}", headers={**who.headers, **registry.elsewhere()}
    )


def posting(path: str, **body: object) -> Act:
    return lambda registry, who, did: registry.post(
        f"/agents/{did}/{path}", json=body or None, headers={**who.headers, **registry.elsewhere()}
    )


def putting(path: str, **body: object) -> Act:
    return lambda registry, who, did: registry.http.request(
        "PATCH" if "unlisted" in body else "PUT",
        f"/api/v1/{path.format(did=did)}",
        json=body,
        headers={**who.headers, **registry.elsewhere()},
    )


# The statements of each act on an agent of a developer: as many as before there were organizations.
ACTS: dict[str, tuple[Act, int]] = {
    "read the rights": (reading("authz"), 3),
    "read the delegations": (reading("delegations"), 3),
    "read the approvals": (reading("spend-approvals"), 3),
    "replace the rights": (putting("agents/{did}/authz", roles=["trader"]), 10),
    "give a role": (posting("authz/roles", role="staker"), 6),
    "act as the agent": (posting("act-token"), 4),
    "replace the secret": (posting("rotate-secret"), 5),
    "switch the listing": (putting("agent-cards/{did}/listing", unlisted=True), 9),
}
TRANSFER, BEARER = 1, 1
"""The whole of a transfer; the agent of an act token is read at each request."""


async def acting_as(who: TestDeveloper, agent: TestAgent) -> TestAgent:
    """The agent with an act token of this developer."""
    issued = await who.registry.post(
        f"/agents/{agent.did}/act-token", headers={**who.headers, **who.registry.elsewhere()}
    )
    return TestAgent(agent.registry, agent.did, issued.json()["access_token"], agent.created)


async def statements_of(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[httpx2.Response]]
) -> int:
    """The statements of an act that is carried out, without those of the limits, which are taken for some requests at a time."""
    async with counted(registry, monkeypatch) as made:
        answer = await act()
    assert answer.is_success, answer.text
    return sum(not one.startswith(BOUNDS) and "plumbing_rate_limit" not in one for one in made)


async def test_a_right_costs_nothing_at_an_agent_of_a_developer_and_one_statement_at_one_of_an_organization(
    start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch
):
    registry = await start_registry()
    guild = await found(registry)
    member, own, shared = await guild.member(), await guild.owner.agent(), await guild.agent()
    await guild.send(guild.owner, "POST", "/teams", json={"slug": "managers", "grant": "manage"})
    await guild.send(guild.owner, "PUT", f"/teams/managers/members/{await id_of(member)}")
    await guild.send(guild.owner, "PUT", f"/teams/managers/agents/{shared.did}")
    for name, (act, expected) in ACTS.items():
        counts = [
            await statements_of(
                registry, monkeypatch, lambda who=who, did=did, act=act: act(registry, who, did)
            )
            for who, did in ((guild.owner, own.did), (guild.owner, shared.did), (member, shared.did))
        ]
        assert counts[0] == expected, (name, counts)
        # A write of a card also holds the membership until its commit.
        most = expected + (2 if name == "switch the listing" else 1)
        assert set(counts[1:]) <= set(range(expected, most + 1)), (name, counts)


async def test_a_transfer_of_an_agent_makes_no_statement_more(
    start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch
):
    registry = await start_registry()
    guild, payee = await found(registry), await registry.agent()
    own, shared = await guild.owner.agent(), await guild.born()
    assert (await own.transfer(shared, "5")).status_code == 200
    payers = (own, shared, *[await acting_as(guild.owner, agent) for agent in (own, shared)])
    for payer in payers:
        # The process reads an agent at its first request.
        assert (await payer.transfer(payee, "1")).status_code == 200
    counts = [
        await statements_of(registry, monkeypatch, lambda payer=payer: payer.transfer(payee, "1"))
        for payer in payers
    ]
    assert counts == [TRANSFER, TRANSFER, TRANSFER + BEARER, TRANSFER + BEARER + 1]
