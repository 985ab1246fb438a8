"""Staking of the agent that this client acts for. Each stake, release and claim is one intent, as a transfer is."""

from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.record import Page
from hansa_client.records.staking import (
    ClaimedRewards,
    Staked,
    StakePosition,
    StakingBalance,
    StakingStatus,
    Unstaked,
)

from .session import AsyncSession
from .transport import AsyncTransport


class AsyncStaking:
    """Lock and release units."""

    def __init__(self, transport: AsyncTransport, agent: AsyncSession) -> None:
        self._transport = transport
        self._agent = agent

    async def stake(self, amount: Amount, *, lock_days: int = 0, key: str | None = None) -> Staked:
        """Lock units for 0 to 365 days; 0 can be released at any time. Raises: InsufficientBalance, OutcomeUnknown."""
        body = {"amount": amount_text(amount), "lock_period": lock_days}
        call = Call("POST", "/api/v1/staking/stake", json=body, key=new_key() if key is None else key)
        return await self._transport.answer(call, Staked, self._agent)

    async def unstake(
        self, amount: Amount, *, position_id: str | None = None, key: str | None = None
    ) -> Unstaked:
        """Release units whose lock has ended, the oldest first where no position is named. Raises: OutcomeUnknown."""
        body = {"amount": amount_text(amount), "position_id": position_id}
        call = Call("POST", "/api/v1/staking/unstake", json=body, key=new_key() if key is None else key)
        return await self._transport.answer(call, Unstaked, self._agent)

    async def claim_rewards(self, *, key: str | None = None) -> ClaimedRewards:
        """Be paid the rewards that are due. A second call pays only those earned since the first. Raises: OutcomeUnknown."""
        key = new_key() if key is None else key
        call = Call("POST", "/api/v1/staking/claim-rewards", json={}, key=key)
        return await self._transport.answer(call, ClaimedRewards, self._agent)

    async def auto_compound(
        self, position_id: str, on: bool = True, *, key: str | None = None
    ) -> StakePosition:
        """Let the rewards of a position be added to it once a day; with `on` false they are paid by a claim. Raises: OutcomeUnknown."""
        call = Call(
            "PATCH",
            f"/api/v1/staking/my-positions/{quote(position_id, safe='')}",
            json={"auto_compound": on},
            key=new_key() if key is None else key,
        )
        return await self._transport.answer(call, StakePosition, self._agent)

    async def balance(self) -> StakingBalance:
        """Return the balances of the agent: liquid, staked and locked."""
        return await self._transport.answer(
            Call("GET", "/api/v1/staking/balance"), StakingBalance, self._agent
        )

    async def status(self) -> StakingStatus:
        """Return the limits of the registry, and the stakes of the agent."""
        return await self._transport.answer(Call("GET", "/api/v1/staking/status"), StakingStatus, self._agent)

    async def positions(self, *, limit: int = 50, offset: int = 0) -> Page[StakePosition]:
        """The agent's stakes: active ones first, then the oldest first."""
        call = Call("GET", "/api/v1/staking/my-positions", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[StakePosition], self._agent)
