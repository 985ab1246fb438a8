"""The A2A SDKs of JavaScript for 1.0 and for 0.3, unmodified, read every exported card and call the agents by it; that of 1.0 verifies it."""

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


async def test_the_javascript_sdks_of_both_forms_read_every_exported_card_and_call_its_agent(
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
    by_version = json.loads(done.stdout.strip().rpartition("\n")[2])
    for kind, text, new, old in zip(CARDS, texts, by_version["1.0"], by_version["0.3"], strict=True):
        card = json.loads(text)
        assert (new["name"], old["name"]) == (card["name"], card["name"])
        url = card["supportedInterfaces"][0]["url"]
        assert new["calls"] == [{"url": url, "method": "SendMessage"}]
        assert old["calls"] == [{"url": card["url"], "method": "message/send"}]
        is_extended = kind in {"both formats", "extended"}
        assert (new["extended"], old["extended"]) == (is_extended, is_extended)
    edited = json.dumps({**json.loads(texts[0]), "description": "Another."})
    given.write_text(json.dumps({"cards": [edited], "keys": keys}))
    refused = await asyncio.to_thread(tools.run, [tools.node, script, given])
    assert refused.returncode != 0
    assert "ignature" in refused.stderr
