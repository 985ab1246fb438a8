"""Enrolment for mutual TLS over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, Public, agent_holding
from hansa.foundation.plumbing.web.limits import Limit, admit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems, refuses_with
from hansa.foundation.values.errors import TooManyRequests, Unauthorized
from hansa.rooms.agents.errors import AgentRevoked, AgentSuspended

from .enrol import disable_mtls, enable_mtls, ended_identities, enrolment_of
from .errors import IdentityIssuerMissing, IdentityRevoked
from .schemas import DisableMtlsOut, EnableMtlsOut, MtlsStatusOut, RevokedIdentitiesOut

CERTIFICATES = Limit("mtls-certificate", 60, seconds=3600)

router = APIRouter(prefix="/agent", tags=["mutual TLS"], route_class=GuardedRoute)


@refuses_with(IdentityIssuerMissing)
async def identity_authority(request: Request) -> IdentityAuthority | None:
    """The issuer of workload identities; None where SPIRE issues them. Raises: IdentityIssuerMissing."""
    runtime = runtime_of(request)
    if runtime.authority is None and not runtime.settings.uses_workload_api:
        raise IdentityIssuerMissing
    return runtime.authority


EnrollingAgent = Annotated[Agent, agent_holding("identity.mtls")]
EnrollingAuthority = Annotated[IdentityAuthority | None, Depends(identity_authority)]


@router.post(
    "/enable-mtls",
    responses=problems(
        Unauthorized,
        AgentSuspended,
        AgentRevoked,
        IdentityRevoked,
        TooManyRequests,
        IdentityIssuerMissing,
    ),
)
async def enrol_for_mtls(
    agent: EnrollingAgent, authority: EnrollingAuthority, db: Db, config: Config
) -> EnableMtlsOut:
    """Issue or renew a certificate of 30 minutes for mutual TLS, with its key.

    Where SPIRE issues the certificates, `delivery` is `workload_api`: the agent receives its certificate from the SPIRE agent on
    its machine.
    """
    await admit(db, CERTIFICATES, agent.did)
    enrolment = await db.transaction(lambda tx: enable_mtls(tx, agent.did, config))
    return EnableMtlsOut.of(authority, enrolment)


@router.post("/disable-mtls", responses=problems(Unauthorized, AgentSuspended, AgentRevoked))
async def disable_own_mtls(agent: CurrentAgent, db: Db) -> DisableMtlsOut:
    """Disable the workload identity; certificates that have not expired are on the list of revoked identities."""
    return DisableMtlsOut(status=await db.transaction(lambda tx: disable_mtls(tx, agent.did)))


@router.get("/mtls-status", responses=problems(Unauthorized, AgentSuspended, AgentRevoked))
async def read_mtls_status(agent: CurrentAgent, db: Db, config: Config) -> MtlsStatusOut:
    """The calling agent's workload identity."""
    enrolment = await db.read(lambda tx: enrolment_of(tx, agent.did))
    return MtlsStatusOut.of(enrolment, trust_domain=config.trust_domain, issuer=config.agent_identity_issuer)


@router.get(
    "/revoked-identities",
    dependencies=[Depends(within_read_limit)],
    responses=problems(TooManyRequests),
)
async def read_revoked_identities(db: Db, _: Public) -> RevokedIdentitiesOut:
    """The identities that services must refuse now, earliest revocation first."""
    return RevokedIdentitiesOut.of(await db.read(ended_identities))
