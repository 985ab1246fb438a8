"""The guide "Several machines", walked: two data directories, one PostgreSQL, a proxy, one machine killed under load."""

import os
import re
import shlex
import signal
from pathlib import Path
from random import SystemRandom

import asyncpg
import pytest

from hansa.foundation.plumbing.keys import key_bundle
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.data_directories import copy_data_directory
from tests.operation.conftest import Launch
from tests.operation.history import History, Operation, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.registry_process import Ended, RegistryProcess, free_port, run, until
from tests.operation.round_robin_proxy import RoundRobinProxy
from tests.operation.storm import Storm

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "several-machines.md"
SEED = int(os.environ.get("HANSA_TEST_SEED", SystemRandom().randrange(2**32)))
PERIODIC_TASKS = (1, 5, 50)[int(os.environ.get("HANSA_TEST_TIER", "0"))]
CLIENTS = 12
SECRET = "Quiet-Harbour-41-Lantern"
MACHINE = {"REGISTRY_NAME": "north", "TRUST_DOMAIN": "north.test", "TRUSTED_PROXIES": "127.0.0.1"}


def commands_under(heading: str) -> list[list[str]]:
    """The commands of a section of the guide, as they stand."""
    section = GUIDE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


async def follow(command: list[str], machine: RegistryProcess, shared: Path, **settings: str) -> Ended | None:
    """Run a command of the guide on one machine: `serve` in the background, the others to their end."""
    program, verb, *rest = command
    assert program == "hansa"
    if verb == "serve":
        assert rest == ["--config", "/etc/hansa/hansa.env", "--data-dir", "/srv/hansa", "--host", "0.0.0.0"]
        await machine.start()
        return None
    places = {"/srv/hansa": str(machine.data_dir), "registry-keys.json": str(shared)}
    ended = await run(
        verb,
        *(places.get(word, word) for word in rest),
        data_dir=machine.data_dir,
        HANSA_KEYS_PASSPHRASE=SECRET,
        **settings,
    )
    assert ended.code == 0, ended
    assert SECRET not in ended.output + ended.complaint
    return ended


def acknowledged(path: Path) -> int:
    return sum(one.outcome is Outcome.ACKNOWLEDGED for one in read_history(path))


@pytest.fixture
def server(migrated_data: Path, tmp_path: Path) -> EmbeddedPostgres:
    """The server that the machines share; its database has the schema and no registry."""
    copy_data_directory(migrated_data, tmp_path / "server")
    return EmbeddedPostgres(tmp_path / "server")


async def test_one_of_two_machines_is_killed_under_load_and_clients_go_on_without_a_loss(
    operated: Launch, server: EmbeddedPostgres, tmp_path: Path
):
    print(f"HANSA_TEST_SEED={SEED}")
    settings = {**MACHINE, "DATABASE_URL": await server.start(), "GENESIS_SUPPLY": "100000000"}
    machines = [operated(name, port=free_port(), **settings) for name in ("first", "second")]
    shared = tmp_path / "registry-keys.json"
    try:
        for heading, machine in zip(("The first machine", "Every further machine"), machines, strict=True):
            for command in commands_under(heading):
                await follow(command, machine, shared, **settings)
        assert shared.stat().st_mode & 0o777 == 0o600
        async with RoundRobinProxy([machine.url for machine in machines]) as proxy:
            operations = await storm_while_one_dies(proxy.url, machines, tmp_path / "history.jsonl")
        for machine in machines:
            assert (await machine.stop()).code == 0
        connection = await asyncpg.connect(settings["DATABASE_URL"])
        assert await find_what_is_wrong(connection, operations) == []
        await connection.close()
        assert rude_answers(operations) == []
        assert {one.outcome for one in operations} <= {Outcome.ACKNOWLEDGED, Outcome.REFUSED}
    finally:
        for machine in machines:
            await machine.kill()
        await server.stop()


async def storm_while_one_dies(url: str, machines: list[RegistryProcess], path: Path) -> list[Operation]:
    """Return the operations of clients while machines died in turn; those without an answer are repeated."""
    history = History(path)
    storm = Storm(url, history, SEED, clients=CLIENTS, agents=CLIENTS)
    try:
        await storm.gather()
        storm.rage()
        for number in range(PERIODIC_TASKS):
            victim = machines[number % 2]
            await go_on(path)
            victim.send_signal(signal.SIGKILL)
            # With one machine gone clients go on; then it comes back.
            await go_on(path)
            await victim.kill()
            await victim.start()
        await go_on(path)
        await storm.calm()
        await storm.settle([one for one in read_history(path) if one.outcome is Outcome.UNKNOWN])
    finally:
        await storm.close()
        history.close()
    return read_history(path)


