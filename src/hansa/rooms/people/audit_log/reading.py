"""Reading the audit log."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import AdminAct, AdminActFilter, list_admin_acts
from hansa.rooms.people import store


async def read_audit_log(tx: Tx, criteria: AdminActFilter) -> tuple[list[AdminAct], dict[int, str], int]:
    """A page of acts, the names of those who did them by id, and how many acts there are in all."""
    acts, total = await list_admin_acts(tx, criteria)
    developers = {act.developer_id for act in acts if act.developer_id is not None}
    return acts, await store.names_of(tx, sorted(developers)), total
