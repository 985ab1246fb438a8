"""The commands of the guide to finding agents have the effect that it states."""

import json

from tests.doors.guides import follow
from tests.doors.served import served
from tests.rooms.catalogue.catalogue_cards import publish


async def test_every_command_of_the_guide_finds_the_agent_that_is_there(start_registry, tmp_path):
    async with served(start_registry) as registry:
        card = await publish(
            registry, "Legal Translator", description="Translates a contract.", tags=["legal"]
        )
        await registry.indexed()
        printed = (await follow("discovery.md", registry.settings.base_url, tmp_path)).splitlines()
    answers = [json.loads(line) for line in printed if line.startswith("{")]
    searches = [answer["results"] for answer in answers if "results" in answer]
    assert [[result.get("did") or result["metadata"]["did"] for result in found] for found in searches] == [
        [card.did]
    ] * 4
    (entry,) = [answer for answer in answers if "identifier" in answer]
    assert entry["identifier"].endswith(card.did)
    (counts,) = [answer["facets"] for answer in answers if answer.get("resultType") == "facets"]
    assert counts["tags"]["buckets"][0]["count"] == 1
    listed = [answer["items"] for answer in answers if "items" in answer]
    assert [len(items) for items in listed] == [1, 1, 1]
    assert any(line.startswith("Sitemap: ") for line in printed)
