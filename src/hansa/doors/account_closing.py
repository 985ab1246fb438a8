"""A developer who leaves: what they own in other rooms, agents with what their accounts hold, and what they may not do."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, catalogue, enforcement, ledger, people


async def blockers(tx: Tx, developer_id: int) -> list[people.Blocker]:
    """What the developer's agents hold: units would be lost with them, and locked ones are to be released first."""
    found = []
    for agent in await agents.of_developer(tx, developer_id):
        if agent.status != "revoked":
            found += _held(await ledger.balance_of(tx, agent.did))
    return found


async def end(tx: Tx, developer_id: int) -> None:
    """End every agent of the developer, close its account and erase its cards. Raises: AccountHoldsUnits."""
    await agents.forget_bootstrap_tokens(tx, developer_id)
    for agent in await agents.of_developer(tx, developer_id):
        if agent.status != "revoked":
            await agents.retire(tx, agent.did, by="account_deletion")
    await catalogue.erase_cards_of(tx, developer_id)


async def may_create_nothing(tx: Tx, developer_id: int) -> bool:
    """Whether the account is closed or suspended; neither begins before this transaction ends."""
    return await people.is_account_closed(tx, developer_id) or await enforcement.is_developer_suspended(
        tx, developer_id
    )


def _held(balance: ledger.Balance) -> list[people.Blocker]:
    kinds = (
        ("balance", balance.liquid, "Send the units elsewhere."),
        (
            "stake",
            balance.staked,
            "Release the stake, when its lock has ended, and send the units elsewhere.",
        ),
    )
    return [
        people.Blocker(kind, balance.did, format_amount(amount), detail)
        for kind, amount, detail in kinds
        if amount
    ]
