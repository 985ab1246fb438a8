"""Availability of an agent as a peer measures it: signed by the peer, sent to the home, and shown there as the peer's own."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from hansa.rooms import auditor
from hansa.rooms.catalogue.availability.closing import close_oldest_day
from hansa.rooms.catalogue.availability.exchange import ENVELOPE, PATH, send_statements
from hansa.rooms.catalogue.pulls import mirror_probes
from hansa.rooms.federation import SIGNATORY
from hansa_verify import read_auditor_keys, read_keys, verify_availability
from tests.neighbours.reading_peers import read
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.catalogue.pulls.agent_host import AgentHost, hosting


@dataclass(frozen=True)
class Scene:
    """Agents of b, on a host that both registries may call."""

    pair: Neighbours
    agents: AgentHost

    async def agent(self) -> TestAgent:
        """An agent of b with a mirror at a."""
        made = await self.pair.b.registry.agent(supportedInterfaces=self.agents.card()["supportedInterfaces"])
        await read(self.pair.a, self.pair.b)
        return made

    async def probed(self, agent: TestAgent) -> None:
        """Let rounds of a draw the agent, and let its day end."""
        a = self.pair.a.registry
        counted = "SELECT count(*) FROM catalogue_probe_day WHERE did = $1 AND place IS NULL"
        while not await a.database.query(lambda tx: tx.fetchval(counted, agent.did)):
            await mirror_probes.probe_mirrors(a.runtime)
        await execute(self.pair.a, "DELETE FROM catalogue_availability_sent")
        await execute(self.pair.a, "DELETE FROM catalogue_probe_day WHERE place IS NOT NULL")
        await execute(self.pair.a, "DELETE FROM catalogue_availability_day")
        await execute(self.pair.a, "UPDATE catalogue_probe_day SET day = day - 2")
        await a.database.transaction(lambda tx: close_oldest_day(tx, a.runtime))
        await auditor.run_cycle(a.runtime)


async def execute(one: Neighbour, statement: str, *values: Any) -> None:
    await one.registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def availability(one: Neighbour, did: str) -> dict[str, Any]:
    answer = await one.registry.get(f"/agents/{did}/availability")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def answering(asked: Any) -> tuple[int, bytes]:
    error = {"code": -32001, "message": "Task not found"}
    return 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with hosting() as agents:
        agents.reply = answering
        allowed = {"outgoing_allow_user_hosts": agents.place, "card_liveness_interval_seconds": 1}
        directory = tmp_path_factory.mktemp("availability")
        async with neighbours(database_farm, directory, a=allowed, b=allowed) as pair:
            yield Scene(pair, agents)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_probes, "SPREAD_SECONDS", 0.0)


async def test_a_registry_probes_agents_of_peers_and_proves_it_by_its_own_log(scene: Scene):
    agent = await scene.agent()
    await scene.probed(agent)
    found = await availability(scene.pair.a, agent.did)
    a = scene.pair.a.registry
    keys = read_keys((await a.http.get("/.well-known/registry-jwks-history.json")).json())
    auditors = read_auditor_keys((await a.http.get("/.well-known/auditor-jwks.json")).json())
    assert verify_availability(json.dumps(found), keys, auditors).code == "verified"
    assert (found["registry"], found["lower"], found["measured_days"]) == (a.settings.ledger_id, "1.0000", 1)


async def test_the_home_shows_the_statement_of_a_peer_as_the_peers_own_and_weighs_it_by_nothing(scene: Scene):
    agent = await scene.agent()
    before = await availability(scene.pair.b, agent.did)
    await scene.probed(agent)
    await send_statements(scene.pair.a.registry.runtime)
    found = await availability(scene.pair.b, agent.did)
    (stated,) = found["peers"]
    assert (stated["registry"], stated["lower"], stated["upper"]) == (
        scene.pair.a.registry.settings.ledger_id,
        "1.0000",
        "1.0000",
    )
    (day,) = stated["days"]
    own = await availability(scene.pair.a, agent.did)
    (proved,) = [one for one in own["days"] if one["hours"]]
    assert day["statement"] == proved["proof"]["statement"]
    assert (day["hours"], day["index"], day["hashes"]) == (
        proved["hours"],
        proved["proof"]["index"],
        proved["proof"]["hashes"],
    )
    assert {**found, "peers": []} == before


async def test_what_was_sent_is_sent_once_and_a_repeated_message_stores_nothing(scene: Scene):
    agent = await scene.agent()
    await scene.probed(agent)
    runtime = scene.pair.a.registry.runtime
    await send_statements(runtime)
    before = await availability(scene.pair.b, agent.did)
    await send_statements(runtime)
    await execute(scene.pair.a, "DELETE FROM catalogue_availability_sent")
    await send_statements(runtime)
    assert await availability(scene.pair.b, agent.did) == before


async def test_a_peer_states_nothing_of_agents_that_are_not_of_this_registry_and_nothing_unproved(
    scene: Scene,
):
    agent = await scene.agent()
    stranger = await scene.pair.a.registry.agent(name="Own agent of a")
    await scene.probed(agent)
    own = await availability(scene.pair.a, agent.did)
    (proved,) = [one for one in own["days"] if one["hours"]]
    proof = proved["proof"]
    one = {"did": agent.did, "hours": proved["hours"], "index": proof["index"], "hashes": proof["hashes"]}
    better = [[4, 4, 0, 0, 0, 0]] * 24
    flag = [[True, 0, 0, 0, 0, 0]] * 24
    key = await SIGNATORY.of(scene.pair.a.registry.runtime).present_key()

    def message(**changed: Any) -> str:
        members = {"kind": "fed.availability.v1", "statement": proof["statement"], "agents": [one]}
        return ENVELOPE.sign(key, members | changed)

    wrong = [
        "x",
        "é" * 4096,
        message(kind="fed.availability.v2"),
        message(statement={**proof["statement"], "root": "0" * 64}),
        message(statement=None),
        message(statement=[]),
        message(agents=None),
        message(agents=[one] * 51),
        message(agents=[None]),
        *(
            message(agents=[{**one, **changed}])
            for changed in (
                {"did": stranger.did},
                {"did": 7},
                {"hours": better},
                {"hours": flag},
                {"hours": None},
                {"index": one["index"] + 1},
                {"index": 2**70},
                {"hashes": [*one["hashes"], b64encode(bytes(32)).decode()]},
                {"hashes": None},
            )
        ),
    ]
    before = (await scene.pair.b.refused(scene.pair.a)).get("message_malformed", 0)
    for text in wrong:
        answer = await scene.pair.a.call(scene.pair.b, "POST", PATH, {"messages": [text]})
        assert (answer.status, json.loads(answer.body)["stored"]) == (200, 0), text[:80]
    assert (await scene.pair.b.refused(scene.pair.a))["message_malformed"] == before + len(wrong)
    good = await scene.pair.a.call(scene.pair.b, "POST", PATH, {"messages": [message()]})
    assert json.loads(good.body)["stored"] == 1
    await execute(scene.pair.b, "DELETE FROM catalogue_peer_availability")


async def test_a_probe_of_a_mirror_changes_nothing_of_the_card(scene: Scene):
    agent = await scene.agent()
    before = (await scene.pair.a.registry.get(f"/agent-cards/{agent.did}")).json()
    scene.agents.reply = lambda _: (500, b"down")
    await scene.probed(agent)
    scene.agents.reply = answering
    assert (await scene.pair.a.registry.get(f"/agent-cards/{agent.did}")).json() == before
    assert (await availability(scene.pair.a, agent.did))["upper"] == "0.0000"
