"""HTTP doors of an agent's rights."""

from typing import Annotated

from fastapi import APIRouter, Path

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, ScopeMissing, developer_acting, developer_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms.agents.errors import AgentRevokedForGood, AgentUnknown, NotTheOwner
from hansa.rooms.agents.lineage import ChildEnding, PolicyWidened, RolesNotHeld

from .roles import authz_of, grant_role, replace_authz
from .schemas import AuthzIn, AuthzOut, RoleIn, RolesOut

router = APIRouter(prefix="/agents/{did}/authz", route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
ReadingDeveloper = Annotated[Developer, developer_holding("agents:read")]
WritingDeveloper = Annotated[Developer, developer_acting("agents:write")]
SecretsDeveloper = Annotated[Developer, developer_acting("agents:secrets")]
CHANGES = problems(
    Unauthorized,
    NotTheOwner,
    RolesNotHeld,
    AgentUnknown,
    AgentRevokedForGood,
    ChildEnding,
    Invalid,
    BodyInvalid,
)


@router.get("", responses=problems(Unauthorized, AgentUnknown, Invalid))
async def read_authz(did: Did, developer: ReadingDeveloper, db: Db, config: Config) -> AuthzOut:
    """The rights of an own agent: roles, permissions and spend policy."""
    authz = await db.read(lambda tx: authz_of(tx, developer, did))
    return AuthzOut.under(config.agent_rbac_mode, did, authz)


@router.put(
    "",
    responses=problems(
        Unauthorized,
        ScopeMissing,
        NotTheOwner,
        RolesNotHeld,
        AgentUnknown,
        AgentRevokedForGood,
        ChildEnding,
        Invalid,
        PolicyWidened,
        BodyInvalid,
    ),
)
async def put_authz(did: Did, body: AuthzIn, developer: WritingDeveloper, db: Db, config: Config) -> AuthzOut:
    """Replace the roles and the spend policy of an own agent, with effect from the agent's next request.

    An API key without the scope `agents:secrets` can only take roles away and narrow the policy.
    """
    replacement = body.replacement()
    authz = await db.transaction(lambda tx: replace_authz(tx, developer, did, replacement))
    return AuthzOut.under(config.agent_rbac_mode, did, authz)


@router.post("/roles", responses=CHANGES)
async def give_role(did: Did, body: RoleIn, developer: SecretsDeveloper, db: Db) -> RolesOut:
    """Give an own agent a role, with effect from the agent's next request."""
    return RolesOut.of(did, await db.transaction(lambda tx: grant_role(tx, developer, did, body.role)))
