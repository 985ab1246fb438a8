"""Proofs of liabilities over HTTP: an agent reads its own, anyone the public level."""

from fastapi import APIRouter, Depends, Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests, Unauthorized
from hansa.rooms.auditor.attestations import Attestation, prove_records
from hansa.rooms.auditor.transparency import Inclusion

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

    async def read(tx: Tx) -> BalanceProofOut:
        proof = await proofs.prove_balance(tx, agent.did)
        return BalanceProofOut.of(proof, await _inclusion(tx, proof.attestation))

    return await db.read_replicated(read)


@liabilities_router.get("/api/auditor/liabilities", responses=problems(NoLiabilities, TooManyRequests))
async def read_liabilities(_: Public, db: Db, response: Response) -> LiabilitiesOut:
    """The public level of the tree over all accounts: anyone adds it up to the root and total of the attestation."""
    response.headers.update(ANY_ORIGIN)

    async def read(tx: Tx) -> LiabilitiesOut:
        found = await proofs.read_blocks(tx)
        return LiabilitiesOut.of(found, await _inclusion(tx, found.attestation))

    return await db.read_replicated(read)


async def _inclusion(tx: Tx, record: Attestation | None) -> Inclusion | None:
    if record is None:
        return None
    return (await prove_records(tx, [record])).get(str(record.id))
