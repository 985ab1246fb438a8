"""A suspended developer changes nothing: of every act that the table of rights gives a developer, few stay open.

These are the acts that secure the person's own access, or end the account.
"""

import pytest

from hansa.foundation.plumbing.web.admin_acts import admit_author, bar_author
from tests.hostile.credentials import cookie_of
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.house.rights import Rights, read_rights
from tests.registry import StartRegistry

CARRIED_OUT = {"2xx", "303", "409", "422"}

# Each with the reason for which it stays open.
OPEN_TO_SUSPENDED = {
    "DELETE /api/v1/auth/api-keys/{key_id}": "ends a credential",
    "DELETE /api/v1/auth/connections/{connection_id}": "ends a credential",
    "DELETE /api/v1/auth/sessions/{session_id}": "ends a credential",
    "POST /account/connections/{connection_id:uuid}/end": "ends a credential",
    "POST /account/api-keys/{key_id:int}/revoke": "ends a credential",
    "POST /account/change-password": "secures the login",
    "POST /account/deletion/cancel": "belongs to the deletion of the account",
    "POST /account/deletion/request-deletion": "belongs to the deletion of the account",
    "POST /account/recovery-keys": "secures the login",
    "POST /account/sessions/end-all": "ends credentials",
    "POST /account/sessions/{session_id:uuid}/end": "ends a credential",
    "POST /account/terms": "belongs to the account",
    "POST /account/support": "appeals to the support",
    "POST /account/support/{ticket_id:uuid}/{act}": "appeals to the support",
    "POST /account/two-factor/set-up": "secures the login",
    "POST /account/two-factor/turn-off": "secures the login",
    "POST /account/two-factor/turn-on": "secures the login",
    "POST /account/phones": "secures the login",
    "POST /account/phones/add": "secures the login",
    "POST /account/phones/{device_id:uuid}/remove": "secures the login",
    "POST /api/v1/auth/phone/devices": "secures the login",
    "POST /api/v1/auth/phone/devices/options": "secures the login",
    "DELETE /api/v1/auth/phone/devices/{device_id}": "secures the login",
    "POST /api/v1/account/cancel-deletion": "belongs to the deletion of the account",
    "POST /api/v1/account/request-deletion": "belongs to the deletion of the account",
    "POST /api/v1/auth/2fa/disable": "secures the login",
    "POST /api/v1/auth/2fa/recover": "secures the login",
    "POST /api/v1/auth/2fa/setup": "secures the login",
    "POST /api/v1/auth/2fa/verify": "secures the login",
    "POST /api/v1/auth/accept-terms": "belongs to the account",
    "POST /api/v1/auth/change-password": "secures the login",
    "POST /api/v1/auth/logout": "ends a credential",
    "POST /api/v1/auth/recovery-keys": "secures the login",
    "POST /api/v1/support/tickets": "appeals to the support",
    "POST /api/v1/support/tickets/{ticket_id}/close": "appeals to the support",
    "POST /api/v1/support/tickets/{ticket_id}/messages": "appeals to the support",
    "POST /api/v1/support/tickets/{ticket_id}/reopen": "appeals to the support",
    "POST /api/v1/agent-builder/generate": "stores nothing",
    "POST /api/v1/ws/ticket": "opens a feed to read",
    "POST /confirm": "proves the password for another form",
    "POST /mcp": "lists tools; for a suspended person only public ones act, by the conversations of the tools",
    "POST /mcp/rpc": "as POST /mcp",
}


def acts_with(kind: str) -> list[Rights]:
    """Return the operations that this credential carries out and a caller without one does not, except reads and administration."""
    return [
        row
        for row in read_rights()
        if not row.operation.startswith(("GET ", "POST /administration/"))
        and row.expected[kind] in CARRIED_OUT
        and row.expected["none"] not in CARRIED_OUT
    ]


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.mark.parametrize("kind", ["developer", "browser_session"])
async def test_a_suspended_developer_carries_out_no_act_that_is_not_open_to_suspended_ones(
    stage: Stage, kind: str
):
    registry = stage.registry
    profile = await registry.get("/auth/profile", headers=stage.developer.headers)
    developer_id = profile.json()["id"]
    cookie = await cookie_of(registry, stage.developer)
    credential = stage.developer.headers if kind == "developer" else cookie
    carried_out = []
    for row in acts_with(kind):
        if row.operation in OPEN_TO_SUSPENDED:
            continue
        request = await well_formed(row.operation, stage)
        await registry.database.transaction(lambda tx: bar_author(tx, developer_id))
        answer = await request.send(registry, credential)
        await registry.database.transaction(lambda tx: admit_author(tx, developer_id))
        if answer.status_code != 403 or "suspended" not in answer.text:
            carried_out.append(f"{row.operation}: {answer.status_code} {answer.text[:200]}")
    assert carried_out == []


def test_what_is_open_to_suspended_developers_is_an_act_of_developers():
    acts = {row.operation for kind in ("developer", "browser_session") for row in acts_with(kind)}
    assert set(OPEN_TO_SUSPENDED) - acts == set()
    assert len(acts - set(OPEN_TO_SUSPENDED)) > len(OPEN_TO_SUSPENDED)
