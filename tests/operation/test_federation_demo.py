"""`hansa demo --federation` as a user runs it: the whole story, before a release and each day."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.operation import registry_process
from tests.operation.registry_process import run
from tests.properties.scale import TIER

if TIER:

    async def test_three_registries_pay_each_other_and_their_books_agree(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(registry_process, "START_SECONDS", 600)
        ended = await run("demo", "--federation", "--json", data_dir=tmp_path / "data")
        assert (ended.code, ended.complaint) == (0, "")
        report = json.loads(ended.output)
        assert {name: supply["delta"] for name, supply in report["supplies"].items()} == {
            "north": "0",
            "south": "0",
            "west": "0",
        }
        # 5 of 1000 AVT against 4000 WEST, less 0.5 %.
        assert report["received_by_swap"] == "19.80099502"
        assert (report["slashed"], report["compensated"]) == ("0.05", "0.04")
        held = {agent["registry"]: Decimal(agent["balance"]) for agent in report["agents"]}
        assert held["west"] == 100 + Decimal(report["received_by_swap"])
        # Both of one currency: what left one of them for the other, the swap, the border fees, and the slash without its compensation.
        crossed = Decimal("0.05") + Decimal("1.5") * report["committed_after_kill"]
        assert held["north"] + held["south"] == 200 - 5 - crossed / 200 - Decimal("0.01")
        assert {pair["in_flight"] for pairs in report["pairs"].values() for pair in pairs} == {"0"}


async def test_a_federation_is_started_by_the_demo_itself(tmp_path: Path):
    ended = await run("demo", "http://127.0.0.1:1", "--federation", data_dir=tmp_path / "data")
    assert ended.code == 2
    assert "--federation starts registries of its own" in ended.complaint
