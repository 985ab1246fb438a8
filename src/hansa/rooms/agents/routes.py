"""Onboarding, agent credentials and identity over HTTP."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.security import APIKeyHeader

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.process.runtime import Config, Db, Tokens, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.caller import (
    CurrentAgent,
    Developer,
    Public,
    ScopeMissing,
    developer_acting,
    developer_holding,
    sign_in_agent,
)
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.entity_tags import IfVersion, PreconditionFailed
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.limits import Limit, client_site, limited
from hansa.foundation.plumbing.web.problem_docs import problems, refuses_with
from hansa.foundation.values.errors import (
    Conflict,
    DeveloperSuspended,
    HostRefused,
    Invalid,
    NotFound,
    OrgRoleRequired,
    PayloadTooLarge,
    ReplacedMeanwhile,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import catalogue, federation, ledger

from . import rules
from .acting import router as acting_router
from .authz import router as authz_router
from .bootstrap import AgentsOfOrganizations, OwnerSuspension, issue_bootstrap_token
from .capabilities import router as capabilities_router
from .check import CurrentKnownAgent
from .credentials import new_client_secret, new_identity
from .documents import router as documents_router
from .errors import (
    AgentRevoked,
    AgentRevokedForGood,
    AgentSuspended,
    AgentUnknown,
    BootstrapTokenRefused,
    BootstrapTokenUsed,
    CredentialsWrong,
    DeveloperUnverified,
    DidMethodUnsupported,
    NotTheOwner,
)
from .keys import public_key_of
from .keys import router as keys_router
from .mtls import router as mtls_router
from .onboard import Onboarding, create_agent
from .schemas import (
    AgentRevokedOut,
    AgentsOfDeveloper,
    AgentTokenForm,
    AgentTokenOut,
    BootstrapOut,
    BootstrapRequest,
    CreateAgentIn,
    CreateAgentOut,
    HeartbeatOut,
    OwnAgentDetails,
    OwnAgentOut,
    RotateSecretOut,
)
from .secret import rotate_secret
from .spending import router as spending_router
from .status import (
    REQUIRE_UNBOUND,
    RequireUnbound,
    end_itself,
    end_own_agent,
    page_of_developer,
    record_heartbeat,
)
from .wallets import router as wallets_router

router = APIRouter(tags=["agents"], route_class=GuardedRoute)
include(
    router,
    documents_router,
    keys_router,
    acting_router,
    authz_router,
    capabilities_router,
    spending_router,
    mtls_router,
    wallets_router,
)

BOOTSTRAP_TOKENS = Limit("bootstrap", 20)
CREATIONS = Limit("create-agent", 10)
AGENT_TOKENS = Limit("agent-token", 60)
TOKEN_MAX_CHARACTERS = 128
PAGE_MAX = 500
OFFSET_MAX = 2**31 - 1

_BOOTSTRAP_SCHEME = APIKeyHeader(name="Bootstrap-Token", scheme_name="BootstrapToken", auto_error=False)


@refuses_with(BootstrapTokenRefused)
@evaluated_once
async def bootstrap_token(request: Request, _: Annotated[Any, Depends(_BOOTSTRAP_SCHEME)]) -> str:
    """The token of the Bootstrap-Token header. Raises: BootstrapTokenRefused."""
    values = request.headers.getlist("bootstrap-token")
    if len(values) != 1 or not 0 < len(values[0]) <= TOKEN_MAX_CHARACTERS:
        raise BootstrapTokenRefused
    return values[0]


BringsBootstrapToken = Annotated[str, Depends(bootstrap_token)]
CreatingDeveloper = Annotated[Developer, developer_acting("agents:create")]
ReadingDeveloper = Annotated[Developer, developer_holding("agents:read")]
WritingDeveloper = Annotated[Developer, developer_acting("agents:write")]
SecretsDeveloper = Annotated[Developer, developer_acting("agents:secrets")]
Unbound = Annotated[RequireUnbound, Depends(REQUIRE_UNBOUND.given)]


@router.post(
    "/onboard/bootstrap/request-token",
    dependencies=[Depends(limited(BOOTSTRAP_TOKENS))],
    responses=problems(
        Unauthorized,
        DeveloperUnverified,
        DeveloperSuspended,
        ScopeMissing,
        OrgRoleRequired,
        NotFound,
        Conflict,
        Invalid,
        BodyInvalid,
        TooManyRequests,
    ),
)
async def request_bootstrap_token(
    body: BootstrapRequest,
    developer: CreatingDeveloper,
    db: Db,
    config: Config,
    owner_suspension: OwnerSuspension,
    *,
    organizations: AgentsOfOrganizations,
) -> BootstrapOut:
    """Issue a token that creates one agent, for the developer or for an organization."""
    lifetime = config.bootstrap_token_lifetime
    issued = await db.transaction(
        lambda tx: issue_bootstrap_token(
            tx,
            developer,
            agent_type_hint=body.agent_type_hint,
            requested_by=body.requested_by,
            lifetime_seconds=lifetime,
            is_suspended=owner_suspension,
            organization=body.organization_id,
            organizations=organizations,
        )
    )
    return BootstrapOut(bootstrap_token=issued.token, expires_in=lifetime, expires_at=issued.expires_at)


@router.post(
    "/onboard/create_agent",
    status_code=201,
    dependencies=[Depends(limited(CREATIONS))],
    responses=problems(
        BootstrapTokenRefused,
        BootstrapTokenUsed,
        DeveloperSuspended,
        OrgRoleRequired,
        NotFound,
        Conflict,
        catalogue.HumanReadableIdTaken,
        federation.DidClaimed,
        DidMethodUnsupported,
        catalogue.CardInvalid,
        HostRefused,
        Invalid,
        BodyInvalid,
        PayloadTooLarge,
        TooManyRequests,
    ),
)
@takes_cards
async def onboard_agent(
    body: CreateAgentIn,
    token: BringsBootstrapToken,
    db: catalogue.CardWrites,
    config: Config,
    owner_suspension: OwnerSuspension,
    *,
    organizations: AgentsOfOrganizations,
    request: Request,
) -> CreateAgentOut:
    """Create an agent. Its secret and its private key are shown only once."""
    rules.require_own_method(body.agent_did_method, config.did_method)
    identity = new_identity(config, body.brought_key)
    site = client_site(request)
    asked = Onboarding(token, identity, host=body.agent_host, card=body.agent_card, site=site)
    onboarded = await db.transaction(
        lambda tx: create_agent(tx, asked, config, owner_suspension, organizations)
    )
    return CreateAgentOut.of(identity, onboarded)


@router.get("/onboard/agent-card-template", responses=problems(Unauthorized))
async def read_card_template(_: ReadingDeveloper) -> dict[str, Any]:
    """A card template."""
    return catalogue.card_template()


@router.post(
    "/auth/agent/token",
    dependencies=[Depends(limited(AGENT_TOKENS))],
    responses=problems(CredentialsWrong, AgentSuspended, AgentRevoked, Invalid, BodyInvalid, TooManyRequests),
)
async def issue_agent_token(
    form: Annotated[AgentTokenForm, Form()], request: Request, config: Config, tokens: Tokens, _: Public
) -> AgentTokenOut:
    """Exchange an agent's client id and secret for a bearer token."""
    client_id, client_secret = form.credentials
    signed_in = await sign_in_agent(runtime_of(request), client_id, client_secret)
    lifetime = timedelta(minutes=config.access_token_expire_minutes)
    token = tokens.issue(
        TokenKind.AGENT, signed_in.did, session=signed_in.session, now=signed_in.at, lifetime=lifetime
    )
    return AgentTokenOut(access_token=token, expires_in=int(lifetime.total_seconds()))


