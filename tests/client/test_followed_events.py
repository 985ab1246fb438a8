"""`hansa-client events --follow` beside a registry that is away for a time."""

import asyncio

import pytest

from hansa_client import AgentCredentials, Registry, RetryPolicy, Unreachable
from hansa_client.commands import following
from hansa_client.commands.following import follow_on
from hansa_client.errors import Forbidden
from tests.client.faults import Faults
from tests.registry import TestAgent, TestRegistry

EVENTS = "/api/v1/agents/me/events"


def registry_of(agent: TestAgent, address: str, faults: Faults) -> Registry:
    credentials = AgentCredentials(agent.created["client_id"], agent.created["client_secret"])
    return Registry(
        address, agent=credentials, http_transport=faults.synchronous(), retries=RetryPolicy(attempts=1)
    )


async def test_an_outage_is_named_and_outlived(
    registry: TestRegistry,
    address: str,
    faults: Faults,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "0.1")).status_code == 200
    await registry.transactions_ended()
    monkeypatch.setattr(following, "OUTAGE_SECONDS", 0.0)
    faults.next(EVENTS, "", "request lost", "request lost", "", "403")

    def follow() -> None:
        with (
            registry_of(payer, address, faults) as client,
            client.events.follow(from_beginning=True) as events,
        ):
            follow_on(events, as_json=False)

    with pytest.raises(Forbidden):
        await asyncio.to_thread(follow)
    printed = capsys.readouterr()
    assert printed.out.count("TokensTransferred") == 2
    assert printed.err.splitlines() == [
        f"The registry does not answer. GET {EVENTS}: ConnectError: the connection was refused. Trying again."
    ]


async def test_a_registry_that_never_answered_is_a_failure(
    registry: TestRegistry, address: str, faults: Faults
):
    payer = await registry.agent()
    faults.next(EVENTS, "request lost")

    def follow() -> None:
        with registry_of(payer, address, faults) as client, client.events.follow() as events:
            follow_on(events, as_json=False)

    with pytest.raises(Unreachable):
        await asyncio.to_thread(follow)
