"""Cards of up to 2 MiB: written, listed, found, exported and verified as any other."""

import json
from typing import Any

from hansa.rooms.catalogue.limits import CARD_MAX_BYTES, REGISTRYS_PART_BYTES
from hansa_verify import read_keys, verify_card
from tests.registry import TestRegistry, card_of

TEXT = 2000


def card_of_size(size: int) -> dict[str, Any]:
    """A card whose skills differ in each word, with so many bytes as JSON; beyond ASCII a character has several."""
    card = card_of("Large")
    skill = {"id": "", "name": "Übersetzen", "tags": ["x"]}
    skills = card["skills"] = []
    for number in range(256):
        examples = [f"{number}-{position} " + "äöü" * 480 for position in range(3)]
        words = " ".join(f"word{number}x{position}" for position in range(300))
        skills.append({**skill, "id": str(number), "description": words, "examples": examples})
        if len(json.dumps(card, ensure_ascii=False).encode()) > size:
            skills.pop()
            break
    missing = size - len(json.dumps(card, ensure_ascii=False).encode())
    card["padding"] = ["x" * TEXT for _ in range(max(0, missing - 1000) // (TEXT + 4))]
    return card


async def test_a_card_of_almost_2_mib_is_stored_listed_found_exported_and_verified(registry: TestRegistry):
    developer = await registry.developer()
    card = card_of_size(CARD_MAX_BYTES - REGISTRYS_PART_BYTES - 8000)
    size = len(json.dumps(card, ensure_ascii=False).encode())
    assert size > CARD_MAX_BYTES - 100_000
    body = json.dumps({"card_data": card}, ensure_ascii=False).encode()
    headers = {**developer.headers, "Content-Type": "application/json"}
    agent = await developer.agent()
    of_agent = (await registry.get(f"/agent-cards/{agent.did}")).json()["id"]
    written = await registry.http.put(f"/api/v1/agent-cards/{of_agent}", content=body, headers=headers)
    assert written.status_code == 200, written.text[:500]
    listed = await registry.get("/agent-cards/", params={"include_card_data": True})
    assert listed.json()["items"][0]["card_data"]["skills"] == card["skills"]
    await registry.indexed()
    found = (await registry.get("/discover", params={"query": "word17x250"})).json()["results"]
    assert [one["did"] for one in found] == [agent.did]
    export = await registry.get(f"/agents/{agent.did}/card-export")
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert verify_card(export.content, keys).code == "verified"


async def test_a_card_of_more_than_2_mib_is_refused_and_changes_nothing(registry: TestRegistry):
    developer = await registry.developer()
    card = card_of_size(CARD_MAX_BYTES - REGISTRYS_PART_BYTES + 2000)
    answer = await registry.post("/agent-cards/", json={"card_data": card}, headers=developer.headers)
    assert answer.status_code == 413 or "larger than 2031616 bytes" in answer.json()["detail"]
    assert answer.status_code in {413, 422}
    assert (await registry.get("/agent-cards/")).json()["items"] == []
