"""Specification 2 and 6 S, W 1, W 2: a frame and its operator registries share trust domain and unit, and are peers."""

from collections.abc import AsyncIterator

import pytest

from tests.neighbours.one_frame import OneFrame, frame_with_operators
from tests.registry import DatabaseFarm


@pytest.fixture(scope="module")
async def one(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OneFrame]:
    async with frame_with_operators(
        database_farm, tmp_path_factory.mktemp("frame"), "north", "south"
    ) as frame:
        yield frame


async def test_a_frame_and_its_operators_become_peers_in_two_commands_each(one: OneFrame):
    for here in one.all:
        for there in one.all:
            if here is there:
                continue
            peer = await here.peer(there)
            assert (peer.status, peer.approval, peer.trouble) == ("active", "approved", None)
            assert peer.ledger_id == there.registry.settings.ledger_id
            assert [verdict for verdict in peer.card_verdicts if not verdict["ok"]] == []
