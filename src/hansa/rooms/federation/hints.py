"""What a hint states of this registry besides acts of enforcement, and what is read at the hint of a peer."""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import SCHEDULE, enqueue
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings

from .crossing import OPERATOR_LICENCE
from .licences import judge_if_newer, known_lists
from .peers import DocumentMarks, own_marks, peer_by_id, read_if_changed


async def stated_in_hint(runtime: Runtime) -> dict[str, Any]:
    """The documents of this registry, and the lists of issuers that it knows. Raises: CardUnsigned, FederationOff."""
    marks = await own_marks(runtime)
    lists = await runtime.database.look(lambda tx: known_lists(tx, runtime.settings))
    return {"documents": marks.model_dump(mode="json"), "licence_lists": lists}


async def take_hint(
    tx: Tx, settings: Settings, peer_id: int, documents: DocumentMarks | None, lists: Mapping[str, int]
) -> bool:
    """Let what a peer states to be new be read at once; whether anything is. An operator reads its licence at its frame."""
    is_new = documents is not None and await read_if_changed(tx, peer_id, documents)
    is_new |= await judge_if_newer(tx, lists)
    peer = await peer_by_id(tx, peer_id)
    if settings.is_operator and peer.peer_type == "frame" and settings.trust_domain in lists:
        await enqueue(tx, OPERATOR_LICENCE.name, SCHEDULE)
        return True
    return is_new
