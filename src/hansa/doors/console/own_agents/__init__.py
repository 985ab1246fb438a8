"""Pages of a person's own agents: wallet, contracts, disputes.

- A page reads with the use cases of the rooms, and only for the owner: unknown and not yours get the same answer.
- An act is a call of the API in this process with an act token (`acting`), so that permissions, spend policy and limits apply.
"""

from . import bond_pages, contract_pages, dispute_pages, send_pages, stake_pages, token_pages, wallet_pages

ROUTERS = (
    wallet_pages.router,
    send_pages.router,
    stake_pages.router,
    token_pages.router,
    bond_pages.router,
    contract_pages.router,
    dispute_pages.router,
)

__all__ = ["ROUTERS"]
