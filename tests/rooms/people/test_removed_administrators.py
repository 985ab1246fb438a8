"""Areas that the operator takes: those of a suspended administrator count for nobody."""

import pytest

from hansa.foundation.plumbing.web.admin_acts import bar_author
from hansa.rooms import people
from hansa.rooms.people.errors import LastAdministrator
from tests.registry import TestRegistry


async def test_a_suspended_administrator_is_nobody_to_whom_an_area_is_left(registry: TestRegistry):
    one, other = [await registry.administrator("admin_support") for _ in range(2)]
    [listed] = [
        found
        for found in await registry.database.read(people.list_administrators)
        if found.email == other.email
    ]
    await registry.database.transaction(lambda tx: bar_author(tx, listed.id))
    with pytest.raises(LastAdministrator, match="admin_support"):
        await registry.database.transaction(lambda tx: people.remove_administrator(tx, one.email))
    await registry.database.transaction(lambda tx: people.remove_administrator(tx, other.email))
