"""Attested availability: probes by hour, closed days in one tree with a signed root in the log, verified offline."""

import json
from copy import deepcopy

import pytest

from hansa.rooms import auditor
from hansa.rooms.catalogue.availability.closing import close_oldest_day
from hansa.rooms.catalogue.availability.store import has_open_day
from hansa_verify import read_auditor_keys, read_keys, verify_availability
from tests.rooms.catalogue.pulls.agent_host import check_health, let_be_due, registry_beside_a_host

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"


def answering(asked):
    """The answer of an agent that does not know the task."""
    error = {"code": -32001, "message": "Task not found"}
    return 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()


def refusing(asked):
    return 500, b"down"


class Stage:
    """A registry beside a host of agents, whose probes can be moved to other days and hours."""

    def __init__(self, registry, agents):
        self.registry, self.agents = registry, agents

    async def agent(self):
        return await self.registry.agent(supportedInterfaces=self.agents.card()["supportedInterfaces"])

    async def probe(self, reply=answering):
        """Call every agent."""
        self.agents.reply = reply
        await let_be_due(self.registry)
        return await check_health(self.registry)

    async def execute(self, statement, *values):
        await self.registry.database.transaction(lambda tx: tx.execute(statement, *values))

    async def fetch(self, statement, *values):
        return await self.registry.database.query(lambda tx: tx.fetch(statement, *values))

    async def let_days_pass(self, days=2):
        """Let the open days be so many days older."""
        await self.execute("UPDATE catalogue_probe_day SET day = day - $1::int WHERE place IS NULL", days)

    async def close(self):
        """Close the days that have ended, and let the log have their statements."""
        while await self.registry.database.query(has_open_day):
            await self.registry.database.transaction(lambda tx: close_oldest_day(tx, self.registry.runtime))
        await auditor.run_cycle(self.registry.runtime)

    async def read(self, did):
        answer = await self.registry.get(f"/agents/{did}/availability")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def verdict(self, document):
        keys = (await self.registry.http.get("/.well-known/registry-jwks-history.json")).json()
        auditors = (await self.registry.http.get("/.well-known/auditor-jwks.json")).json()
        return verify_availability(json.dumps(document), read_keys(keys), read_auditor_keys(auditors))


@pytest.fixture
async def stage(database_farm, tmp_path):
    async with registry_beside_a_host(await database_farm.fresh(), tmp_path) as (registry, agents):
        yield Stage(registry, agents)


async def test_probes_of_a_closed_day_are_answered_with_proofs_that_verify_offline(stage):
    agents = [await stage.agent() for _ in range(5)]
    for _ in range(3):
        await stage.probe()
    await stage.let_days_pass()
    await stage.close()
    for agent in agents:
        found = await stage.read(agent.did)
        verdict = await stage.verdict(found)
        assert verdict.code == "verified", verdict.steps
        assert (found["lower"], found["upper"], found["measured_days"]) == ("1.0000", "1.0000", 1)
        [measured] = [one for one in found["days"] if one["hours"]]
        [hour] = [one for one in measured["hours"] if one]
        assert hour[0] == sum(hour[1:]) == 3
        assert found["median_ms_max"] in {100, 300, 1000}


async def test_a_day_is_one_entry_of_the_log_for_all_agents(stage):
    for _ in range(3):
        await stage.agent()
    await stage.probe()
    await stage.let_days_pass()
    await stage.close()
    leaves = await stage.fetch("SELECT object_id FROM auditor_log_leaf WHERE kind = 'availability'")
    [closed] = await stage.fetch("SELECT day::text, agents FROM catalogue_availability_day")
    assert ([leaf["object_id"] for leaf in leaves], closed["agents"]) == ([closed["day"]], 3)


async def test_bounds_enclose_hours_in_which_some_probes_were_answered(stage):
    agent = await stage.agent()
    await stage.probe()
    await stage.probe(refusing)
    await stage.let_days_pass()
    await stage.close()
    found = await stage.read(agent.did)
    assert (found["lower"], found["upper"]) == ("0.0000", "1.0000")
    assert (await stage.verdict(found)).is_valid


