"""`hansa status`, `hansa doctor` and `hansa stop`, of registries that run, are stopped, or were killed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hansa
from tests.operation.conftest import Launch, end_postgres
from tests.operation.registry_process import Ended, RegistryProcess, children_of, health, is_alive, run


@pytest.fixture(scope="module")
async def stopped(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry that served and was stopped."""
    registry = RegistryProcess(tmp_path_factory.mktemp("stopped") / "data", founded=founded_data)
    registry.copy()
    yield registry
    await end_postgres(registry.data_dir)


async def command(name: str, registry: RegistryProcess, *more: str, **settings: str) -> Ended:
    return await run(name, *more, data_dir=registry.data_dir, **settings)


def findings(ended: Ended, subject: str) -> list[dict[str, str]]:
    return [one for one in json.loads(ended.output)["findings"] if one["subject"] == subject]


# Running


async def test_the_status_of_a_running_registry(running: RegistryProcess):
    ended = await command("status", running, "--json")
    assert (ended.code, ended.complaint) == (0, "")
    shown = json.loads(ended.output)
    [process] = shown["processes"]
    assert (process["pid"], process["url"], process["workers"]) == (running.pid, running.url, 1)
    assert process["version"] == hansa.__version__
    assert (shown["running"], shown["ready"], shown["data_dir"]) == (True, True, str(running.data_dir))
    assert (shown["database"]["kind"], shown["audit"]["status"]) == ("embedded", "OK")
    assert int(shown["database"]["version"].partition(".")[0]) >= 15
    assert {"mail", "webhooks"} < {queue["name"] for queue in shown["queues"]}


async def test_the_status_is_readable_without_json(running: RegistryProcess):
    shown = (await command("status", running)).output
    assert f"running         {running.url}, process {running.pid}, version {hansa.__version__}" in shown
    assert "ready           yes" in shown


async def test_the_doctor_finds_a_sound_registry_sound(running: RegistryProcess):
    ended = await command("doctor", running, "--json")
    assert (ended.code, ended.complaint) == (0, ""), ended
    subjects = {one["subject"] for one in json.loads(ended.output)["findings"]}
    assert subjects == {
        *("version", "settings", "process", "readiness", "database", "durability", "schema", "queue"),
        *("audit", "backup", "disk", "permissions", "clock", "federation", "grants", "attacks"),
    }
    assert json.loads(ended.output)["sound"] is True


async def test_the_doctor_names_a_misspelt_setting_and_the_right_name(running: RegistryProcess):
    ended = await command("doctor", running, "--json", PUBLIC_BASEURL="https://registry.example")
    assert ended.code == 0
    [found] = findings(ended, "settings")
    assert (found["severity"], found["fix"]) == ("warning", "rename it to PUBLIC_BASE_URL")
    assert "PUBLIC_BASEURL" in found["message"]


# Stopped


async def test_the_status_of_a_stopped_registry(stopped: RegistryProcess):
    ended = await command("status", stopped, "--json")
    assert ended.code == 1
    shown = json.loads(ended.output)
    assert (shown["running"], shown["ready"], shown["processes"]) == (False, False, [])


async def test_the_doctor_examines_a_stopped_registry_and_starts_nothing(stopped: RegistryProcess):
    ended = await command("doctor", stopped, "--json")
    assert (ended.code, ended.complaint) == (0, ""), ended
    [process] = findings(ended, "process")
    assert process["fix"] == f"hansa serve --data-dir {stopped.data_dir}"
    assert not (stopped.data_dir / "postgres" / "postmaster.pid").exists()


async def test_the_doctor_finds_keys_that_others_can_read(stopped: RegistryProcess):
    key = stopped.data_dir / "keys" / "sealing-key"
    key.chmod(0o644)
    ended = await command("doctor", stopped, "--json")
    key.chmod(0o600)
    assert ended.code == 1
    [found] = findings(ended, "permissions")
    assert (found["severity"], found["fix"]) == ("problem", f"chmod go= {key}")


async def test_stopping_a_stopped_registry_says_that_none_runs(stopped: RegistryProcess):
    ended = await command("stop", stopped)
    assert (ended.code, ended.output) == (1, "")
    assert ended.complaints == [f"hansa: no registry is running in {stopped.data_dir}"]


@pytest.mark.parametrize("name", ["status", "doctor", "stop"])
async def test_where_no_registry_was_made_that_is_said(stopped: RegistryProcess, name: str):
    nowhere = stopped.data_dir.with_name("nowhere")
    ended = await run(name, data_dir=nowhere)
    assert (ended.code, ended.output) == (1, "")
    assert ended.complaints == [
        f"hansa: no registry in {nowhere}; run `hansa serve --data-dir {nowhere}` to create one"
    ]
    assert not nowhere.exists()


# From one to the other


async def test_stop_ends_a_registry_with_its_workers_and_database_and_waits_for_it(operated: Launch):
    registry = operated(workers=2)
    await registry.start()
    family = [registry.pid, *children_of(registry.pid)]
    ended = await command("stop", registry, "--json")
    assert (ended.code, json.loads(ended.output)) == (0, {"stopped": [registry.pid]})
    assert [pid for pid in family if is_alive(pid)] == []
    assert await health(registry.url) == 0
    assert (await registry.ended()).code == 0


async def test_a_killed_registry_is_not_taken_for_a_running_one(operated: Launch):
    registry = operated()
    await registry.start()
    await registry.kill()
    assert json.loads((await command("status", registry, "--json")).output)["processes"] == []
    assert (await command("stop", registry)).code == 1
