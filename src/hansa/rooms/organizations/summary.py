"""An organization at a glance, and what was done in it."""

from collections.abc import Mapping, Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import ledger

from . import audit, reading
from .records import Counts, Done
from .requests import store as requests
from .requests.kinds import RequestKind
from .requests.tally import Reading, read
from .rules import Role


class Summary(msgspec.Struct, frozen=True):
    """Counts, balances of the treasury, and requests that wait for the caller."""

    counts: Counts
    balance: ledger.Balance
    waiting: Sequence[Reading]


async def summary_of(tx: Tx, kinds: Mapping[str, RequestKind], developer: Developer, key: str) -> Summary:
    """Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    (shown,) = await reading.with_counts(tx, [organization])
    found = await requests.waiting_for(tx, organization.id, developer.id)
    waiting = [one for one in await read(tx, organization, kinds, found) if developer.id in one.eligible]
    return Summary(shown.counts, await ledger.balance_of(tx, organization.treasury_did), waiting)


async def acts_of(
    tx: Tx, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[Done], int]:
    """A page of the acts, newest first, and how many there are. Raises: OrganizationUnknown, OrgRoleRequired."""
    organization = await reading.held(tx, key, developer.id, Role.ADMIN)
    return await audit.acts_of(tx, organization.id, limit=limit, offset=offset)
