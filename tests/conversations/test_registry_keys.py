"""The keys with which the registry signs: published, replaced, never forgotten."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.doors.offline_commands import adopt_database
from hansa.doors.startup import prepared_database, require_signing_key
from hansa.foundation.plumbing.keys.registry_identity import DatabaseOfAnother
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable
from hansa.foundation.values.jwk import public_key_of
from hansa.rooms import federation
from tests.registry import open_registry

ID = "spiffe://hansa.local/registry/hansa"
CACHED = "public, max-age=300, stale-while-revalidate=600"


async def key_set(registry):
    answer = await registry.http.get("/.well-known/registry-jwks.json")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, CACHED)
    return answer.json()["keys"]


async def history(registry):
    answer = await registry.http.get("/.well-known/registry-jwks-history.json")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, CACHED)
    return answer.json()["keys"]


async def keys_with_times(registry):
    answer = await registry.get("/public/registry-keys")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, CACHED)
    return answer.json()["keys"]


async def rotate(registry, brought=None):
    return await registry.database.transaction(
        lambda tx: federation.rotate_key(tx, registry.settings, registry.runtime.seal, brought)
    )


async def signs_with(registry):
    return (await federation.Signatory(registry.database, registry.runtime.seal).present_key()).kid


def kids(keys):
    return [key["kid"].removeprefix(ID) for key in keys]


async def test_a_registry_begins_with_one_key_and_keeps_each_it_ever_had(registry):
    (first,) = await key_set(registry)
    assert set(first) == {"kty", "crv", "x", "kid", "use", "alg"}
    assert (first["kty"], first["crv"], first["use"], first["alg"]) == ("OKP", "Ed25519", "sig", "EdDSA")
    assert first["kid"] == await signs_with(registry) == f"{ID}#1"
    (known,) = await history(registry)
    assert known == {**first, "valid_from": known["valid_from"], "retired_at": None}

    brought = Ed25519PrivateKey.generate()
    await rotate(registry, brought)
    assert await signs_with(registry) == f"{ID}#2"
    assert kids(await key_set(registry)) == ["#2", "#1"]
    second, retired = await history(registry)
    assert public_key_of(second) == brought.public_key().public_bytes_raw()
    assert retired["retired_at"] == second["valid_from"]
    assert second["retired_at"] is None
    assert datetime.fromisoformat(retired["valid_from"]) < datetime.fromisoformat(retired["retired_at"])
    with pytest.raises(KeyUnusable):
        await rotate(registry, brought)

    # Each rotation waits for the one before it.
    await asyncio.gather(*(rotate(registry) for _ in range(4)))
    keys = await history(registry)
    assert kids(keys) == ["#6", "#5", "#4", "#3", "#2", "#1"]
    assert [key["retired_at"] for key in keys[1:]] == [key["valid_from"] for key in keys[:-1]]

    # Of a key that no longer signs the private half is gone.
    sealed = "SELECT count(sealed_key) FROM federation_registry_key"
    assert await registry.database.query(lambda tx: tx.fetchval(sealed)) == 1


async def test_a_key_retired_for_more_than_seven_days_leaves_the_key_set_and_stays_in_the_history(registry):
    statement = """
    INSERT INTO federation_registry_key (sequence, registry_id, public_key, valid_from, retired_at)
    SELECT $1, $2, $3, now() - interval '1 year', now() - $4::interval
    """
    for number, ago in ((7, timedelta(days=7, hours=1)), (8, timedelta(days=6, hours=23))):
        public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        await registry.database.transaction(
            lambda tx, n=number, p=public, a=ago: tx.execute(statement, n, ID, p, a)
        )
    assert kids(await key_set(registry)) == ["#8", "#1"]
    assert kids(await keys_with_times(registry)) == ["#8", "#1"]
    assert kids(await history(registry)) == ["#8", "#7", "#1"]
    await rotate(registry)
    assert await signs_with(registry) == f"{ID}#9"


async def test_an_administrator_of_the_platform_rotates_the_signing_key_over_http(registry):
    path = "/admin/registry-signing-key/rotate"
    (first,) = await key_set(registry)
    assert (await registry.post(path, json={})).status_code == 401
    stranger = await registry.administrator("admin_treasury")
    assert (await registry.post(path, json={}, headers=stranger.headers)).status_code == 403
    assert await signs_with(registry) == first["kid"]

    administrator = await registry.administrator("admin_platform")
    answer = await registry.post(path, json={"reason": "Once a year."}, headers=administrator.headers)
    assert answer.status_code == 200, answer.text
    rotated = answer.json()
    assert rotated["kid"] == await signs_with(registry) == f"{ID}#2"
    second, retired = await key_set(registry)
    assert datetime.fromisoformat(retired.pop("retired_at")) <= datetime.now(UTC)
    assert retired == first
    assert "retired_at" not in second
    assert {name: rotated[name] for name in second} == second
    assert rotated["jwks_url"] == "/.well-known/registry-jwks.json"
    assert rotated["valid_from"] == (await history(registry))[0]["valid_from"]
    acts = await registry.get("/admin/audit-log", headers=administrator.headers)
    (recorded,) = [act for act in acts.json()["items"] if act["act"] == "registry_key.rotate"]
    assert (recorded["subject"], recorded["reason"]) == (f"{ID}#2", "Once a year.")

    # The body is optional.
    assert (await registry.post(path, headers=administrator.headers)).json()["kid"] == f"{ID}#3"


REFUSED = [
    "DELETE FROM federation_registry_key",
    "TRUNCATE federation_registry_key",
    "UPDATE federation_registry_key SET public_key = sha256('another')",
    "UPDATE federation_registry_key SET valid_from = valid_from - interval '1 day'",
    "UPDATE federation_registry_key SET sealed_key = NULL, retired_at = now() + interval '1 h', sequence = 5",
]


async def test_the_database_refuses_to_change_the_history(registry):
    for statement in REFUSED:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await registry.database.transaction(lambda tx, refused=statement: tx.execute(refused))


async def test_a_rotation_counts_at_once_in_every_process_and_a_renamed_registry_has_a_key_of_its_own(
    database_farm, tmp_path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path) as one, open_registry(dsn, tmp_path) as other:
        signatory = federation.Signatory(other.database, other.runtime.seal)
        assert (await signatory.present_key()).kid == f"{ID}#1"
        await rotate(one)
        assert (await signatory.present_key()).kid == f"{ID}#2"
        settings = one.settings.model_copy(update={"registry_name": "Grand Été & Co."})
    assert await adopt_database(settings) == ["name 'Grand Été & Co.'"]
    async with open_registry(dsn, tmp_path, registry_name="Grand Été & Co.") as renamed:
        assert await signs_with(renamed) == "spiffe://hansa.local/registry/Grand-t-Co#3"
        assert len(await key_set(renamed)) == 3


async def test_a_registry_whose_sealing_key_is_lost_serves_again_once_it_was_adopted_with_another(
    database_farm, tmp_path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path) as registry:
        settings = registry.settings
        assert await signs_with(registry) == f"{ID}#1"
    (tmp_path / "keys" / "sealing-key").unlink()
    with pytest.raises(DatabaseOfAnother, match=r"has not its keys \(sealing-key\)"):
        async with prepared_database(settings):
            pass
    assert not (tmp_path / "keys" / "sealing-key").exists(), "no key is made for the database of another"
    assert await adopt_database(settings) == ["key sealing-key"]
    async with open_registry(dsn, tmp_path) as registry:
        assert await signs_with(registry) == f"{ID}#2"
        await require_signing_key(settings, dsn)


async def test_a_database_of_an_older_version_is_adopted_only_by_the_process_whose_keys_open_it(
    database_farm, tmp_path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path / "first") as registry:
        settings = registry.settings
        await registry.database.transaction(
            lambda tx: tx.execute("TRUNCATE plumbing_registry, plumbing_registry_key")
        )
    (tmp_path / "first" / "registry.json").unlink()
    elsewhere = settings.model_copy(update={"data_dir": tmp_path / "second"})
    with pytest.raises(federation.KeyDoesNotOpen, match="restore that file, or begin a new key"):
        async with prepared_database(elsewhere):
            pass
    async with prepared_database(settings):
        pass
    with pytest.raises(DatabaseOfAnother):
        async with prepared_database(elsewhere):
            pass
