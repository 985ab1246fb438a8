"""Achievements of agents, which are public, and the flares of the agent that this client acts for."""

from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.errors import ApprovalNeeded
from hansa_client.records.achievements import (
    AchievementDefinition,
    AchievementDefinitions,
    AchievementsShown,
    AgentAchievements,
    Flare,
    FlarePurchase,
    FlareSelection,
)
from hansa_client.records.ledger import ApprovalPending

from .session import AsyncSession
from .transfers import ACCEPTED
from .transport import AsyncTransport, read_success

PATH = "/api/v1/achievements"


class AsyncAchievements:
    """Read achievements, buy flares and select those that the agent shows."""

    def __init__(self, transport: AsyncTransport, owner: AsyncSession, agent: AsyncSession) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    async def definitions(self) -> list[AchievementDefinition]:
        """All achievements that agents can earn; needs no credential."""
        return (await self._transport.answer(Call("GET", PATH), AchievementDefinitions)).items

    async def of_agent(self, did: str) -> AgentAchievements:
        """The achievements of an agent with their signed statements; needs no credential. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _of(did)), AgentAchievements)

    async def show(self, did: str, *, shown: bool) -> AchievementsShown:
        """Show the achievements of an agent of the developer, or hide them. Raises: NotFound, Forbidden."""
        call = Call("PATCH", _of(did), json={"shown": shown}, is_idempotent=True)
        return await self._transport.answer(call, AchievementsShown, self._owner)

    async def flares(self) -> list[Flare]:
        """The flares that the registry sells; needs no credential."""
        return await self._transport.answer(Call("GET", f"{PATH}/flares"), list[Flare])

    async def buy_flare(
        self, variant: str, price: Amount, *, approval_id: str | None = None, key: str | None = None
    ) -> FlarePurchase:
        """Buy a flare at this price; an agent buys each one once.

        Raises: InsufficientBalance, ApprovalNeeded, Conflict, NotFound, Forbidden, OutcomeUnknown.
        """
        body = {"variant": variant, "price": amount_text(price), "approval_id": approval_id}
        call = Call("POST", f"{PATH}/flares/purchase", json=body, key=new_key() if key is None else key)
        answer = await self._transport.response(call, self._agent)
        if answer.status == ACCEPTED:
            raise ApprovalNeeded(read_success(call, answer, ApprovalPending), call.key or "")
        return read_success(call, answer, FlarePurchase)

    async def selection(self) -> FlareSelection:
        """The flares that the agent shows, and those that it bought."""
        return await self._transport.answer(
            Call("GET", f"{PATH}/flares/selection"), FlareSelection, self._agent
        )

    async def select(
        self, *, corner: str | None = None, encirclement: str | None = None, overlay: str | None = None
    ) -> FlareSelection:
        """Show these flares and no others; an overlay needs an encirclement. Raises: Conflict, Invalid."""
        body = {"corner": corner, "encirclement": encirclement, "overlay": overlay}
        call = Call("PUT", f"{PATH}/flares/selection", json=body, is_idempotent=True)
        return await self._transport.answer(call, FlareSelection, self._agent)


def _of(did: str) -> str:
    return f"{PATH}/agents/{quote(did, safe='')}"