async def read_myself(agent: CurrentKnownAgent, db: Db) -> OwnAgentDetails:
    """The agent of the token; a 200 proves that the token is valid now."""
    name = await db.query(lambda tx: catalogue.name_of_agent(tx, agent.did))
    # By itself: every request of an agent would otherwise read the key with the agent.
    public_key = await db.query(lambda tx: public_key_of(tx, agent.did))
    return OwnAgentDetails.of(agent, name or agent.name, public_key)


router.add_api_route(
    "/agents/me",
    read_myself,
    responses=problems(Unauthorized, AgentSuspended, AgentRevoked, Unavailable),
    route_class_override=DirectRoute,
)


@router.delete(
    "/agents/me",
    responses=problems(
        Unauthorized, AgentSuspended, AgentRevoked, Conflict, ledger.AccountHoldsUnits, ledger.CrossingPending
    ),
)
async def end_myself(
    agent: CurrentAgent, db: catalogue.CardWrites, require_unbound: Unbound
) -> AgentRevokedOut:
    """Revoke the calling agent permanently: its card leaves the listings and its account is closed, which must be empty."""
    await db.transaction(lambda tx: end_itself(tx, agent.did, require_unbound))
    return AgentRevokedOut(agent_did=agent.did)


@router.post("/agents/heartbeat", include_in_schema=False)
@router.post("/agents/me/heartbeat", responses=problems(Unauthorized, AgentSuspended, AgentRevoked))
async def send_heartbeat(agent: CurrentKnownAgent, db: Db) -> HeartbeatOut:
    """Report that the agent is running. It counts as a health check, in `liveness` and in the search filter `active_24h`."""
    heard_at = await db.transaction(lambda tx: record_heartbeat(tx, agent.did)) or agent.last_active_at
    assert heard_at is not None
    return HeartbeatOut(did=agent.did, status=agent.status, last_active_at=heard_at)


