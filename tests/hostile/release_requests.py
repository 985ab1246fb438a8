"""Versions, deployments and bundles of the staged agent for well-formed requests, and the forms of their pages."""

import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx

OLDER = (
    "UPDATE operations_deployment SET created_at = created_at - interval '2 days', ended_at = coalesce(ended_at, now()),"
    " status = CASE WHEN ended_at IS NULL THEN 'failed' ELSE status END,"
    " reason = CASE WHEN ended_at IS NULL THEN 'staged' ELSE reason END"
)
DEPLOYED = (
    "INSERT INTO operations_deployment (agent_did, release_id, url, binding, protocol_version, must_be_signed, card_version,"
    " status, former_url, before_id, ended_at)"
    " VALUES ($1, $2, 'https://agent.example.com', 'JSONRPC', '1.0', false, 1, $3, 'https://agent.example.com', $4, now())"
    " RETURNING id"
)

_numbers = itertools.count(1)


async def draft(stage: Any) -> str:
    """A version of the code of the staged agent that was never active."""
    made = await stage.registry.post(
        f"/agents/{stage.agent.did}/versions",
        json={"version": f"draft {next(_numbers)}"},
        headers=stage.developer.headers,
    )
    assert made.status_code == 200, made.text
    return str(made.json()["version_id"])


async def end_deployments(stage: Any) -> None:
    """End the deployments of earlier requests, and let their day be over: one is checked at a time, and a day has a hundred."""
    await stage.registry.database.transaction(lambda tx: tx.execute(OLDER))


async def active_deployment(stage: Any) -> str:
    """The active deployment of the staged agent, with one before; those that are open fail."""
    await end_deployments(stage)
    version_id = await draft(stage)

    async def made(tx: Tx) -> str:
        await tx.execute("UPDATE operations_deployment SET status = 'superseded' WHERE status = 'active'")
        before = await tx.fetchval(DEPLOYED, stage.agent.did, version_id, "superseded", None)
        return str(await tx.fetchval(DEPLOYED, stage.agent.did, version_id, "active", before))

    active: str = await stage.registry.database.transaction(made)
    return active


async def bundle(stage: Any) -> dict[str, Any]:
    """A bundle of the staged agent."""
    made = await stage.registry.post(f"/agents/{stage.agent.did}/export", headers=stage.developer.headers)
    assert made.status_code == 200, made.text
    exported: dict[str, Any] = made.json()["bundle"]
    return exported


async def _version(_: Any) -> dict[str, str]:
    return {"version": f"browsed {next(_numbers)}"}


async def _drafted(stage: Any) -> dict[str, str]:
    return {"activated": await draft(stage)}


async def _move(stage: Any) -> dict[str, str]:
    await end_deployments(stage)
    return {"version_id": await draft(stage), "url": "https://agent.example.com/a2a"}


async def _rolled_back(stage: Any) -> dict[str, str]:
    return {"deployment": await active_deployment(stage)}


async def _nothing(_: Any) -> dict[str, str]:
    return {}


async def _bundle_text(stage: Any) -> dict[str, str]:
    return {"bundle": json.dumps(await bundle(stage))}


PAGE = "POST /account/agents/{did}/releases"
FORMS: dict[str, Callable[[Any], Awaitable[dict[str, str]]]] = {
    f"{PAGE}/register": _version,
    f"{PAGE}/activate": _drafted,
    f"{PAGE}/check": _move,
    f"{PAGE}/deploy": _move,
    f"{PAGE}/rollback": _rolled_back,
    f"{PAGE}/export": _nothing,
    "POST /account/agents/import/check": _bundle_text,
    "POST /account/agents/import": _bundle_text,
}
