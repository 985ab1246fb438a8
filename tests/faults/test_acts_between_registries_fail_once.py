"""Each statement fails once of each step of a crossing, a swap and the bridge, and of each message that is applied."""

from collections.abc import Awaitable, Callable

import pytest

from tests.faults.bridge_acts import BRIDGE
from tests.faults.crossing_acts import CROSSINGS
from tests.faults.swap_acts import SWAPS
from tests.faults.transfer_message_acts import TRANSFER_MESSAGES
from tests.faults.unchanged import rows_of


@pytest.mark.parametrize(
    ("failing", "name"), rows_of(BRIDGE, CROSSINGS, SWAPS, TRANSFER_MESSAGES), indirect=["failing"]
)
async def test_whichever_statement_of_an_act_between_registries_fails_nothing_has_changed_and_a_repetition_does_it_once(
    failing: Callable[[str], Awaitable[None]], name: str
) -> None:
    await failing(name)
