"""Read the achievements of an agent, and let its owner show or hide them."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents

from . import earning, store
from .records import Achievements


async def achievements_of(tx: Tx, did: str) -> Achievements:
    """The achievements of an agent of this registry, in one statement; none while its owner hides them. Raises: AgentUnknown."""
    found = await store.read(tx, did)
    if found is None:
        raise agents.AgentUnknown
    if not found.is_shown:
        return Achievements(did, is_shown=False, is_dashed=False)
    earned = earning.in_order((*found.earned, *earning.of_life(found.life, found.now)))
    return Achievements(
        did,
        is_shown=True,
        is_dashed=found.tally.foreigners > 0,
        earned=earned,
        next=earning.upcoming(found.tally, found.life, (one.code for one in earned), found.now),
    )


async def show_or_hide(tx: Tx, developer: Developer, did: str, *, is_shown: bool) -> Achievements:
    """Show the achievements of an agent, or hide them. Raises: AgentUnknown, OrgRoleRequired."""
    await agents.require_caller(tx, developer, did, Right.OPERATE)
    await store.set_shown(tx, did, is_shown=is_shown)
    return await achievements_of(tx, did)
