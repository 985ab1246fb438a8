"""An agent binds a wallet by a signed challenge, and unbinds it."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from secrets import token_hex

from hansa.foundation.events import AgentWalletBound, AgentWalletUnbound
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values import ethereum
from hansa.rooms import journal
from hansa.rooms.agents import rules as agents_rules
from hansa.rooms.agents import store as agents_store

from . import rules, store
from .errors import TooManyWallets, WalletOfAnother, WalletUnknown
from .rules import Wallet


async def new_challenge(tx: Tx, did: str, address: bytes, ledger_id: str) -> tuple[str, datetime]:
    """A text to sign, and until when; it replaces the agent's challenge before."""
    expires_at = await store.end_of(tx, rules.CHALLENGE_LIFETIME)
    text = rules.challenge_text(ledger_id, did, address, token_hex(16), expires_at)
    await store.write_challenge(tx, did, address, sha256(text.encode()).digest(), expires_at)
    return text, expires_at


async def bind_wallet(tx: Tx, did: str, address: bytes, challenge: str, signature: str) -> Wallet:
    """Bind the wallet that signed the agent's newest challenge, which is used up; one that is bound already stays so.

    Raises: AgentSuspended, AgentRevoked, ChallengeRefused, SignatureRefused, TooManyWallets, WalletOfAnother.
    """
    # The lock of the agent also keeps its wallets from being counted twice at once.
    agents_rules.require_active(await agents_store.lock_status(tx, did) or "revoked")
    rules.require_issued(await store.take_challenge(tx, did), address, challenge)
    public_key = rules.public_key_of(address, challenge, signature)
    present = await store.wallets_of(tx, did)
    for wallet in present:
        if wallet.address == address:
            return wallet
    if len(present) >= rules.WALLETS_MAX:
        raise TooManyWallets(
            f"The agent has {rules.WALLETS_MAX} wallets, as many as it may have; unbind one first."
        )
    bound = await store.bind(tx, did, address, public_key)
    if bound is None:
        raise WalletOfAnother
    await journal.append(tx, AgentWalletBound(did=did, address=ethereum.checksum_address(address)))
    return bound


async def unbind_wallet(tx: Tx, did: str, address: bytes) -> None:
    """Take a wallet from an agent: payments that it signed and that were not settled are not made any more. Raises: WalletUnknown."""
    if not await store.unbind(tx, did, address):
        raise WalletUnknown
    await journal.append(tx, AgentWalletUnbound(did=did, address=ethereum.checksum_address(address)))


async def own_wallets(tx: Tx, did: str) -> Sequence[Wallet]:
    """The wallets of an agent, the oldest first."""
    return await store.wallets_of(tx, did)
