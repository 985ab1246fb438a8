"""Past of accounts: their balances, and the transactions that led to them."""

from .balance_then import BalanceThen, balance_then
from .errors import MomentInvalid
from .portfolio import Movement, Portfolio, read_portfolio
from .schemas import AsOf
from .store import count_of_account, held_balances, keys_of_account

__all__ = [
    "AsOf",
    "BalanceThen",
    "MomentInvalid",
    "Movement",
    "Portfolio",
    "balance_then",
    "count_of_account",
    "held_balances",
    "keys_of_account",
    "read_portfolio",
]
