"""Public readings of the jurisdiction: live authorizations, whether an act may go on, and proofs of contracts."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import RegulatedAction
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests

from .contracts import ATTESTED_CONTRACT, ReadAttestedContract, prove_contract
from .errors import ActParked, AuthorizationsUnreadable, ContractNoProof, NoContractProof
from .gate import require_cleared
from .recording import live_authorizations
from .schemas import (
    CONTRACT_ID_MAX,
    SUBJECT_MAX_CHARACTERS,
    ClearanceOut,
    ContractProofOut,
    RegulatoryAuthorizationsOut,
)

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}


async def _for_any_origin(response: Response) -> None:
    response.headers.update(ANY_ORIGIN)


jurisdiction_router = APIRouter(
    prefix="/jurisdiction",
    tags=["public"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit), Depends(_for_any_origin)],
)

ReadContract = Annotated[ReadAttestedContract, Depends(ATTESTED_CONTRACT.given)]


@jurisdiction_router.get(
    "/authorizations", response_model_exclude_none=True, responses=problems(TooManyRequests)
)
async def list_authorizations(_: Public, db: Db) -> RegulatoryAuthorizationsOut:
    """The live authorizations that this registry recorded; the registry card has them under its signature."""
    return RegulatoryAuthorizationsOut.of(await db.query(live_authorizations))


@jurisdiction_router.get(
    "/acts/{action}", responses=problems(ActParked, AuthorizationsUnreadable, Invalid, TooManyRequests)
)
async def read_clearance(
    _: Public,
    db: Db,
    settings: Config,
    read_contract: ReadContract,
    action: RegulatedAction,
    subject: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=SUBJECT_MAX_CHARACTERS,
            description="Whom or what the act concerns; by default the trust domain of this registry.",
        ),
    ] = None,
) -> ClearanceOut:
    """Whether an act of the jurisdiction may go on; 409 with a checklist where an authorization is missing."""
    asked = subject or settings.trust_domain
    return ClearanceOut.of(
        await db.read(lambda tx: require_cleared(tx, settings, action, asked, read_contract))
    )


@jurisdiction_router.get(
    "/contracts/{contract_id}", responses=problems(NoContractProof, ContractNoProof, Invalid, TooManyRequests)
)
async def read_contract_proof(
    _: Public,
    db: Db,
    read_contract: ReadContract,
    contract_id: Annotated[int, Path(ge=1, le=CONTRACT_ID_MAX)],
) -> ContractProofOut:
    """The proof of a contract on which a live authorization rests."""
    return ContractProofOut.of(
        await db.read_replicated(lambda tx: prove_contract(tx, contract_id, read_contract))
    )
