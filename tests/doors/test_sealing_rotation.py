"""The sealing key is replaced: everything that was sealed opens under the next one, also after an interruption."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from hansa.doors import sealing_rotation
from hansa.doors.assembly import ASSEMBLY
from hansa.doors.sealing_rotation import rotate_sealing_key
from hansa.foundation.plumbing.jobs.mail_queue import PURPOSE
from hansa.foundation.plumbing.keys.key_files import BadKey
from hansa.foundation.plumbing.keys.seal import BadSeal, Resealed, Seal
from hansa.foundation.values.errors import Refused
from tests.conversations.person import person
from tests.registry import DatabaseFarm, TestRegistry, open_registry, settings_of


class Resting:
    """A registry that is opened for a moment and closed again."""

    def __init__(self, dsn: str, directory: Path) -> None:
        self.dsn, self.directory = dsn, directory

    @property
    def key(self) -> str:
        return (self.directory / "keys" / "sealing-key").read_text()

    @property
    def files(self) -> set[str]:
        return {path.name for path in (self.directory / "keys").glob("sealing-key*")}

    def opened(self) -> AbstractAsyncContextManager[TestRegistry]:
        return open_registry(self.dsn, self.directory)

    async def rotate(self) -> Resealed:
        return await rotate_sealing_key(settings_of(self.dsn, self.directory), "a test")


@pytest.fixture
async def resting(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Resting]:
    dsn = await database_farm.fresh()
    one = Resting(dsn, tmp_path / "data")
    async with one.opened():
        pass
    yield one
    await database_farm.drop(dsn)


async def test_every_sealed_secret_opens_under_the_next_key_and_nothing_under_the_former_one(
    resting: Resting,
):
    async with resting.opened() as registry:
        ada = await (await person(registry, "ada@example.org")).log_in()
        app, _ = await ada.use_app()
        seal = registry.runtime.seal
        mail = "INSERT INTO plumbing_letter (recipient, sealed_content, good_until) VALUES ('a@b.example', $1, now())"
        content = seal.close(json.dumps({"subject": "s", "text": "t"}).encode(), PURPOSE)
        await registry.database.transaction(lambda tx: tx.execute(mail, content))
        kid = (await registry.http.get("/.well-known/registry-jwks.json")).json()["keys"][0]["kid"]
        with pytest.raises(Refused, match="stop every process"):
            await resting.rotate()
    former = resting.key
    found = await resting.rotate()
    assert found.unreadable == 0
    assert found.resealed >= 6
    assert (resting.key != former, resting.files) == (True, {"sealing-key"})
    connection = await asyncpg.connect(resting.dsn)
    try:
        for one in ASSEMBLY.sealed:
            rows = await connection.fetch(
                f"SELECT {one.key} AS key, {one.column} AS sealed FROM {one.table} WHERE {one.column} IS NOT NULL"
            )
            for row in rows:
                assert Seal(resting.key.strip()).open(row["sealed"], one.purpose(row["key"]))
                with pytest.raises(BadSeal):
                    Seal(former.strip()).open(row["sealed"], one.purpose(row["key"]))
    finally:
        await connection.close()
    async with resting.opened() as registry:
        keys = (await registry.http.get("/.well-known/registry-jwks.json")).json()["keys"]
        assert [key["kid"] for key in keys] == [kid]
        partial = (await replace(ada, registry=registry).try_login()).json()["partial_token"]
        body = {"partial_token": partial, "code": app.code()}
        assert (await registry.post("/auth/2fa/validate", json=body)).status_code == 200


async def test_an_interrupted_rotation_is_completed_by_the_next_call(
    resting: Resting, monkeypatch: pytest.MonkeyPatch
):
    former = resting.key

    def broken(_: object) -> None:
        raise BadKey("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(sealing_rotation._Files, "promote", broken)
        with pytest.raises(BadKey, match="the disk is full"):
            await resting.rotate()
    assert (resting.key, resting.files) == (former, {"sealing-key", "sealing-key-next"})
    with pytest.raises(Refused, match="has not its keys"):
        async with resting.opened():
            pass
    assert await resting.rotate() == Resealed()
    assert (resting.key != former, resting.files) == (True, {"sealing-key"})
    async with resting.opened() as registry:
        assert (await registry.http.get("/.well-known/registry-card.json")).status_code == 200


async def test_what_did_not_open_before_is_counted_and_stays(resting: Resting):
    connection = await asyncpg.connect(resting.dsn)
    try:
        broken = "UPDATE auditor_witness_key SET sealed_key = 'nothing' WHERE octet_length(public_key) = 32"
        await connection.execute(broken)
        assert (await resting.rotate()).unreadable == 1
        stays = await connection.fetchval(
            "SELECT sealed_key FROM auditor_witness_key WHERE octet_length(public_key) = 32"
        )
        assert stays == b"nothing"
    finally:
        await connection.close()


async def test_each_column_of_sealed_secrets_is_declared_by_its_room(resting: Resting):
    connection = await asyncpg.connect(resting.dsn)
    try:
        rows = await connection.fetch(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name LIKE 'sealed%' AND data_type = 'bytea'"
        )
    finally:
        await connection.close()
    declared = {(one.table, one.column) for one in ASSEMBLY.sealed}
    of_pipelines = {("pipelines_run", "input"), ("pipelines_attempt", "output")}
    assert {(row["table_name"], row["column_name"]) for row in rows} | of_pipelines == declared
    for one in ASSEMBLY.sealed:
        assert one.table.startswith(next(room.name for room in ASSEMBLY.rooms if one in room.sealed))


async def test_after_the_loss_of_the_sealing_key_a_code_of_the_app_is_wrong_and_not_an_error(
    registry: TestRegistry,
):
    ada = await (await person(registry, "ada@example.org")).log_in()
    app, backup_codes = await ada.use_app()
    spoil = "UPDATE people_second_factor SET sealed_seed = 'nothing'"
    await registry.database.transaction(lambda tx: tx.execute(spoil))
    for code, status in ((app.code(), 401), (backup_codes[0], 200)):
        partial = (await ada.try_login()).json()["partial_token"]
        answer = await registry.post("/auth/2fa/validate", json={"partial_token": partial, "code": code})
        assert answer.status_code == status, answer.text
