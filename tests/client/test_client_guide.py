"""The guide of the client, followed exactly with its own distribution and nothing else; the examples that the distribution shows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.client.paid import shop_of
from tests.doors.guides import EXAMPLE, ROOT, follow
from tests.doors.served import served
from tests.registry import StartRegistry


async def test_the_guide_of_the_client_works_in_an_environment_of_its_own(
    programs: Path, start_registry: StartRegistry, tmp_path: Path
):
    (tmp_path / ".venv").symlink_to(programs.parent)
    async with served(start_registry) as registry:
        await registry.indexed()
        printed = await follow("client.md", registry.settings.base_url, tmp_path, directory=tmp_path)
    for line in (
        "98.4925",
        "0.05025 AVT: 0.05 and a fee of 0.00025",
        "1 completed, 0 refused",
        "approved  4  Sketch",
        "OPEN  POOR_QUALITY  The frame is broken.",
        "fee 0.0125 balance 91.4575",
        "INSUFFICIENT_BALANCE 91.4575",
        "contract COMPLETED paid 10",
        "token released",
        "lines 1",
        "received 2.5",
    ):
        assert line in printed, printed


async def test_the_examples_of_the_distribution_read_a_balance_and_pay_for_a_call(
    start_registry: StartRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    text = (ROOT / "client" / "README.md").read_text()
    async with served(start_registry) as registry, shop_of(registry, tmp_path) as shop:
        agent = shop.payer.created
        places = {
            "https://registry.example": registry.settings.base_url,
            "https://service.example": shop.url,
            '"agent-…", "hsk_…"': repr((agent["client_id"], agent["client_secret"]))[1:-1],
        }
        for shown, here in places.items():
            assert shown in text
            text = text.replace(shown, here)
        names: dict[str, Any] = {"agent": agent}
        for example in EXAMPLE.findall(text):
            await asyncio.to_thread(exec, example, names)
        assert names["answer"].status_code == 200
        names["registry"].close()
        assert [token["status"] for token in await shop.tokens()] == ["settled"]
    assert capsys.readouterr().out == "100\n"
