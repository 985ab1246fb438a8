"""Reading contracts over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import DeveloperOrAgent
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination

from . import errors
from .contract import Status
from .listing import list_contracts
from .reading import read_contract, reader_of
from .records import ContractFilter
from .routes import ContractId
from .schemas import ContractOut

PAGE_DEFAULT = 50
PAGE_MAX = 200
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)

Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]
Role = Annotated[Literal["contractor", "provider"] | None, Query()]
Counterparty = Annotated[str | None, Query(max_length=512)]
AgentDid = Annotated[str, Path(max_length=512)]


@router.get("", responses=problems(Unauthorized, Forbidden, Invalid))
async def list_own_contracts(
    caller: DeveloperOrAgent,
    config: Config,
    db: Db,
    *,
    role: Role = None,
    status: Annotated[Status | None, Query()] = None,
    counterparty: Counterparty = None,
    is_open: Annotated[
        bool, Query(alias="open", description="Open proposals of every agent instead of one's own contracts.")
    ] = False,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[ContractOut]:
    """The asking agent's contracts, newest first; an administrator of enforcement reads all that are kept here.

    A contract whose `contractor_registry` is another registry is kept there, and `id` is its number there: it is read with
    `GET /contracts/{id}/federated`.
    """
    reader = reader_of(caller)
    of = None if is_open else reader
    filters = ContractFilter(of, reader, role, status, counterparty, is_open, limit, offset)
    return await _page(db, filters, config)


@router.get("/agent/{agent_did}", responses=problems(Unauthorized, Forbidden, Invalid))
async def list_contracts_of_agent(
    agent_did: AgentDid,
    caller: DeveloperOrAgent,
    config: Config,
    db: Db,
    *,
    role: Role = None,
    status: Annotated[Status | None, Query()] = None,
    counterparty: Counterparty = None,
    limit: Limit = PAGE_DEFAULT,
    offset: Offset = 0,
) -> Page[ContractOut]:
    """The contracts of an agent that the caller may read, newest first."""
    filters = ContractFilter(
        agent_did, reader_of(caller), role, status, counterparty, is_open=False, limit=limit, offset=offset
    )
    return await _page(db, filters, config)


@router.get("/{contract_id}", responses=problems(Unauthorized, Forbidden, errors.ContractUnknown, Invalid))
async def read_one_contract(
    contract_id: ContractId, caller: DeveloperOrAgent, config: Config, db: Db
) -> ContractOut:
    """One contract, for its parties; open proposals and attestation contracts for every agent."""
    found = await db.read(lambda tx: read_contract(tx, caller, contract_id))
    return ContractOut.of(found, config.ledger_id)


async def _page(db: Database, filters: ContractFilter, settings: Settings) -> Page[ContractOut]:
    found, total = await db.read(lambda tx: list_contracts(tx, filters, settings))
    return Page[ContractOut](
        items=[one.contract for one in found],
        pagination=Pagination.of(total=total, limit=filters.limit, offset=filters.offset),
    )
