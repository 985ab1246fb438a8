"""`hansa verify stock-card`: the stock card is judged with the registry card that signs it, from its address and offline."""

import asyncio
import json
from pathlib import Path

from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.rooms.exchange.cards import CLOSE_DAYS
from tests.registry import StartRegistry
from tests.running_jobs import run_scheduled_transactions

PLACES = {
    "stock": "/api/v1/agora/stock-card",
    "card": "/.well-known/registry-card.json",
    "keys": "/.well-known/registry-jwks.json",
}


async def verify(*arguments: object) -> tuple[int, str]:
    asked = ["verify", "stock-card", *(str(one) for one in arguments)]
    ended = await asyncio.to_thread(CliRunner().invoke, app, asked)
    return ended.exit_code, ended.stdout + ended.stderr


async def test_a_stock_card_is_verified_at_its_registry_and_offline(
    start_registry: StartRegistry, tmp_path: Path
):
    registry = await start_registry(exchange_enabled=True)
    await run_scheduled_transactions(registry.runtime, CLOSE_DAYS)
    texts = {name: (await registry.http.get(place)).text for name, place in PLACES.items()}
    async with registry.listening() as place:
        for source in (f"http://{place}", f"http://{place}{PLACES['stock']}"):
            exit_code, said = await verify(source)
            assert (exit_code, said.splitlines()[-1]) == (0, "verified"), said
    assert [line.split()[1] for line in said.splitlines()[:-1]] == ["stock_card:", "card:", "digest:"]
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    stock, card, keys = (tmp_path / name for name in PLACES)
    files = (f"--card={card}", f"--keys={keys}")
    exit_code, said = await verify(stock, *files, "--json")
    assert (exit_code, json.loads(said)["valid"]) == (0, True)

    stock.write_text(json.dumps(json.loads(texts["stock"]) | {"currency": "XYZ"}))
    exit_code, said = await verify(stock, *files, "--json")
    assert (exit_code, json.loads(said)["code"]) == (1, "digest")
    stock.write_text("[]")
    exit_code, said = await verify(stock, *files)
    assert (exit_code, said.splitlines()[-1]) == (1, "stock_card")
    stock.write_text(texts["stock"])
    signed = json.loads(texts["card"])
    signed["fees"]["exchange"]["stock_card"]["digest"] = f"sha256:{'0' * 64}"
    card.write_text(json.dumps(signed))
    exit_code, said = await verify(stock, *files)
    assert (exit_code, said.splitlines()[-1]) == (1, "card")


async def test_a_stock_card_in_a_file_needs_the_card_and_the_keys(tmp_path: Path):
    for name in PLACES:
        (tmp_path / name).write_text("{}")
    stock, card, keys = (tmp_path / name for name in PLACES)
    exit_code, said = await verify(stock)
    assert (exit_code, "--card is required for a stock card in a file" in said) == (2, True)
    exit_code, said = await verify(stock, f"--card={card}")
    assert (exit_code, "--keys is required for a card in a file" in said) == (2, True)
    exit_code, said = await verify(stock, f"--card={card}", f"--keys={keys}")
    assert (exit_code, "contains no usable keys" in said) == (2, True)
    assert (await verify(tmp_path / "absent", f"--card={card}", f"--keys={keys}"))[0] == 2
