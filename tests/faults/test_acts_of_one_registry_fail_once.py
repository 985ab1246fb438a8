"""Each statement of each act on contracts, disputes, bonds, slashes, the exchange and the registries of a frame fails once."""

from collections.abc import Awaitable, Callable

import pytest

from tests.faults.contract_acts import CONTRACTS
from tests.faults.dispute_acts import DISPUTES
from tests.faults.exchange_acts import EXCHANGE
from tests.faults.frame_acts import ACTS_OF_A_FRAME
from tests.faults.settlement_acts import SETTLEMENTS
from tests.faults.unchanged import rows_of


@pytest.mark.parametrize(
    ("failing", "name"),
    rows_of(CONTRACTS, DISPUTES, EXCHANGE, ACTS_OF_A_FRAME, SETTLEMENTS),
    indirect=["failing"],
)
async def test_whichever_statement_of_an_act_of_a_registry_fails_nothing_has_changed_and_a_repetition_does_it_once(
    failing: Callable[[str], Awaitable[None]], name: str
) -> None:
    await failing(name)