async def go_on(path: Path) -> None:
    """Wait until more is acknowledged than clients had under way."""
    had = acknowledged(path)
    await until(lambda: acknowledged(path) >= had + 2 * CLIENTS, seconds=120)


async def test_a_machine_without_the_keys_does_not_start_and_names_the_step(
    operated: Launch, server: EmbeddedPostgres
):
    settings = {**MACHINE, "DATABASE_URL": await server.start()}
    first, second = operated("first", **settings), operated("second", **settings)
    try:
        await first.start()
        alone = await run("serve", "--port=0", data_dir=second.data_dir, **settings)
        assert alone.code == 1
        [line] = alone.complaints
        assert "`hansa keys export FILE` where it runs and `hansa keys import FILE` here" in line
        assert not second.data_dir.exists()
        renamed = await run(
            "serve", "--port=0", data_dir=first.data_dir, **{**settings, "REGISTRY_NAME": "south"}
        )
        assert renamed.code == 1
        [line] = renamed.complaints
        assert "belongs to the registry 'north' of trust domain north.test" in line
        # The same keys as mounted files: nothing is imported, and nothing is written.
        mounted = {
            f"HANSA_KEY_{file.stem.upper().replace('-', '_')}_FILE": str(file)
            for file in (first.data_dir / "keys").iterdir()
        }
        third = operated("third", **settings, **mounted)
        await third.start()
        assert not (third.data_dir / "keys").exists()
        assert (await third.stop()).code == 0
        assert (await first.stop()).code == 0
    finally:
        for machine in (first, second):
            await machine.kill()
        await server.stop()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A data directory that holds a key."""
    (tmp_path / "data" / "keys").mkdir(parents=True, mode=0o700)
    (tmp_path / "data" / "keys" / "sealing-key").write_text("0123456789abcdef" * 4)
    return tmp_path / "data"


async def test_exported_keys_are_encrypted_and_no_file_and_no_key_is_ever_replaced(
    keys: Path, tmp_path: Path
):
    file = tmp_path / "keys.json"
    passphrase = {"HANSA_KEYS_PASSPHRASE": SECRET}
    assert (await run("keys", "export", str(file), data_dir=keys, **passphrase)).code == 0
    content = file.read_bytes()
    assert b"0123456789abcdef" not in content
    again = await run("keys", "export", str(file), data_dir=keys, **passphrase)
    assert (again.code, len(again.complaints)) == (1, 1)
    assert file.read_bytes() == content
    wrong = await run(
        "keys", "import", str(file), data_dir=tmp_path / "b", HANSA_KEYS_PASSPHRASE=SECRET + "!"
    )
    assert "the passphrase is wrong" in wrong.complaint
    short = await run("keys", "export", str(tmp_path / "c"), data_dir=keys, HANSA_KEYS_PASSPHRASE="short")
    assert short.complaints == ["hansa: passphrase: at least 12 characters"]
    unasked = await run("keys", "import", str(file), data_dir=tmp_path / "b")
    assert (unasked.code, "HANSA_KEYS_PASSPHRASE" in unasked.complaint) == (2, True)
    assert not (tmp_path / "b").exists()
    for _ in range(2):
        assert (await run("keys", "import", str(file), data_dir=tmp_path / "b", **passphrase)).code == 0
    imported = tmp_path / "b" / "keys" / "sealing-key"
    assert imported.read_text() == (keys / "keys" / "sealing-key").read_text()
    assert imported.stat().st_mode & 0o777 == 0o600
    imported.write_text("fedcba9876543210" * 4)
    other = await run("keys", "import", str(file), data_dir=tmp_path / "b", **passphrase)
    assert "other keys are in use here (sealing-key)" in other.complaint
    assert imported.read_text() == "fedcba9876543210" * 4
    none = await run("keys", "export", str(tmp_path / "d"), data_dir=tmp_path / "e", **passphrase)
    assert "no keys in" in none.complaint


async def test_a_guess_at_the_passphrase_of_exported_keys_takes_128_mib(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "keys.json"
    ended = await run(
        "keys", "export", str(file), data_dir=keys, as_program=True, HANSA_KEYS_PASSPHRASE=SECRET
    )
    assert ended.code == 0, ended
    monkeypatch.setattr(key_bundle, "SCRYPT_COST", (128 << 20) // (128 * key_bundle.SCRYPT_BLOCKS))
    opened = key_bundle.open_keys(file.read_bytes(), SECRET)
    assert opened == {"sealing-key": b"0123456789abcdef" * 4, "ledger-id": b"hansa.local"}
