"""The guide "One frame, many operators", walked by a frame and two operators that serve: their operators type its commands."""

from pathlib import Path

from tests.operation.federated_registries import Operated, all_operated, is_active, until

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "one-frame-many-operators.md").read_text()
FRAME = "frame.example"


def settings_of(name: str) -> dict[str, str]:
    """Return the settings that the guide gives to an operator of this name."""
    return {"TRUST_DOMAIN": FRAME, "REGISTRY_NAME": name, "REGISTRY_TIER": "cloud-operator"}


async def invited_and_accepted(one: Operated, other: Operated, *options: str) -> str:
    """Both commands; the status that the second one prints."""
    invitation = (await one.printed(" ".join(("peer invite", *options))))["invitation"]
    status: str = (await other.printed(f"peer accept {invitation}"))["status"]
    return status


async def test_a_frame_and_its_operators_become_peers_by_the_commands_of_the_guide(
    tmp_path: Path, migrated_data: Path
):
    assert "hansa peer invite --operator north" in GUIDE
    chosen = [
        {"TRUST_DOMAIN": FRAME, "REGISTRY_NAME": "mainframe"},
        settings_of("north"),
        settings_of("south"),
    ]
    directories = [tmp_path / own["REGISTRY_NAME"] for own in chosen]
    for directory in directories:
        directory.mkdir()
    async with all_operated(chosen, directories, migrated_data) as registries:
        frame, north, south = registries
        ended = await north.hansa("mint --amount 1 --ref own")
        assert (ended.code != 0, "An operator registry issues no units" in ended.complaint) == (True, True)
        for operator in (north, south):
            name = operator.settings["REGISTRY_NAME"]
            assert await invited_and_accepted(frame, operator, "--operator", name) == "active"
        assert await invited_and_accepted(north, south) == "active"
        for one, others in (
            (frame, ("north", "south")),
            (north, ("mainframe", "south")),
            (south, ("mainframe", "north")),
        ):
            for other in others:
                await until(lambda one=one, other=other: is_active(one, other))  # type: ignore[misc]
        printed = {(await one.hansa("bundle")).output for one in registries}
        assert len(printed) == 1
        # The certificates outlast a restart.
        await north.process.stop()
        await north.process.start()
        report = await south.printed("peer sync north")
        assert report["refused"] == {}
