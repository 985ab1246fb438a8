"""Wallets of the agent that this client acts for: the payments that they sign are paid from the agent's account."""

from urllib.parse import quote

from hansa_client.calls import Call
from hansa_client.records.wallets import UnboundWallet, Wallet, WalletChallenge, WalletList

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/agents/me/wallets"


class AsyncWallets:
    """Bind, list and unbind wallets."""

    def __init__(self, transport: AsyncTransport, agent: AsyncSession) -> None:
        self._transport = transport
        self._agent = agent

    async def challenge(self, address: str) -> WalletChallenge:
        """The text that this wallet has to sign. Raises: Invalid."""
        call = Call("POST", f"{PREFIX}/challenge", json={"address": address}, is_idempotent=True)
        return await self._transport.answer(call, WalletChallenge, self._agent)

    async def bind(self, address: str, challenge: str, signature: str) -> Wallet:
        """Bind a wallet with its signature of the challenge, `0x` and 65 bytes in hexadecimal digits.

        An address belongs to one agent. A lost answer raises OutcomeUnknown; `list` shows whether the wallet is bound.

        Raises: BadRequest, Conflict, Invalid, OutcomeUnknown.
        """
        body = {"address": address, "challenge": challenge, "signature": signature}
        return await self._transport.answer(Call("POST", PREFIX, json=body), Wallet, self._agent)

    async def list(self) -> WalletList:
        """The agent's wallets, and the address by which wallets pay the agent."""
        return await self._transport.answer(Call("GET", PREFIX), WalletList, self._agent)

    async def delete(self, address: str) -> UnboundWallet:
        """Let a wallet sign for the agent no longer. Raises: NotFound."""
        call = Call("DELETE", f"{PREFIX}/{quote(address, safe='')}")
        return await self._transport.answer(call, UnboundWallet, self._agent)
