"""An agent's wallets over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values import ethereum
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.rooms.agents.errors import AgentRevoked, AgentSuspended
from hansa.rooms.ledger import Book

from .bind import bind_wallet, new_challenge, own_wallets, unbind_wallet
from .errors import (
    AddressMalformed,
    ChallengeRefused,
    SignatureRefused,
    TooManyWallets,
    WalletOfAnother,
    WalletUnknown,
)
from .rules import address_in
from .schemas import (
    ADDRESS_MAX_CHARACTERS,
    UnboundWalletOut,
    WalletChallengeIn,
    WalletChallengeOut,
    WalletIn,
    WalletOut,
    WalletsOut,
)

BINDINGS = Limit("wallet-binding", 30, seconds=3600)

router = APIRouter(prefix="/agents/me/wallets", tags=["wallets"], route_class=GuardedRoute)

AddressInPath = Annotated[
    str, Path(max_length=ADDRESS_MAX_CHARACTERS, examples=["0x857b06519E91e3A54538791bDbb0E22373e36b66"])
]


@router.post(
    "/challenge",
    responses=problems(
        Unauthorized, AgentSuspended, AgentRevoked, AddressMalformed, Invalid, TooManyRequests
    ),
)
async def request_wallet_challenge(
    body: WalletChallengeIn, agent: CurrentAgent, db: Db, config: Config
) -> WalletChallengeOut:
    """A text to be signed by the wallet (EIP-191) within ten minutes; it replaces the one before."""
    address = address_in(body.address)
    await admit(db, BINDINGS, agent.did)
    ledger_id = Book.of(config).frame
    text, expires_at = await db.transaction(lambda tx: new_challenge(tx, agent.did, address, ledger_id))
    return WalletChallengeOut(challenge=text, expires_at=expires_at)


@router.post(
    "",
    responses=problems(
        Unauthorized,
        AgentSuspended,
        AgentRevoked,
        ChallengeRefused,
        SignatureRefused,
        WalletOfAnother,
        TooManyWallets,
        AddressMalformed,
        Invalid,
        TooManyRequests,
    ),
)
async def bind_own_wallet(body: WalletIn, agent: CurrentAgent, db: Db) -> WalletOut:
    """Bind the wallet that signed the challenge: from now on what it signs, the agent pays."""
    address = address_in(body.address)
    await admit(db, BINDINGS, agent.did)
    return WalletOut.of(
        await db.transaction(lambda tx: bind_wallet(tx, agent.did, address, body.challenge, body.signature))
    )


@router.get("", responses=problems(Unauthorized, AgentSuspended, AgentRevoked))
async def read_own_wallets(agent: CurrentAgent, db: Db) -> WalletsOut:
    """The wallets whose signatures pay for the agent that asks."""
    return WalletsOut.of(agent.did, await db.read(lambda tx: own_wallets(tx, agent.did)))


@router.delete(
    "/{address}",
    responses=problems(Unauthorized, AgentSuspended, AgentRevoked, WalletUnknown, AddressMalformed),
)
async def unbind_own_wallet(address: AddressInPath, agent: CurrentAgent, db: Db) -> UnboundWalletOut:
    """Unbind a wallet: what it signed and was not settled is not paid any more."""
    own = address_in(address)
    await db.transaction(lambda tx: unbind_wallet(tx, agent.did, own))
    return UnboundWalletOut(address=ethereum.checksum_address(own))
