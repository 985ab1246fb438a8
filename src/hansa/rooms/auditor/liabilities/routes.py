"""Proofs of liabilities over HTTP: an agent reads its own, anyone the public level."""

from fastapi import APIRouter, Depends, Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests, Unauthorized

from . import proofs
from .errors import NoLiabilities, NotCounted
from .schemas import BalanceProofOut, LiabilitiesOut

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}

balance_proof_router = APIRouter(
    tags=["ledger"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)
liabilities_router = APIRouter(
    tags=["auditor"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


@balance_proof_router.get(
    "/teg/balance/proof",
    responses=problems(Unauthorized, NoLiabilities, NotCounted, TooManyRequests),
)
async def prove_own_balance(agent: CurrentAgent, db: Db) -> BalanceProofOut:
    """The proof that the newest audit cycle counts the whole balance of the calling agent."""
    return BalanceProofOut.of(await db.read_replicated(lambda tx: proofs.prove_balance(tx, agent.did)))


@liabilities_router.get("/api/auditor/liabilities", responses=problems(NoLiabilities, TooManyRequests))
async def read_liabilities(_: Public, db: Db, response: Response) -> LiabilitiesOut:
    """The public level of the tree over all accounts: anyone adds it up to the root and total of the attestation."""
    response.headers.update(ANY_ORIGIN)
    return LiabilitiesOut.of(await db.read_replicated(proofs.read_blocks))
