"""The guide "Join a federation", walked by two registries that serve: their operators type its commands."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operation.federated_registries import (
    Operated,
    by_hand,
    command_of_guide,
    is_active,
    shown,
    two_operated,
    until,
)


@pytest.fixture(scope="module")
async def operated(
    tmp_path_factory: pytest.TempPathFactory, migrated_data: Path
) -> AsyncIterator[tuple[Operated, Operated]]:
    async with two_operated(migrated_data, *(tmp_path_factory.mktemp(name) for name in ("a", "b"))) as both:
        yield both


async def test_two_commands_make_both_registries_peers_while_they_serve(
    operated: tuple[Operated, Operated],
):
    a, b = operated
    invited = await a.printed(command_of_guide("hansa peer invite"))
    accepted = await b.printed(
        command_of_guide("hansa peer accept INVITATION").replace("INVITATION", invited["invitation"])
    )
    assert (accepted["name"], accepted["status"], accepted["approval"], accepted["reaches_us"]) == (
        "registry-a",
        "active",
        "approved",
        True,
    )
    assert await is_active(a, "registry-b"), "it is read by the registry that invited before the command ends"
    for one, other in ((a, "registry-b"), (b, "registry-a")):
        (peer,) = await one.printed(command_of_guide("hansa peer list"))
        assert (peer["name"], peer["status"]) == (other, "active")
        roster = (await one.get("/api/v1/federation/peers")).json()
        assert [listed["name"] for listed in roster["peers"]] == [other]


async def test_a_peer_is_read_again_and_again_and_by_command(operated: tuple[Operated, Operated]):
    a, _ = operated

    async def is_read_for_the_first_time() -> bool:
        return (await shown(a, "registry-b"))["last_synced_at"] is not None

    await until(is_read_for_the_first_time)
    before = (await shown(a, "registry-b"))["last_synced_at"]
    synced = await a.hansa("peer sync registry-b")
    assert synced.output == "pulled 0, changed 0, hidden 0, refused 0\n"
    report = await a.printed(command_of_guide("hansa peer sync NAME").replace("NAME", "registry-b"))
    assert report == {"pulled": 0, "changed": 0, "hidden": 0, "refused": {}}

    async def is_read_by_itself() -> bool:
        return (await shown(a, "registry-b"))["last_synced_at"] > after

    after = (await shown(a, "registry-b"))["last_synced_at"]
    assert after > before
    await until(is_read_by_itself)


async def test_a_paused_peer_is_not_read_until_it_is_resumed(operated: tuple[Operated, Operated]):
    a, _ = operated
    paused = await a.printed(command_of_guide("hansa peer pause NAME").replace("NAME", "registry-b"))
    assert (paused["status"], paused["approval"]) == ("inactive", "approved")
    assert ": paused, approved" in (await a.hansa("peer show registry-b")).output.splitlines()[0]
    refused = await a.hansa("peer sync registry-b")
    assert (refused.code, "paused" in refused.complaint) == (1, True)
    resumed = await a.printed(command_of_guide("hansa peer resume NAME").replace("NAME", "registry-b"))
    assert resumed["status"] == "active"


async def test_both_sides_add_each_other_by_hand_after_a_removal(
    operated: tuple[Operated, Operated], tmp_path: Path
):
    a, b = operated
    for one, other in ((a, "registry-b"), (b, "registry-a")):
        removed = await one.printed(command_of_guide("hansa peer remove NAME").replace("NAME", other))
        assert removed == {"name": other, "status": "removed"}
        bundle = await one.hansa("bundle --format spiffe")
        assert bundle.code == 0, bundle
        assert json.loads(bundle.output) == (await one.get("/.well-known/spiffe-bundle.json")).json()
        (tmp_path / f"{one.settings['TRUST_DOMAIN']}.json").write_text(bundle.output)
    added = await a.printed(by_hand(b, tmp_path))
    assert (added["status"], added["approval"]) == ("inactive", "pending")
    await b.printed(by_hand(a, tmp_path))
    await until(lambda: is_active(a, "b.example"))
    await until(lambda: is_active(b, "a.example"))


async def test_a_bundle_that_cannot_be_read_and_an_address_that_is_not_allowed_are_refused_at_once(
    operated: tuple[Operated, Operated], tmp_path: Path
):
    a, _ = operated
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    ended = await a.hansa(f"peer add --registry-url https://c.example.com --bundle {broken}")
    assert (ended.code, ended.complaints) == (
        1,
        [
            "hansa: The trust bundle cannot be used: the SPIFFE form of a trust bundle is an object with a list `keys`."
        ],
    )
    ended = await a.hansa(f"peer add --registry-url http://10.0.0.1 --bundle {broken}")
    assert (ended.code, len(ended.complaints)) == (1, 1)
    ended = await a.hansa("peer show nobody")
    assert (ended.code, ended.complaints) == (
        1,
        ["hansa: No peer has the name, trust domain or ledger id 'nobody'."],
    )
