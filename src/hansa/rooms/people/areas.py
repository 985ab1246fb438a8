"""Areas of administrators, given and withdrawn by another administrator.

- An account that administers nothing gets no area here: only the operator and invitations make administrators (decision 0235).
- An administrator gives and withdraws areas that it administers itself, judged under the lock of its account, and none of its own.
  So each area keeps an administrator: the one that withdrew it from others.
"""

from collections.abc import Collection, Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.areas import ADMIN_AREAS

from . import store
from .errors import AdministratorUnknown, AreaNotAdministered, AreasChanged, AreasUnchanged, OwnAreas


class AreaChange(msgspec.Struct, frozen=True):
    """Areas that a colleague gets and loses, each in their usual order."""

    given: Sequence[str]
    withdrawn: Sequence[str]


async def list_administrators(tx: Tx) -> list[store.Administrator]:
    """Open accounts that administer anything, by their number."""
    return await store.administrators(tx)


async def change_areas(
    tx: Tx,
    administrator: Developer,
    developer_id: int,
    *,
    present: Collection[str],
    wanted: Collection[str],
    reason: str,
) -> AreaChange:
    """Give a colleague the areas `wanted` in place of `present`, those that the administrator saw; each change is in the audit log.

    Raises: OwnAreas, AdministratorUnknown, AreasChanged, AreasUnchanged, AreaNotAdministered, AreasWithheld.
    """
    if developer_id == administrator.id:
        raise OwnAreas
    areas = await store.lock_areas(tx, [administrator.id, developer_id])
    if not areas.get(developer_id):
        raise AdministratorUnknown
    if set(areas[developer_id]) != set(present):
        raise AreasChanged
    change = change_of(present, wanted, areas.get(administrator.id, ()))
    await store.write_areas(tx, developer_id, [area for area in ADMIN_AREAS if area in wanted])
    subject = f"developer:{developer_id}"
    acts = [f"{area}.give" for area in change.given] + [f"{area}.withdraw" for area in change.withdrawn]
    for act in acts:
        await record_admin_act(tx, administrator, act=act, subject=subject, reason=reason)
    return change


def change_of(present: Collection[str], wanted: Collection[str], own: Collection[str]) -> AreaChange:
    """The difference, which lies within the areas `own` of its author. Raises: AreasUnchanged, AreaNotAdministered."""
    given = [area for area in ADMIN_AREAS if area in wanted and area not in present]
    withdrawn = [area for area in ADMIN_AREAS if area in present and area not in wanted]
    if not given and not withdrawn:
        raise AreasUnchanged
    if out_of_reach := sorted({*given, *withdrawn} - set(own)):
        raise AreaNotAdministered(context={"areas": out_of_reach})
    return AreaChange(given, withdrawn)
