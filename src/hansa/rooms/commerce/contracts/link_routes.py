"""Links to the pages of contracts over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent
from hansa.foundation.plumbing.web.limits import WriteLimit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Forbidden, Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.lazy_model import LazyModel

from .errors import ContractUnknown
from .page_link import issue_page_link

BIGINT_MAX = 2**63 - 1

router = APIRouter(prefix="/contracts", tags=["contracts"], route_class=GuardedRoute)


class PageLinkOut(LazyModel):
    """A page that shows the whole contract to everyone who has its address."""

    url: str = Field(examples=["https://registry.example.org/contracts/12?ticket=Zm9v"])
    expires_at: datetime


@router.post(
    "/{contract_id}/page-link",
    status_code=201,
    responses=problems(Unauthorized, Forbidden, ContractUnknown, Invalid, TooManyRequests),
)
async def issue_contract_page_link(
    contract_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    agent: CurrentAgent,
    settings: Config,
    seal: Sealing,
    db: Db,
    *,
    writes: WriteLimit,
) -> PageLinkOut:
    """Issue a link for 24 hours to the page of a contract, for a party to it. Everyone who has the link reads the contract."""
    await writes.admit(agent.did)
    link = await db.read(lambda tx: issue_page_link(tx, seal, agent.did, contract_id))
    url = f"{settings.base_url}/contracts/{contract_id}?ticket={link.ticket}"
    return PageLinkOut(url=url, expires_at=link.expires_at)
