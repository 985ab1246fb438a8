"""The A2A SDK of JavaScript, unmodified, reads and verifies every exported card, and calls the agents by them."""

import asyncio
import json
import shutil
from pathlib import Path

from tests.conversations.test_card_export import BOTH_HALVES, MANY_NUMBERS, exported, keys_of
from tests.registry import TestRegistry
from tests.stock_clients.tools import HERE, installed

EXTENSION = {"uri": "https://example.org/x", "params": {"n": MANY_NUMBERS, "o": {"é": [None, True, ""]}}}
CARDS = {
    "plain": {},
    "written": {"name": "Grüße \u2028🌍", "description": 'Ωμέγα«ñ» "quoted" \\ / '},
    "priced": {"pricing": {"model": "per-request", "base_rate": "0.05"}},
    "both formats": BOTH_HALVES,
    "extended": {"capabilities": {"streaming": True, "extendedAgentCard": True, "extensions": [EXTENSION]}},
    "unknown members": {"unknown": {"b": [], "a": {}, "": None}},
}


async def test_the_javascript_sdk_reads_verifies_and_calls_by_every_exported_card(
    registry: TestRegistry, tmp_path: Path
) -> None:
    tools, developer = await asyncio.to_thread(installed), await registry.developer()
    agents = [await developer.agent(**members) for members in CARDS.values()]
    texts = [(await exported(agent)).text for agent in agents]
    keys = {key["kid"]: key for key in (await keys_of(registry))["keys"]}
    given = tmp_path / "cards.json"
    given.write_text(json.dumps({"cards": texts, "keys": keys}))
    script = tools.home / "read_cards.mjs"
    shutil.copy(HERE / "read_cards.mjs", script)
    done = await asyncio.to_thread(tools.run, [tools.node, script, given])
    assert done.returncode == 0, done.stdout + done.stderr
    read = dict(zip(CARDS, json.loads(done.stdout.strip().rpartition("\n")[2]), strict=True))
    for kind, text in zip(CARDS, texts, strict=True):
        card, one = json.loads(text), read[kind]
        assert one["name"] == card["name"]
        assert one["calls"] == [{"url": card["supportedInterfaces"][0]["url"], "method": "SendMessage"}]
    assert [kind for kind, one in read.items() if one["extended"]] == ["both formats", "extended"]
    edited = json.dumps({**json.loads(texts[0]), "description": "Another."})
    given.write_text(json.dumps({"cards": [edited], "keys": keys}))
    refused = await asyncio.to_thread(tools.run, [tools.node, script, given])
    assert refused.returncode != 0
    assert "ignature" in refused.stderr
