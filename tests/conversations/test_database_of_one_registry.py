"""A database belongs to one registry: by name, trust domain and keys."""

import asyncio
from pathlib import Path

import pytest

from hansa.doors.offline_commands import adopt_database, mint
from hansa.doors.startup import prepared_database
from hansa.foundation.plumbing.keys.registry_identity import DatabaseOfAnother
from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.foundation.values.money import units
from tests.registry import DatabaseFarm, open_registry

KEYS = [
    "access-token",
    "agent-token",
    "developer-token",
    "identity-authority",
    "password-set-token",
    "sealing-key",
]


def settings_of(dsn: str, directory: Path, **more: object) -> Settings:
    return read_settings(database_url=dsn, data_dir=directory, **more)


async def refusal_of(settings: Settings) -> str:
    """Return the refusal of a process with these settings at its start."""
    with pytest.raises(DatabaseOfAnother) as refused:
        async with prepared_database(settings):
            pass
    assert "\n" not in refused.value.detail
    return refused.value.detail


async def test_the_first_start_records_name_trust_domain_and_the_fingerprints_of_the_keys(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path, registry_name="north", trust_domain="north.test") as registry:
        row = await registry.database.query(lambda tx: tx.fetchrow("SELECT * FROM plumbing_registry"))
        keys = await registry.database.query(
            lambda tx: tx.fetch("SELECT name, fingerprint FROM plumbing_registry_key ORDER BY name")
        )
    assert (row["registry_name"], row["trust_domain"]) == ("north", "north.test")
    assert [key["name"] for key in keys] == KEYS
    assert len({key["fingerprint"] for key in keys}) == len(KEYS)


async def test_a_process_of_another_name_or_trust_domain_is_refused_and_the_refusal_says_how_to_join(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path, registry_name="north"):
        pass
    renamed = await refusal_of(settings_of(dsn, tmp_path, registry_name="south"))
    assert "'north' of trust domain hansa.local" in renamed
    assert "set REGISTRY_NAME and TRUST_DOMAIN" in renamed
    moved = await refusal_of(settings_of(dsn, tmp_path, registry_name="north", trust_domain="south.test"))
    assert "another database" in moved


async def test_the_ledger_id_is_fixed_at_the_first_start(database_farm: DatabaseFarm, tmp_path: Path):
    frame, operator = await database_farm.fresh(), await database_farm.fresh()
    as_operator = {"registry_name": "north", "registry_tier": "cloud-operator"}
    async with open_registry(frame, tmp_path / "frame", registry_name="north") as registry:
        assert registry.settings.ledger_id == "hansa.local"
    async with open_registry(operator, tmp_path / "operator", **as_operator) as registry:
        row = await registry.database.query(lambda tx: tx.fetchrow("SELECT * FROM plumbing_registry"))
        assert row["ledger_id"] == "hansa.local/registry/north"
    refused = await refusal_of(settings_of(frame, tmp_path / "frame", **as_operator))
    assert "whose ledger is hansa.local, and" in refused
    assert "the ledger of this process is hansa.local/registry/north" in refused
    refused = await refusal_of(settings_of(operator, tmp_path / "operator", registry_name="north"))
    assert "the ledger of this process is hansa.local:" in refused
    for database, name, settings in (
        (frame, "frame", as_operator),
        (operator, "operator", {**as_operator, "registry_name": "south"}),
    ):
        with pytest.raises(DatabaseOfAnother, match="The ledger of a registry keeps its name"):
            await adopt_database(settings_of(database, tmp_path / name, **settings))


async def test_a_process_with_other_keys_is_refused_before_it_makes_any(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path / "first"):
        pass
    refusal = await refusal_of(settings_of(dsn, tmp_path / "second"))
    assert f"has not its keys ({', '.join(KEYS)})" in refusal
    assert "`hansa keys import FILE`" in refusal
    assert not (tmp_path / "second").exists()
    async with open_registry(await database_farm.fresh(), tmp_path / "third"):
        pass
    assert f"has not its keys ({', '.join(KEYS)})" in await refusal_of(settings_of(dsn, tmp_path / "third"))


async def test_a_command_with_other_keys_or_another_name_changes_nothing(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path / "first") as registry:
        for settings in (
            settings_of(dsn, tmp_path / "second"),
            settings_of(dsn, tmp_path / "first", registry_name="south"),
        ):
            with pytest.raises(DatabaseOfAnother):
                await mint(settings, units(1), "refused")
        issued = await registry.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM ledger_transaction WHERE tx_type = 'issue'")
        )
    assert issued == 1


async def test_of_two_registries_that_start_together_on_an_empty_database_one_founds_it_and_the_other_is_refused(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()

    async def start(name: str) -> str | None:
        try:
            async with prepared_database(settings_of(dsn, tmp_path / name, registry_name=name)):
                return name
        except DatabaseOfAnother:
            return None

    started = await asyncio.gather(*map(start, ["north", "south"]))
    (founder,) = [name for name in started if name]
    async with open_registry(dsn, tmp_path / founder, registry_name=founder) as registry:
        issued = await registry.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM ledger_transaction WHERE tx_type = 'issue'")
        )
        keys = await registry.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM federation_registry_key")
        )
    assert (issued, keys) == (1, 1)


async def test_a_registry_is_renamed_by_the_operator_alone_and_the_act_is_recorded(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path, registry_name="north"):
        pass
    south = settings_of(dsn, tmp_path, registry_name="south")
    assert await adopt_database(south) == ["name 'south'"]
    assert await adopt_database(south) == []
    async with open_registry(dsn, tmp_path, registry_name="south") as registry:
        acts = await registry.database.query(
            lambda tx: tx.fetch("SELECT act, reason FROM plumbing_admin_act")
        )
    assert [(act["act"], act["reason"]) for act in acts] == [("registry.adopt", "name 'south'")]
    with pytest.raises(DatabaseOfAnother, match="The trust domain of a registry cannot change"):
        await adopt_database(settings_of(dsn, tmp_path, registry_name="south", trust_domain="south.test"))


async def test_an_internal_key_may_be_replaced_without_a_word(database_farm: DatabaseFarm, tmp_path: Path):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path):
        (tmp_path / "keys" / "internal-api-key").write_text("a-key-of-the-operators-own-0123456789")
    async with open_registry(dsn, tmp_path) as registry:
        assert registry.runtime.internal_key == "a-key-of-the-operators-own-0123456789"
