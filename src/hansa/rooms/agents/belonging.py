"""Agents of a person: an administrator decides nothing about its own."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer

from . import store
from .errors import AgentOfCaller


async def of_person(tx: Tx, person_id: int, dids: Sequence[str]) -> list[str]:
    """Those of the agents that belong to this developer; an agent of another registry belongs to no developer here."""
    own = await store.readable_among(tx, person_id, dids)
    return [did for did in dids if did in own]


async def require_of_others(tx: Tx, administrator: Developer, dids: Sequence[str]) -> None:
    """Raises: AgentOfCaller, where one of the agents belongs to the administrator."""
    if own := await of_person(tx, administrator.id, dids):
        raise AgentOfCaller(context={"did": own[0]})
