"""End of a developer's agents with the account: the blockers, and the closing."""

from collections.abc import Mapping

from hansa.foundation.plumbing.room import AccountEnd, Blocker, BlockerKind
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger

from . import store
from .bootstrap import forget_bootstrap_tokens
from .lineage import living_among
from .status import of_developer, retire


async def _blockers(tx: Tx, agents: Mapping[str, str]) -> list[Blocker]:
    """Return the units in the accounts of the developer's agents: they would be lost, and locked ones are released first."""
    present = [did for did, status in agents.items() if status != "revoked"]
    balances = await ledger.balances_of(tx, present)
    children = await living_among(tx, present)
    return [blocker for did in present for blocker in _held(balances[did], is_child=did in children)]


async def _end(tx: Tx, developer_id: int) -> None:
    """End every agent of the developer. Raises: AccountHoldsUnits."""
    await forget_bootstrap_tokens(tx, developer_id)
    for agent in await of_developer(tx, developer_id):
        if agent.status != "revoked":
            await retire(tx, agent.did, by="account_deletion")


def _held(balance: ledger.Balance, *, is_child: bool) -> list[Blocker]:
    leaves = "End the child: its units go back to its parent." if is_child else "Send the units elsewhere."
    kinds: tuple[tuple[BlockerKind, Minor, str], ...] = (
        ("balance", balance.liquid, leaves),
        (
            "stake",
            balance.staked,
            "Release the stake, when its lock has ended, and send the units elsewhere.",
        ),
    )
    return [
        Blocker(kind, balance.did, format_amount(amount), detail) for kind, amount, detail in kinds if amount
    ]


ACCOUNT_END_OF_AGENTS = AccountEnd(_blockers, _end, agents=store.statuses_of_developer)
