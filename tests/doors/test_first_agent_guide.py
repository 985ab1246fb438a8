"""The commands of the guide to a first agent have the effect that it states."""

import json

from tests.doors.guides import follow
from tests.doors.served import served


async def test_every_command_of_the_guide_succeeds_and_does_what_it_says(start_registry, tmp_path):
    async with served(start_registry) as registry:
        printed = await follow("first-agent.md", registry.settings.base_url, tmp_path)
        answers = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        (did,) = [line for line in printed.splitlines() if line.startswith("did:")]
        (me,) = [answer for answer in answers if "roles" in answer and "client_id" in answer]
        assert (me["did"], me["status"], me["name"]) == (did, "active", "Translator")
        assert f"signed with {did}#key-1" in printed.splitlines()
        (balance,) = [answer for answer in answers if set(answer) == {"agent_id", "balance"}]
        assert balance == {"agent_id": did, "balance": "100"}
        assert answers[-1]["status"] == "revoked"
        document = (await registry.http.get(f"/api/v1/agents/{did}/did.json")).json()
        assert document["authentication"] == [f"{did}#key-2"]
