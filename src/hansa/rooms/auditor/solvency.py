"""Solvency card at `/.well-known/solvency-card.json`: the liabilities of the registry, as the auditor attested them last.

Nothing in it has to be believed: every figure is read from the signed payload of the attestation that it contains.
"""

import json
from datetime import timedelta
from typing import Any, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import TooManyRequests
from hansa.foundation.values.lazy_model import LazyModel

from .attestations import (
    ANY_ORIGIN,
    AttestationOut,
    AttestationUnknown,
    prove_records,
    read_newest_audit,
    read_watch,
)
from .rules import PASSED

SOLVENCY_AT = "/.well-known/solvency-card.json"
VERSION = "1.0"
FRESH_FOR = timedelta(minutes=2)
"""Two audit cycles: an older card is not `current`."""
CACHED = "public, max-age=30"

Verdict = Literal["SOLVENT", "BREACH", "UNKNOWN"]

solvency_router = APIRouter(
    tags=["auditor"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)


class SupplyTermsOut(LazyModel):
    """The terms of the supply invariant, decimal strings: net_supply = issued - destroyed + transit_net = circulating."""

    issued: str
    destroyed: str
    transit_net: str
    net_supply: str
    circulating: str


class LiabilitiesCommitmentOut(LazyModel):
    """The root of the Merkle-sum tree over all accounts, to which the balance proof of each agent leads."""

    root: str = Field(description="SHA-256, lowercase hex.")
    total: str = Field(description="The sum of all balances, a decimal string.")
    accounts: int


class ExchangeSolvencyOut(LazyModel):
    """Points and distributions of listings, as the attestation has them; null in one from before the exchange."""

    enabled: bool = Field(description="As `fees.exchange.enabled` of the registry card.")
    shares: str | None = Field(
        description="OK when holdings are the sums of their postings, BREACH otherwise."
    )
    solvency: str | None = Field(
        description="BREACH when the account of a listing has less than its holders are owed, LOW with arrears, SOLVENT otherwise."
    )
    stock_card: str = Field(description="The listings, with the closes of a day.")


class SolvencyProofsOut(LazyModel):
    """Where each figure is verified."""

    keys: str = Field(description="The keys that verify the attestation.")
    attestations: str = Field(description="The whole chain of attestations.")
    liabilities: str = Field(
        description="The public level of the tree over all accounts; its blocks add up to total."
    )
    balance_proof: str = Field(
        description="The proof of an agent's own balance; needs the token of the agent."
    )
    log_checkpoint: str


class SolvencyCardOut(LazyModel):
    """Whether everything that the registry owes is covered by what it issued, and the attestation that proves it."""

    solvency_card_version: str = VERSION
    registry_name: str
    frame: str
    currency: str
    verdict: Verdict = Field(
        description="SOLVENT when the delta is 0 and the liabilities add up to what circulates; UNKNOWN when the last"
        " audit could not read the ledger or commit to the liabilities."
    )
    as_of: str = Field(description="When the audit was attested.")
    as_of_event_seq: int | None
    epoch: str = Field(description="The id of the attestation.")
    freshness: Literal["current", "stale", "unwatched"] = Field(
        description="stale after 2 minutes, unwatched after 10 minutes without a new attestation."
    )
    supply: SupplyTermsOut | None
    delta: str | None
    checks: dict[str, str]
    liabilities: LiabilitiesCommitmentOut | None
    exchange: ExchangeSolvencyOut
    attestation: AttestationOut
    proofs: SolvencyProofsOut


@solvency_router.get(SOLVENCY_AT, responses=problems(AttestationUnknown, TooManyRequests))
async def read_solvency_card(_: Public, response: Response, db: Db, settings: Config) -> SolvencyCardOut:
    """The newest audit as a solvency statement, with its attestation; 404 before the first audit."""
    response.headers.update({"Cache-Control": CACHED, **ANY_ORIGIN})
    frame, name, base = settings.ledger_id, settings.registry_name, settings.base_url

    async def read(tx: Tx) -> SolvencyCardOut:
        record = await read_newest_audit(tx, frame)
        watch = await read_watch(tx, frame)
        proof = (await prove_records(tx, [record])).get(str(record.id))
        age = watch.now - record.ts
        freshness = "unwatched" if not watch.is_watched else "current" if age <= FRESH_FOR else "stale"
        declared = json.loads(record.payload, parse_float=str)
        return SolvencyCardOut(
            registry_name=name,
            frame=frame,
            attestation=AttestationOut.of(record, proof),
            epoch=str(record.id),
            freshness=freshness,
            proofs=_proofs(base),
            exchange=ExchangeSolvencyOut(
                enabled=settings.exchange_enabled,
                shares=declared["checks"].get("shares"),
                solvency=declared["checks"].get("solvency"),
                stock_card=f"{base}/api/v1/agora/stock-card",
            ),
            **_figures(declared),
        )

    return await db.read_replicated(read)


def _figures(stated: dict[str, Any]) -> dict[str, Any]:
    """The figures of an audit record, as the card has them."""
    terms, delta = stated["terms"], stated["delta"]
    return {
        "currency": stated["currency"],
        "as_of": stated["ts"],
        "as_of_event_seq": stated["as_of_event_seq"],
        "verdict": verdict_of(stated),
        "supply": terms and {name: str(amount) for name, amount in terms.items()},
        "delta": None if delta is None else str(delta),
        "checks": stated["checks"],
        "liabilities": stated.get("liabilities"),
    }


def verdict_of(stated: dict[str, Any]) -> Verdict:
    """Return the verdict on the figures of an audit record."""
    # Records from before the proof of liabilities have no such member.
    liabilities = stated.get("liabilities")
    if stated["status"] is None or liabilities is None:
        return "UNKNOWN"
    is_sound = stated["status"] == "OK" and all(found in PASSED for found in stated["checks"].values())
    adds_up = liabilities["total"] == str(stated["terms"]["circulating"])
    return "SOLVENT" if is_sound and adds_up else "BREACH"


def _proofs(base: str) -> SolvencyProofsOut:
    return SolvencyProofsOut(
        keys=f"{base}/.well-known/auditor-jwks.json",
        attestations=f"{base}/api/auditor/attestations",
        liabilities=f"{base}/api/auditor/liabilities",
        balance_proof=f"{base}/api/v1/teg/balance/proof",
        log_checkpoint=f"{base}/log/checkpoint",
    )
