"""An optional member given as null is the same as one that is left out."""

from typing import Any

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from tests.registry import StartRegistry

ASKED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a transfer": ("/teg/send", {"amount": "1", "message": None}, "agent"),
    "a stake": ("/staking/stake", {"amount": "10", "lock_period": None, "lock_period_days": None}, "agent"),
    "a stake by the other name": (
        "/staking/stake",
        {"amount": "10", "lock_period_days": 7, "lock_period": None},
        "agent",
    ),
    "a capability": (
        "/agents/capabilities",
        {"caveats": {"permissions": ["teg.transfer"], "no_redelegate": None}, "ttl_seconds": None},
        "agent",
    ),
    "invitations": (
        "/admin/invite-codes/generate",
        {"count": None, "max_uses": None, "note": None, "grants_admin": None, "admin_flags": None},
        "administrator",
    ),
    "a search": (
        "/ard/search",
        {"query": {"text": "summaries", "filter": None}, "federation": None, "pageSize": None},
        "agent",
    ),
    "a count": (
        "/ard/explore",
        {"query": None, "resultType": {"facets": [{"field": "tags", "limit": None}]}},
        "agent",
    ),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_null_for_an_optional_member_is_the_same_as_leaving_it_out(
    asked: str, start_registry: StartRegistry
):
    path, body, who = ASKED[asked]
    registry = await start_registry(agent_rbac_default_roles=["trader", "client", "staker"])
    payee = await registry.agent()
    await registry.indexed()
    caller = await registry.agent() if who == "agent" else await registry.administrator(*ADMIN_AREAS)
    if path == "/teg/send":
        body = {**body, "receiver_did": payee.did}
    answer = await registry.post(path, json=body, headers=caller.headers)
    assert answer.status_code < 300, answer.text
