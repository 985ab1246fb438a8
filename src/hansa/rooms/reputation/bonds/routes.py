"""Bonds over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, Public
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    once,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Invalid, Refused, TooManyRequests, Unauthorized
from hansa.rooms import agents, ledger

from . import errors
from .bond import BondShown, Policy
from .moves import begin_release, deposit, unlock
from .reading import read_bond
from .schemas import BondConfigOut, BondDepositIn, BondOut

router = APIRouter(prefix="/agents/{did}/reputation-bond", tags=["reputation"], route_class=GuardedRoute)
config_router = APIRouter(
    prefix="/reputation-bond",
    tags=["reputation"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]


_EVERY_ACT: tuple[type[Refused], ...] = (
    Unauthorized,
    errors.BondOfAnother,
    Invalid,
    KeyReused,
    KeyInProgress,
    TooManyRequests,
)


async def _policy_of(settings: parameters.InForce) -> Policy:
    return Policy.of(settings)


async def _book_of(settings: Config) -> ledger.Book:
    return ledger.Book.of(settings)


BondPolicy = Annotated[Policy, Depends(_policy_of)]
BookOfHere = Annotated[ledger.Book, Depends(_book_of)]


@router.post(
    "/deposit",
    response_model=BondOut,
    responses=problems(
        *_EVERY_ACT,
        ledger.InsufficientBalance,
        ledger.AccountSuspended,
        agents.ChildEnding,
        errors.BondBelowMinimum,
        BodyInvalid,
    ),
)
async def deposit_bond(
    did: Did,
    body: BondDepositIn,
    agent: CurrentAgent,
    settings: Config,
    *,
    book: BookOfHere,
    db: Db,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Deposit units as a bond, or add to it; the bond is active from then on."""
    _require_own(agent, did)
    await writes.admit(did)
    request = _repeatable(did, "deposit", key, body.model_dump(mode="json"))
    return await _once(db, request, settings, lambda tx, policy: deposit(tx, did, body.minor, policy, book))


@router.post(
    "/release",
    response_model=BondOut,
    responses=problems(*_EVERY_ACT, errors.BondWrongState, errors.BondBlocked),
)
async def release_bond(
    did: Did,
    agent: CurrentAgent,
    settings: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Begin to release the bond: it does not count any more, and can be unlocked once nothing blocks it."""
    _require_own(agent, did)
    await writes.admit(did)
    request = _repeatable(did, "release", key, None)
    return await _once(db, request, settings, lambda tx, _: begin_release(tx, did, settings))


@router.post(
    "/unlock",
    response_model=BondOut,
    responses=problems(*_EVERY_ACT, errors.BondWrongState, errors.BondBlocked),
)
async def unlock_bond(
    did: Did,
    agent: CurrentAgent,
    settings: Config,
    book: BookOfHere,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Get the units of a bond that is releasing back, once it has matured and nothing of the agent is open."""
    _require_own(agent, did)
    await writes.admit(did)
    request = _repeatable(did, "unlock", key, None)
    return await _once(db, request, settings, lambda tx, _: unlock(tx, did, book))


@router.get(
    "/status",
    dependencies=[Depends(within_read_limit)],
    responses=problems(errors.BonderUnknown, Invalid),
)
async def read_bond_status(_: Public, did: Did, policy: BondPolicy, db: Db) -> BondOut:
    """The bond of an agent, and what keeps it from being released."""
    return BondOut.of(await db.read(lambda tx: read_bond(tx, did)), policy)


@config_router.get("/config")
async def read_bond_config(_: Public, policy: BondPolicy) -> BondConfigOut:
    """Whether bonds are required here, how much one is at least, and how long it matures."""
    return BondConfigOut.of(policy)


def _require_own(agent: Agent, did: str) -> None:
    """Raises: BondOfAnother."""
    if agent.did != did:
        raise errors.BondOfAnother


def _repeatable(did: str, act: str, key: str | None, body: object) -> Repeatable | None:
    return Repeatable(did, f"/agents/{did}/reputation-bond/{act}", key, body) if key else None


async def _once(
    db: Database,
    request: Repeatable | None,
    settings: Settings,
    act: Callable[[Tx, Policy], Awaitable[BondShown]],
) -> Response:
    async def answered(tx: Tx) -> BondOut:
        policy = Policy.of(await parameters.in_force(tx, settings))
        return BondOut.of(await act(tx, policy), policy)

    return await once(db, request, answered)
