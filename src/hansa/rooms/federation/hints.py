"""Contents of a hint of this registry besides acts of enforcement, and the reading that a peer's hint starts."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from hansa.foundation.plumbing.jobs import SCHEDULE, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx

from .crossing import OPERATOR_LICENCE
from .licences import judge_if_newer, known_lists
from .peers import DocumentMarks, own_marks, peer_by_id, read_if_changed

AUDITOR_KIDS: Slot[Callable[[Tx], Awaitable[list[str]]]] = Slot("federation: the present keys of the auditor")

PEER_AUDITOR_KIDS: Slot[Callable[[Tx, int, Collection[str]], Awaitable[bool]]] = Slot(
    "federation: a peer, by its id, states the present keys of its auditor"
)
"""Returns whether others were known. The keys that are not stated count no more when the transaction commits."""


async def hint_documents(runtime: Runtime) -> dict[str, Any]:
    """The documents of this registry, the lists of issuers that it knows, and its auditor's keys. Raises: CardUnsigned, FederationOff."""
    marks = await own_marks(runtime)
    lists = await runtime.database.query(lambda tx: known_lists(tx, runtime.settings))
    kids = await runtime.database.query(AUDITOR_KIDS.of(runtime))
    return {"documents": marks.model_dump(mode="json"), "licence_lists": lists, "auditor_kids": kids}


async def take_hint(
    tx: Tx,
    runtime: Runtime,
    peer_id: int,
    *,
    documents: DocumentMarks | None,
    lists: Mapping[str, int],
    auditor_kids: Collection[str],
) -> bool:
    """Read the documents and lists that a peer states to be new; return whether any are. An operator reads its licence at its frame."""
    settings = runtime.settings
    is_new = documents is not None and await read_if_changed(tx, peer_id, documents)
    is_new |= await judge_if_newer(tx, lists)
    if auditor_kids:
        is_new |= await PEER_AUDITOR_KIDS.of(runtime)(tx, peer_id, auditor_kids)
    peer = await peer_by_id(tx, peer_id)
    if settings.is_operator and peer.peer_type == "frame" and settings.trust_domain in lists:
        await enqueue(tx, OPERATOR_LICENCE.name, SCHEDULE)
        return True
    return is_new
