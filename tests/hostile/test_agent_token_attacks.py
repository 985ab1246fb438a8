"""Tokens that speak for an agent they were not given to, or for one that may not act any more: none opens anything."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.rooms import agents
from tests.hostile.refusals import fault_of
from tests.registry import TestAgent, TestRegistry, open_registry

MONEY = {"receiver_agent_id": "did:hansa:hansa.local:x", "amount": "1"}


def issued(registry: TestRegistry, subject: str, session: str) -> str:
    """A token that our own key signs."""
    return registry.runtime.tokens.issue(
        TokenKind.AGENT, subject, session=session, now=datetime.now(UTC), lifetime=timedelta(minutes=90)
    )


def session_of(agent: TestAgent) -> str:
    return agent.registry.runtime.tokens.verify(TokenKind.AGENT, agent.token).session


async def asked(registry: TestRegistry, token: str) -> set[tuple[int, str | None]]:
    """Return the status and the fault of the answers to two reads and a payment with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    answers = [
        await registry.get("/agents/me", headers=headers),
        await registry.get("/teg/balance", headers=headers),
        await registry.post("/teg/transfer", json=MONEY, headers=headers),
        await registry.post("/agents/me/rotate-signing-key", json={}, headers=headers),
    ]
    return {(answer.status_code, fault_of(answer)) for answer in answers}


async def test_a_token_speaks_for_nobody_but_whose_secret_bought_it(registry: TestRegistry):
    agent, other = await registry.agent(), await registry.agent()
    client_id = agent.created["client_id"]
    for subject, session in {
        (agent.did, session_of(other)),
        (other.did, session_of(agent)),
        (agent.did, client_id),
        (agent.did, f"{client_id}.0"),
        (agent.did, f"{client_id}.2"),
        (agent.did, f"{client_id}.01"),
        (agent.did, ""),
    }:
        assert await asked(registry, issued(registry, subject, session)) == {(401, None)}, (subject, session)
    assert {
        status for status, _ in await asked(registry, issued(registry, agent.did, session_of(agent)))
    } == {
        200,
        404,
    }


NO_AGENTS = [
    "did:hansa:system:treasury",
    "did:hansa:system:fee_collector",
    f"did:hansa:hansa.local:{uuid4()}",
    "",
    "1",
]


async def test_a_token_of_whoever_is_no_agent_opens_nothing(registry: TestRegistry):
    agent = await registry.agent()
    for subject in NO_AGENTS:
        assert await asked(registry, issued(registry, subject, session_of(agent))) == {(401, None)}, subject


async def test_a_did_in_another_spelling_is_another_did(registry: TestRegistry):
    agent = await registry.agent()
    for spelling in (agent.did.upper(), agent.did + " ", agent.did.replace(":", "%3A")):
        assert await asked(registry, issued(registry, spelling, session_of(agent))) == {(401, None)}, spelling


async def test_what_one_process_ends_every_process_refuses_at_the_next_request(registry: TestRegistry):
    developer = await registry.developer()
    stopped, robbed = await developer.agent(), await developer.agent(name="Robbed")
    settings = registry.settings
    async with AsyncExitStack() as stack:
        second = await stack.enter_async_context(open_registry(settings.database_url, settings.data_dir))
        for agent in (stopped, robbed):
            assert (await second.get("/agents/me", headers=agent.headers)).status_code == 200
        await registry.database.transaction(lambda tx: agents.suspend(tx, stopped.did))
        answer = await registry.post(f"/agents/{robbed.did}/rotate-secret", headers=developer.headers)
        assert answer.status_code == 200
        assert await asked(second, stopped.token) == {(403, None)}
        assert await asked(second, robbed.token) == {(401, None)}


async def test_a_certificate_in_a_header_opens_nothing(registry: TestRegistry):
    agent = await registry.agent()
    svid = (await registry.post("/agent/enable-mtls", json={}, headers=agent.headers)).json()["svid"]
    shown = svid["svid_pem"].replace("\n", " ")
    for header in ("X-Forwarded-Client-Cert", "X_Forwarded_Client_Cert", "Client-Cert", "X-SSL-Cert"):
        for value in (
            shown,
            f"URI={svid['spiffe_id']}",
            f'By=spiffe://hansa.local;URI="{svid["spiffe_id"]}"',
        ):
            answer = await registry.get("/agents/me", headers={header: value})
            assert (answer.status_code, fault_of(answer)) == (401, None), header
