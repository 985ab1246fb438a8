"""Pages of a person's own agents: the list, the wizard that creates one, the settings, wallet and proposals of each.

- A page reads with the use cases of the rooms, and only for the owner: unknown and not yours get the same answer.
- An act as the agent is a call of the API in this process with an act token (`acting`), so that permissions, spend policy and
  limits apply.
"""

from . import (
    agent_list,
    approvals,
    authorize_pages,
    bid_pages,
    bond_pages,
    bridge_pages,
    call_pages,
    capabilities,
    card_editor,
    credentials,
    ending,
    history_pages,
    log_pages,
    metrics_pages,
    narrowing,
    open_proposal_pages,
    overview,
    proof_pages,
    proposal_pages,
    quote_pages,
    receive_pages,
    rights,
    send_pages,
    stake_pages,
    token_pages,
    versions,
    wallet_pages,
    wizard,
    x402_pages,
)

ROUTERS = (
    agent_list.router,
    wizard.router,
    overview.router,
    history_pages.router,
    log_pages.router,
    metrics_pages.router,
    card_editor.router,
    versions.router,
    rights.router,
    approvals.router,
    capabilities.router,
    narrowing.router,
    credentials.router,
    ending.router,
    wallet_pages.router,
    send_pages.router,
    receive_pages.router,
    stake_pages.router,
    authorize_pages.router,
    token_pages.router,
    quote_pages.router,
    bond_pages.router,
    bridge_pages.router,
    x402_pages.router,
    proof_pages.router,
    call_pages.router,
    open_proposal_pages.router,
    bid_pages.router,
    proposal_pages.router,
)

__all__ = ["ROUTERS"]
