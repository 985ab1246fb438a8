"""HTTP doors of staking."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute, exact_numbers
from hansa.foundation.plumbing.web.caller import Agent, CurrentAgent, Public, agent_holding
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    once,
)
from hansa.foundation.plumbing.web.limits import WriteLimit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.errors import AccountSuspended, AccountUnknown, InsufficientBalance

from . import errors, rules
from .compounding import set_auto_compound
from .pins import STAKE_PINS, PinnedUntil
from .policy import StakingPolicy
from .positions import claim_rewards, stake, unstake
from .reading import read_global_totals, read_history, read_holdings, read_positions, read_stats
from .schemas import (
    POSITION_ID_MAX_CHARACTERS,
    ClaimOut,
    GlobalStatsOut,
    HistoryLineOut,
    PositionIn,
    PositionOut,
    StakeIn,
    StakeOut,
    StakingBalanceOut,
    StakingStatsOut,
    StakingStatusOut,
    TierOut,
    TiersOut,
    UnstakeIn,
    UnstakeOut,
)

PAGE_DEFAULT = 50
PAGE_MAX = 500
OFFSET_MAX = 2**31 - 1

router = APIRouter(prefix="/staking", tags=["staking"], route_class=GuardedRoute)


async def _policy_of(settings: parameters.InForce) -> StakingPolicy:
    return StakingPolicy.of(settings)


async def _book_of(settings: Config) -> Book:
    return Book.of(settings)


Policy = Annotated[StakingPolicy, Depends(_policy_of)]
BookOfHere = Annotated[Book, Depends(_book_of)]
Pins = Annotated[PinnedUntil, Depends(STAKE_PINS.given)]
StakingAgent = Annotated[Agent, agent_holding("staking.manage")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]


@router.post(
    "/stake",
    response_model=StakeOut,
    responses=problems(
        Unauthorized,
        InsufficientBalance,
        AccountSuspended,
        errors.StakingDisabled,
        AccountUnknown,
        errors.TooManyPositions,
        Invalid,
        errors.StakeBelowMinimum,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
    ),
)
@exact_numbers
async def stake_units(
    body: StakeIn,
    agent: StakingAgent,
    settings: Config,
    book: BookOfHere,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Stake units, locked for 0 to 365 days."""
    await writes.admit(agent.did)
    order = body.order_by(agent.did)

    async def staked(tx: Tx) -> StakeOut:
        policy = StakingPolicy.of(await parameters.in_force(tx, settings))
        return StakeOut.of_result(await stake(tx, order, policy, book), agent.did, book.currency)

    return await once(db, _repeatable(agent, "/staking/stake", key, body), staked)


