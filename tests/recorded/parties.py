"""The developers, agents and administrator of the recorded conversation, each created by requests of its own."""

from dataclasses import dataclass
from typing import Any

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import people
from tests.recorded.recorder import Caller, RecordedAgent, Recorder
from tests.registry import PASSWORD, card_of


@dataclass(frozen=True)
class Parties:
    """Parties that take part from beginning to end."""

    administrator: Caller
    internal: Caller
    ada: Caller
    ben: Caller
    cleo: Caller
    alice: RecordedAgent
    """Of Ada: trader and staker, with a large balance."""
    alma: RecordedAgent
    """Of Ada: her second agent, without a genesis grant."""
    bob: RecordedAgent
    """Of Ben."""
    carol: RecordedAgent
    """Of Cleo."""


async def gather_parties(record: Recorder) -> Parties:
    """Register and log in everybody; the first agent of each developer gets the genesis grant."""
    administrator = await _administrator(record)
    internal = Caller("internal service", record.registry.internal)
    ada, ben, cleo = [await developer(record, name) for name in ("Ada", "Ben", "Cleo")]
    alice = await agent(record, ada, "Alice", tags=["translation", "legal"])
    alma = await agent(record, ada, "Alma", pricing={"model": "per-request", "base_rate": "0.5"})
    bob = await agent(record, ben, "Bob", tags=["weather"])
    carol = await agent(record, cleo, "Carol")
    return Parties(administrator, internal, ada, ben, cleo, alice, alma, bob, carol)


async def developer(record: Recorder, name: str, **more: Any) -> Caller:
    """Register and log in; returns the developer with a token."""
    body = registration(name, **more)
    await record.ask("POST", "/auth/register", json=body)
    return await login(record, name, body["email"])


def registration(name: str, **more: Any) -> dict[str, Any]:
    """The body of a registration that is accepted."""
    return {
        "name": name,
        "email": f"{name.lower()}@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        **more,
    }


async def login(record: Recorder, name: str, email: str, password: str = PASSWORD, **form: str) -> Caller:
    """Log in; returns the developer with a token."""
    form = {"username": email, "password": password, **form}
    answer = await record.ask("POST", "/auth/login", Caller(name), data=form)
    return bearer(name, answer.json()["access_token"])


def bearer(name: str, token: str) -> Caller:
    """Somebody who shows this token."""
    return Caller(name, {"Authorization": f"Bearer {token}"})


async def bootstrap(record: Recorder, owner: Caller) -> Caller:
    """A bearer of a new bootstrap token."""
    answer = await record.ask("POST", "/onboard/bootstrap/request-token", owner, json={})
    return Caller(f"bootstrap of {owner.name}", {"Bootstrap-Token": answer.json()["bootstrap_token"]})


async def agent(record: Recorder, owner: Caller, name: str, **card: Any) -> RecordedAgent:
    """Create an agent with a card and a token."""
    body = {"agent_did_method": "hansa", "agent_card": card_of(name, **card)}
    answer = await record.ask("POST", "/onboard/create_agent", await bootstrap(record, owner), json=body)
    return await agent_login(record, name, answer.json())


async def agent_login(record: Recorder, name: str, created: dict[str, Any]) -> RecordedAgent:
    """Exchange the secret of a created agent for a token."""
    form = {"username": created["client_id"], "password": created["client_secret"]}
    answer = await record.ask("POST", "/auth/agent/token", Caller(name), data=form)
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    return RecordedAgent(name, headers, created["agent_did"], created)


async def _administrator(record: Recorder) -> Caller:
    admitted = await people.admit_administrator(
        name="Root", email="root@example.org", password=PASSWORD, areas=ADMIN_AREAS
    )
    await record.registry.database.transaction(lambda tx: people.create_administrator(tx, admitted))
    return await login(record, "Root", "root@example.org")