async def test_a_day_without_probes_does_not_count_and_is_shown(stage):
    agent = await stage.agent()
    empty = await stage.read(agent.did)
    assert (empty["lower"], empty["upper"], empty["measured_days"], empty["checkpoint"]) == (
        None,
        None,
        0,
        None,
    )
    assert len(empty["days"]) == 90
    assert (await stage.verdict(empty)).is_valid
    await stage.probe()
    await stage.let_days_pass(2)
    await stage.probe(refusing)
    await stage.let_days_pass(3)
    await stage.close()
    found = await stage.read(agent.did)
    assert (found["lower"], found["upper"], found["measured_days"]) == ("0.5000", "0.5000", 2)
    assert [one["hours"] is None for one in found["days"][-6:]] == [True, False, True, False, True, True]


async def test_today_is_in_no_answer_and_a_closed_day_never_changes(stage):
    agent = await stage.agent()
    await stage.probe()
    await stage.close()
    assert (await stage.read(agent.did))["measured_days"] == 0
    await stage.let_days_pass()
    await stage.close()
    before = await stage.read(agent.did)
    await stage.execute("UPDATE catalogue_probe_day SET day = day + 2")
    await stage.probe()
    await stage.execute("UPDATE catalogue_probe_day SET day = day - 2")
    assert (await stage.read(agent.did))["days"] == before["days"]


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("arithmetic", lambda found, day: found.update(lower="1.0000")),
        ("arithmetic", lambda found, day: day.update(upper="0.9000")),
        ("arithmetic", lambda found, day: found.update(measured_days=2)),
        ("trees", lambda found, day: day["hours"].__setitem__(day["hours"].index(None), [1, 1, 0, 0, 0, 0])),
        ("trees", lambda found, day: found.update(agent_did=NOBODY)),
        ("statements", lambda found, day: day["proof"]["statement"].update(agents=1)),
        ("statements", lambda found, day: found.update(registry="hansa:other.example")),
        ("log", lambda found, day: day["proof"]["log"].update(entry=day["proof"]["log"]["entry"] + " ")),
        ("log", lambda found, day: found.update(checkpoint=None)),
        ("form", lambda found, day: day.update(proof=None)),
        ("days", lambda found, day: found["days"].reverse()),
    ],
)
async def test_a_changed_answer_is_refused(stage, code, change):
    agent, _ = [await stage.agent() for _ in range(2)]
    await stage.probe()
    await stage.probe(refusing)
    await stage.let_days_pass()
    await stage.close()
    found = await stage.read(agent.did)
    assert (await stage.verdict(found)).is_valid
    changed = deepcopy(found)
    change(changed, next(one for one in changed["days"] if one["hours"]))
    assert (await stage.verdict(changed)).code == code


async def test_an_agent_without_a_card_has_no_availability(stage):
    answer = await stage.registry.get(f"/agents/{NOBODY}/availability")
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (404, "CARD_UNKNOWN")


async def test_the_page_shows_ninety_days_and_the_command_that_verifies_them(stage):
    agent = await stage.agent()
    await stage.probe()
    await stage.probe(refusing)
    await stage.let_days_pass()
    await stage.close()
    shown = await stage.registry.http.get(f"/availability/{agent.did}")
    assert shown.status_code == 200
    assert "0.00 %" in shown.text
    assert "100.00 %" in shown.text
    assert (
        f"hansa verify availability {stage.registry.settings.base_url}/api/v1/agents/{agent.did}/availability"
        in shown.text
    )
    image = await stage.registry.http.get(f"/availability/{agent.did}.svg")
    assert image.headers["content-type"].startswith("image/svg+xml")
    assert image.text.count('class="down"') == 1
    assert (
        f"/availability/{agent.did.replace(':', '%3A')}.svg"
        in (await stage.registry.http.get(f"/agents/{agent.did}")).text
    )
    for path in (f"/availability/{NOBODY}", f"/availability/{NOBODY}.svg"):
        assert (await stage.registry.http.get(path)).status_code == 404