@router.post(
    "/unstake",
    response_model=UnstakeOut,
    responses=problems(
        Unauthorized,
        AccountSuspended,
        errors.InsufficientUnlockedStake,
        errors.PositionLocked,
        errors.StakePinned,
        errors.PositionUnknown,
        AccountUnknown,
        Invalid,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
    ),
)
@exact_numbers
async def unstake_units(
    body: UnstakeIn,
    agent: CurrentAgent,
    book: BookOfHere,
    db: Db,
    *,
    pins: Pins,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Release units whose lock has ended; also possible while staking is disabled."""
    await writes.admit(agent.did)
    order = body.order_by(agent.did)

    async def unstaked(tx: Tx) -> UnstakeOut:
        return UnstakeOut.of_result(await unstake(tx, order, book, pins), agent.did, book.currency)

    return await once(db, _repeatable(agent, "/staking/unstake", key, body), unstaked)


@router.post(
    "/claim-rewards",
    response_model=ClaimOut,
    responses=problems(
        Unauthorized,
        AccountSuspended,
        errors.RewardsDisabled,
        AccountUnknown,
        Invalid,
        KeyReused,
        KeyInProgress,
    ),
)
async def claim_earned_rewards(
    agent: CurrentAgent, settings: Config, book: BookOfHere, db: Db, key: IdempotencyKey = None
) -> Response:
    """Pay the rewards of the agent's stakes, limited by the balance of the fee collector."""

    async def claimed(tx: Tx) -> ClaimOut:
        policy = StakingPolicy.of(await parameters.in_force(tx, settings))
        return ClaimOut.of_result(await claim_rewards(tx, agent.did, policy, book), agent.did, book.currency)

    return await once(db, _repeatable(agent, "/staking/claim-rewards", key, None), claimed)


@router.get("/status", responses=problems(Unauthorized, AccountUnknown))
async def read_staking_status(
    agent: CurrentAgent, policy: Policy, book: BookOfHere, db: Db
) -> StakingStatusOut:
    """The staking limits of the registry, and the status of the calling agent."""
    holdings = await db.read(lambda tx: read_holdings(tx, agent.did))
    return StakingStatusOut.of(holdings, agent.did, policy, book.currency)


@router.get("/balance", responses=problems(Unauthorized, AccountUnknown))
async def read_staking_balance(agent: CurrentAgent, db: Db) -> StakingBalanceOut:
    """The calling agent's liquid, staked and locked balances."""
    return StakingBalanceOut.of(await db.read(lambda tx: read_holdings(tx, agent.did)))


@router.get("/my-positions", responses=problems(Unauthorized, AccountUnknown, Invalid))
async def read_own_positions(
    agent: CurrentAgent, db: Db, limit: Limit = PAGE_DEFAULT, offset: Offset = 0
) -> Page[PositionOut]:
    """The calling agent's positions: active ones first, then oldest first."""
    positions, total = await db.read(lambda tx: read_positions(tx, agent.did, limit=limit, offset=offset))
    return Page[PositionOut](
        items=[PositionOut.of(position, agent.did) for position in positions],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.patch(
    "/my-positions/{position_id}",
    response_model=PositionOut,
    responses=problems(
        Unauthorized,
        AccountSuspended,
        errors.StakingDisabled,
        errors.PositionUnknown,
        AccountUnknown,
        errors.PositionReleased,
        Invalid,
        KeyReused,
        KeyInProgress,
        TooManyRequests,
    ),
)
async def change_position(
    position_id: Annotated[str, Path(max_length=POSITION_ID_MAX_CHARACTERS, examples=["stake-17"])],
    body: PositionIn,
    agent: StakingAgent,
    settings: Config,
    db: Db,
    *,
    writes: WriteLimit,
    key: IdempotencyKey = None,
) -> Response:
    """Let the rewards of an active position be added to it once a day, or no longer."""
    await writes.admit(agent.did)

    async def changed(tx: Tx) -> PositionOut:
        policy = StakingPolicy.of(await parameters.in_force(tx, settings))
        position = await set_auto_compound(
            tx, agent.did, position_id, policy, auto_compound=body.auto_compound
        )
        return PositionOut.of(position, agent.did)

    return await once(db, _repeatable(agent, f"/staking/my-positions/{position_id}", key, body), changed)


@router.get("/my-stats", responses=problems(Unauthorized, AccountUnknown))
async def read_own_stats(agent: CurrentAgent, policy: Policy, book: BookOfHere, db: Db) -> StakingStatsOut:
    """The calling agent's staking totals."""
    stats = await db.read(lambda tx: read_stats(tx, agent.did, policy))
    return StakingStatsOut.of(stats, agent.did, book.currency)


@router.get("/history", responses=problems(Unauthorized, AccountUnknown, Invalid))
async def read_own_history(
    agent: CurrentAgent, db: Db, limit: Limit = PAGE_DEFAULT, offset: Offset = 0
) -> Page[HistoryLineOut]:
    """The calling agent's stakes, releases and rewards, newest first."""
    lines, total = await db.read(lambda tx: read_history(tx, agent.did, limit=limit, offset=offset))
    return Page[HistoryLineOut](
        items=[HistoryLineOut.of(line) for line in lines],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get("/apy-tiers", responses=problems(TooManyRequests), dependencies=[Depends(within_read_limit)])
async def read_tiers(_: Public, policy: Policy) -> TiersOut:
    """The yearly rates by lock period."""
    return TiersOut(
        rewards_enabled=policy.pays_rewards, tiers=[TierOut.of(tier) for tier in rules.REWARD_TIERS]
    )


@router.get("/global-stats", responses=problems(TooManyRequests), dependencies=[Depends(within_read_limit)])
async def read_global_stats(_: Public, policy: Policy, book: BookOfHere, db: Db) -> GlobalStatsOut:
    """The stakes of all agents together."""
    return GlobalStatsOut.of(await db.read(read_global_totals), policy, book.currency)


def _repeatable(
    agent: Agent, route: str, key: str | None, body: StakeIn | UnstakeIn | PositionIn | None
) -> Repeatable | None:
    return Repeatable(agent.did, route, key, body and body.model_dump()) if key else None
