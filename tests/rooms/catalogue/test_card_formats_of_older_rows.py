"""A card that was stored before it was completed on intake is shown in both formats all the same."""

import json

from tests.registry import TestRegistry

LATER = ("agentVersion", "authSchemes")


async def test_a_card_stored_without_the_older_half_is_shown_and_exported_with_it(registry: TestRegistry):
    agent = await registry.agent(supportsAuthenticatedExtendedCard=True)
    read = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_data"]
    stored = {name: member for name, member in read.items() if name not in LATER}
    stored["capabilities"] = {"streaming": False}
    statement = "UPDATE catalogue_card SET card_data = $2 WHERE did = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, agent.did, json.dumps(stored)))
    again = (await registry.get(f"/agent-cards/{agent.did}")).json()["card_data"]
    exported = (await registry.get(f"/agents/{agent.did}/card-export")).json()
    for document in (again, exported):
        assert {name: document[name] for name in LATER} == {name: read[name] for name in LATER}
        assert document["capabilities"]["extendedAgentCard"] is True


async def test_a_stub_is_shown_as_it_is(registry: TestRegistry):
    owner = await registry.developer()
    body = {"agent_did_method": "hansa", "agent_host": "https://agent.hansa.dev"}
    headers = {"Bootstrap-Token": await owner.bootstrap_token(), **registry.elsewhere()}
    made = (await registry.post("/onboard/create_agent", json=body, headers=headers)).json()
    document = (await registry.get(f"/agent-cards/{made['agent_did']}")).json()["card_data"]
    assert set(document) == {"name", "humanReadableId", "flare"}
