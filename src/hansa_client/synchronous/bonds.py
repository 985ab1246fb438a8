# Generated from hansa_client/asynchronous/bonds.py by `python -m tests.house.synchronous`.
"""The reputation bond of the agent that this client acts for. Each act is one intent, as a transfer is."""

from typing import Any
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.agents import AgentSelf
from hansa_client.records.bonds import Bond, BondConfig

from .session import Session
from .transport import Transport


class Bonds:
    """Deposit and release the bond; the bonds of all agents are public."""

    def __init__(self, transport: Transport, agent: Session) -> None:
        self._transport = transport
        self._agent = agent

    def deposit(self, amount: Amount, *, key: str | None = None) -> Bond:
        """Deposit units, or add to the bond; the whole has to reach the minimum.

        Raises: InsufficientBalance, BadRequest, Invalid, OutcomeUnknown.
        """
        return self._sent("deposit", {"amount": amount_text(amount)}, key)

    def release(self, *, key: str | None = None) -> Bond:
        """Begin to release the bond: from then on it does not count. Raises: Conflict, OutcomeUnknown."""
        return self._sent("release", None, key)

    def unlock(self, *, key: str | None = None) -> Bond:
        """Get the units back after `releasable_at`. Raises: Conflict, OutcomeUnknown."""
        return self._sent("unlock", None, key)

    def status(self, did: str) -> Bond:
        """Return the bond of an agent, and the blockers of its release; needs no credential. Raises: NotFound."""
        return self._transport.answer(Call("GET", _path(did, "status")), Bond)

    def config(self) -> BondConfig:
        """The rules of bonds at the registry; needs no credential."""
        return self._transport.answer(Call("GET", "/api/v1/reputation-bond/config"), BondConfig)

    def _sent(self, act: str, body: dict[str, Any] | None, key: str | None) -> Bond:
        own = self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, self._agent)
        call = Call("POST", _path(own.did, act), json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, Bond, self._agent)


def _path(did: str, act: str) -> str:
    return f"/api/v1/agents/{quote(did, safe='')}/reputation-bond/{act}"