@router.get("/agents", responses=problems(Unauthorized, Invalid))
async def list_own_agents(
    developer: ReadingDeveloper,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE_MAX,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[OwnAgentOut]:
    """Own agents in every status, oldest first."""
    page, total = await db.read(lambda tx: page_of_developer(tx, developer.id, limit=limit, offset=offset))
    return Page(
        items=[OwnAgentOut.of(agent) for agent in page],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get("/developers/me/agents", responses=problems(Unauthorized, Invalid))
async def list_agents_of_developer(
    developer: ReadingDeveloper,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE_MAX,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> AgentsOfDeveloper:
    """Own agents as `GET /agents` lists them, under the name `agents`."""
    page = await list_own_agents(developer, db, limit, offset)
    return AgentsOfDeveloper(agents=page.items, pagination=page.pagination)


@router.delete(
    "/agents/{did}",
    responses=problems(
        Unauthorized,
        NotTheOwner,
        AgentSuspended,
        AgentUnknown,
        Conflict,
        ledger.AccountHoldsUnits,
        ledger.CrossingPending,
        Invalid,
    ),
)
async def end_agent(
    did: Annotated[str, Path(max_length=512)],
    developer: WritingDeveloper,
    db: catalogue.CardWrites,
    require_unbound: Unbound,
) -> AgentRevokedOut:
    """Revoke an own agent permanently; a repeated request returns the same response."""
    await db.transaction(lambda tx: end_own_agent(tx, developer, did, require_unbound))
    return AgentRevokedOut(agent_did=did)


@router.post(
    "/agents/{did}/rotate-secret",
    responses=problems(
        Unauthorized,
        NotTheOwner,
        AgentUnknown,
        AgentRevokedForGood,
        ReplacedMeanwhile,
        PreconditionFailed,
        Invalid,
    ),
)
async def replace_secret(
    did: Annotated[str, Path(max_length=512)], developer: SecretsDeveloper, db: Db, if_match: IfVersion
) -> RotateSecretOut:
    """Replace the client secret of an own agent; the new one is shown only once, the former one and its tokens end.

    If-Match with the `secret_version` of the agent refuses a request that was sent before another one replaced the secret.
    """
    client_secret = new_client_secret()
    client_id = await db.transaction(lambda tx: rotate_secret(tx, developer, did, client_secret, if_match))
    return RotateSecretOut(agent_did=did, client_id=client_id, client_secret=client_secret)
