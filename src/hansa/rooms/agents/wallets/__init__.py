"""Wallets: keys of secp256k1 by which an agent signs payments."""

from hansa.rooms.agents.wallets.bind import own_wallets
from hansa.rooms.agents.wallets.errors import WalletUnknown
from hansa.rooms.agents.wallets.routes import router
from hansa.rooms.agents.wallets.rules import Wallet, receive_address
from hansa.rooms.agents.wallets.schemas import WalletsOut
from hansa.rooms.agents.wallets.store import find_wallet, hold_wallet, payee_of_address

__all__ = [
    "Wallet",
    "WalletUnknown",
    "WalletsOut",
    "find_wallet",
    "hold_wallet",
    "own_wallets",
    "payee_of_address",
    "receive_address",
    "router",
]
