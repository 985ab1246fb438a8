"""Two registries that serve stay peers while one of them rotates its certificate authority."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from tests.operation.crossing_sides import crossing_registries
from tests.operation.federated_registries import Operated, is_active, shown, two_operated, until
from tests.operation.rotating_authority import later, traffic_between
from tests.operation.rotating_authority import rotate as rotate_under_traffic
from tests.registry import DatabaseFarm


async def rotate(one: Operated) -> str:
    """Take the next step, beside the process that serves."""
    taken = await one.printed("keys rotate-authority")
    step: str = taken["step"]
    return step


async def bundle_of(one: Operated) -> dict[str, Any]:
    bundle: dict[str, Any] = (await one.get("/.well-known/spiffe-bundle.json")).json()
    return bundle


async def kept_by(dsn: str, one: Operated) -> dict[str, Any]:
    """The bundle of a registry as the peer with this database has it."""
    connection = await asyncpg.connect(dsn)
    try:
        stored = "SELECT bundle FROM federation_peer WHERE trust_domain = $1"
        bundle: dict[str, Any] = json.loads(await connection.fetchval(stored, one.settings["TRUST_DOMAIN"]))
    finally:
        await connection.close()
    return bundle


async def both_read_each_other(a: Operated, b: Operated) -> None:
    for one, name in ((a, "registry-b"), (b, "registry-a")):
        report = await one.printed(f"peer sync {name}")
        assert report["refused"] == {}


def authority_of(one: Operated) -> IdentityAuthority:
    return IdentityAuthority(Keyring(one.process.data_dir), one.settings["TRUST_DOMAIN"])


async def is_let_in(one: Operated, svid: Svid, directory: Path) -> bool:
    """Return whether the federation listener answers a connection that shows this certificate."""
    await asyncio.to_thread((directory / "leaf.pem").write_text, svid.certificate_pem + svid.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(directory / "leaf.pem")
    place = urlsplit(one.settings["FEDERATION_BASE_URL"])
    try:
        reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=context)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.read(16)
        writer.close()
    except (OSError, ssl.SSLError):
        return False
    return answer.startswith(b"HTTP/1.1 ")


@pytest.fixture(scope="module")
async def pair(
    tmp_path_factory: pytest.TempPathFactory, migrated_data: Path
) -> AsyncIterator[tuple[Operated, Operated]]:
    """Peers."""
    async with two_operated(migrated_data, tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")) as (
        a,
        b,
    ):
        await join(a, b)
        yield a, b


async def join(a: Operated, b: Operated) -> None:
    invited = await a.printed("peer invite")
    await b.printed(f"peer accept {invited['invitation']}")
    await until(lambda: is_active(a, "registry-b"))


def certificate_of(one: Operated) -> Svid:
    """A certificate of registry a under its present root."""
    identity = "spiffe://a.example/registry/registry-a"
    return authority_of(one).issue(identity, now=datetime.now(UTC), lifetime=timedelta(hours=1))


async def test_two_registries_stay_peers_through_the_rotation_and_the_former_root_opens_nothing_after_it(
    pair: tuple[Operated, Operated], tmp_path: Path
):
    a, b = pair
    former, database_of_b = certificate_of(a), await b.process.database()
    assert await is_let_in(b, former, tmp_path)
    first = await kept_by(database_of_b, a)
    # The first read of a peer that has not accepted yet counts as refused.
    refused = (await shown(b, "registry-a"))["refused"]

    assert await rotate(a) == "published"

    async def is_taken_over(roots: int) -> bool:
        kept = await kept_by(database_of_b, a)
        return len(kept["keys"]) == roots and kept == await bundle_of(a)

    await until(lambda: is_taken_over(2))
    assert (await kept_by(database_of_b, a))["spiffe_sequence"] == first["spiffe_sequence"] + 1
    await later(await a.process.database(), timedelta(minutes=11))
    assert await rotate(a) == "signing"
    await both_read_each_other(a, b)
    assert await is_let_in(b, former, tmp_path)
    await later(await a.process.database(), timedelta(days=1, minutes=1))
    assert await rotate(a) == "finished"
    await until(lambda: is_taken_over(1))
    await both_read_each_other(a, b)
    await is_shut_out(b, former, tmp_path)
    assert (await shown(b, "registry-a"))["refused"] == refused
    assert len((await kept_by(database_of_b, a))["keys"]) == 1


async def is_shut_out(one: Operated, former: Svid, directory: Path) -> None:
    """Return once the certificate opens nothing."""

    async def is_refused() -> bool:
        return not await is_let_in(one, former, directory)

    await until(is_refused)


async def test_a_registry_that_has_lost_its_authority_makes_another_and_invites_its_peers_anew(
    pair: tuple[Operated, Operated], tmp_path: Path
):
    a, b = pair
    former, before, database_of_b = certificate_of(a), await bundle_of(a), await b.process.database()
    await a.process.stop()
    (a.process.data_dir / "keys" / "identity-authority.pem").unlink()
    ended = await a.hansa("serve --port=0")
    assert (ended.code, "hansa keys export" in ended.complaint) == (1, True)
    assert (await a.printed("keys replace --lost"))["changed"] == ["key identity-authority"]
    await a.process.start()
    assert await bundle_of(a) != before
    kept = await kept_by(database_of_b, a)
    unread = await b.hansa("peer sync registry-a")
    assert (unread.code, "certificate_refused" in unread.complaint) == (1, True)
    assert await kept_by(database_of_b, a) == kept
    await join(a, b)
    await both_read_each_other(a, b)
    assert await kept_by(database_of_b, a) == await bundle_of(a)
    await is_shut_out(b, former, tmp_path)


async def test_transfers_go_on_in_both_directions_while_the_authority_is_rotated_and_no_process_is_restarted(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
):
    async with crossing_registries(database_farm, tmp_path_factory.mktemp("traffic")) as crossing:
        processes = [side.process.pid for side in crossing.sides]
        async with traffic_between(crossing) as traffic:
            await rotate_under_traffic(crossing, traffic)
        assert [side.process.pid for side in crossing.sides] == processes
        await crossing.heal()
        await crossing.prove()
