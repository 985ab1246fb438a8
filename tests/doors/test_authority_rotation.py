"""The steps by which the certificate authority is rotated: their order, their refusals, and the state after a crash."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from cryptography import x509

from hansa.doors import authority_rotation
from hansa.doors.authority_rotation import RotationStep, rotate_authority
from hansa.foundation.plumbing.keys.authority import IdentityAuthority, NotRecognised
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation
from hansa.rooms.federation import NewPeer
from tests.registry import DatabaseFarm, open_registry, settings_of

BUNDLE = "/.well-known/spiffe-bundle.json"
DID = "spiffe://hansa.local/service/one"


class Rotated:
    """A registry whose processes are started again for each reading."""

    def __init__(self, dsn: str, directory: Path) -> None:
        self.dsn, self.directory = dsn, directory

    @property
    def settings(self) -> Settings:
        return settings_of(self.dsn, self.directory)

    @property
    def authority(self) -> IdentityAuthority:
        return IdentityAuthority(Keyring(self.directory), "hansa.local")

    @property
    def files(self) -> set[str]:
        return {path.name for path in (self.directory / "keys").glob("identity-authority*")}

    async def step(self, *, stolen: bool = False) -> RotationStep:
        return await rotate_authority(self.settings, "a test", stolen=stolen)

    async def refused(self) -> str:
        with pytest.raises(Refused) as refusal:
            await self.step()
        return refusal.value.detail

    async def restarted(self) -> dict[str, object]:
        """Return the trust bundle that a peer reads after a restart of every process."""
        async with open_registry(self.dsn, self.directory) as registry:
            return (await registry.http.get(BUNDLE)).json()

    async def later(self, age: timedelta) -> None:
        """Move the time of the last change back by `age`."""
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(
                "UPDATE federation_trust SET own_counted_at = own_counted_at - $1::interval", age
            )
            await connection.execute(
                "UPDATE plumbing_registry_key SET recorded_at = recorded_at - $1::interval", age
            )
        finally:
            await connection.close()

    async def signing(self) -> None:
        """The next root signs, the former one is still published."""
        assert (await self.step()).step == "published"
        await self.restarted()
        await self.later(timedelta(minutes=11))
        assert (await self.step()).step == "signing"


@pytest.fixture
async def rotated(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Rotated]:
    dsn = await database_farm.fresh()
    one = Rotated(dsn, tmp_path / "data")
    await one.restarted()
    yield one
    await database_farm.drop(dsn)


def leaf_of(authority: IdentityAuthority) -> x509.Certificate:
    svid = authority.issue(DID, now=datetime.now(UTC), lifetime=timedelta(hours=1))
    return x509.load_pem_x509_certificate(svid.certificate_pem.encode())


async def test_a_new_root_is_published_one_refresh_ahead_signs_then_and_the_former_one_goes_last(
    rotated: Rotated,
):
    former = leaf_of(rotated.authority)
    first = await rotated.restarted()
    published = await rotated.step()
    assert published.step == "published"
    assert "is not published yet" in await rotated.refused()
    second = await rotated.restarted()
    assert (len(second["keys"]), second["spiffe_sequence"]) == (2, first["spiffe_sequence"] + 1)
    assert "retry after" in await rotated.refused()
    assert rotated.authority.recognise(former, now=datetime.now(UTC)) == DID
    await rotated.later(timedelta(minutes=11))
    signing = await rotated.step()
    assert (signing.step, signing.thumbprint) == ("signing", published.thumbprint)
    third = await rotated.restarted()
    assert third["spiffe_sequence"] == second["spiffe_sequence"]
    assert [key in second["keys"] for key in third["keys"]] == [True, True]
    assert "in force until" in await rotated.refused()
    assert rotated.authority.recognise(former, now=datetime.now(UTC)) == DID
    new = leaf_of(rotated.authority)
    await rotated.later(timedelta(days=1, minutes=1))
    assert (await rotated.step()).step == "finished"
    last = await rotated.restarted()
    assert (len(last["keys"]), last["spiffe_sequence"]) == (1, second["spiffe_sequence"] + 1)
    assert last["keys"][0] in second["keys"]
    assert last["keys"][0] not in first["keys"]
    assert rotated.authority.recognise(new, now=datetime.now(UTC)) == DID
    with pytest.raises(NotRecognised):
        rotated.authority.recognise(former, now=datetime.now(UTC))
    assert rotated.files == {"identity-authority.pem"}


async def test_the_former_root_stays_while_a_service_has_a_certificate_of_it(rotated: Rotated):
    async with open_registry(rotated.dsn, rotated.directory) as registry:
        await registry.service("ledger-export", timedelta(days=90))
    await rotated.signing()
    await rotated.later(timedelta(days=2))
    connection = await asyncpg.connect(rotated.dsn)
    try:
        await connection.execute(
            "UPDATE federation_service_certificate SET issued_at = issued_at - interval '3 days'"
        )
    finally:
        await connection.close()
    assert "enrol them again: ledger-export" in await rotated.refused()


async def test_the_former_root_stays_as_long_as_the_certificates_of_operators_last(rotated: Rotated):
    async with open_registry(rotated.dsn, rotated.directory) as registry:
        bundle = await federation.local_bundle(registry.runtime)
        north = NewPeer(
            "https://north.example.com", bundle, "approved", "cloud_operator", registry_name="north"
        )
        await registry.database.transaction(lambda tx: federation.add_peer(tx, north))
    await rotated.signing()
    await rotated.later(timedelta(days=6, hours=23))
    assert "in force until" in await rotated.refused()
    await rotated.later(timedelta(hours=2))
    assert (await rotated.step()).step == "finished"


async def test_a_stolen_root_is_replaced_at_once_whatever_step_the_rotation_is_at(rotated: Rotated):
    stolen = leaf_of(rotated.authority)
    for _ in range(2):
        replaced = await rotated.step(stolen=True)
        assert replaced.step == "replaced"
        assert len((await rotated.restarted())["keys"]) == 1
        with pytest.raises(NotRecognised):
            rotated.authority.recognise(stolen, now=datetime.now(UTC))
        stolen = leaf_of(rotated.authority)
        assert (await rotated.step()).step == "published"
    assert rotated.files == {"identity-authority.pem", "identity-authority-next.pem"}


@pytest.mark.parametrize("stolen", [False, True])
async def test_a_step_that_is_interrupted_at_any_file_is_completed_by_the_next_call(
    rotated: Rotated, monkeypatch: pytest.MonkeyPatch, *, stolen: bool
):
    if not stolen:
        await rotated.step()
        await rotated.restarted()
        await rotated.later(timedelta(minutes=11))
    whole = authority_rotation._replace

    def broken(path: Path, content: bytes) -> None:
        if path.name == "identity-authority.pem":
            raise BadKey("the disk is full")
        whole(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(authority_rotation, "_replace", broken)
        with pytest.raises(BadKey, match="the disk is full"):
            await rotated.step(stolen=stolen)
    # Until then no process starts with the former key.
    with pytest.raises(Refused, match="has not its keys"):
        await rotated.restarted()
    completed = await rotated.step()
    assert completed.step == ("replaced" if stolen else "signing")
    assert len((await rotated.restarted())["keys"]) == (1 if stolen else 2)
    assert rotated.files == {"identity-authority.pem"}


async def test_a_key_from_a_variable_is_not_rotated_and_another_authority_is_refused(
    rotated: Rotated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    pem = (rotated.directory / "keys" / "identity-authority.pem").read_text()
    with monkeypatch.context() as patched:
        patched.setenv("HANSA_KEY_IDENTITY_AUTHORITY", pem)
        with pytest.raises(BadKey, match="HANSA_KEY_IDENTITY_AUTHORITY"):
            await rotated.step()
    other = IdentityAuthority(Keyring(tmp_path / "other"), "hansa.local")
    assert other.bundle_pem
    foreign = await asyncio.to_thread((tmp_path / "other" / "keys" / "identity-authority.pem").read_bytes)
    await asyncio.to_thread((rotated.directory / "keys" / "identity-authority.pem").write_bytes, foreign)
    assert "is not the one of this registry" in await rotated.refused()
