"""Children of the staged agent for well-formed requests."""

from typing import Any


async def let_children_be_older(stage: Any) -> None:
    """A tree has ten new children a minute and fifty living ones; those that the requests of a stage make are many more."""
    older = "UPDATE agents_spawn SET spawned_at = spawned_at - interval '1 hour', ended_at = coalesce(ended_at, now())"
    await stage.registry.database.transaction(lambda tx: tx.execute(older))


async def new_child(stage: Any) -> str:
    """The DID of a new child of the staged agent."""
    await let_children_be_older(stage)
    path, body = f"/agents/{stage.agent.did}/spawn", {"name": "Helper", "funding": "0.01"}
    made = await stage.registry.post(path, json=body, headers=stage.developer.headers)
    assert made.status_code == 201, made.text
    did: str = made.json()["agent_did"]
    return did
