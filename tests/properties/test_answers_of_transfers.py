"""The answer to a transfer is written by hand on the busiest route; it is the JSON of its declared model, byte for byte."""

from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansa.foundation.values.money import Minor
from hansa.rooms.ledger import Receipt, TransferOrder
from hansa.rooms.transfers.schemas import TransferOut

AMOUNTS = st.integers(0, 10**26).map(Minor)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
# A loaded machine draws and writes slowly: time decides nothing here.
AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@AT_ANY_SPEED
@given(AMOUNTS, AMOUNTS, AMOUNTS, MOMENTS, st.none() | TEXTS)
def test_the_answer_to_a_transfer_is_the_json_of_its_model(
    amount: Minor, fee: Minor, balance: Minor, timestamp: datetime, message: str | None
):
    order = TransferOrder("did:hansa:hansa.local:a", "did:hansa:hansa.local:b", amount, message)
    receipt = Receipt(7, amount, fee, balance, timestamp, None, None)
    written = TransferOut.json_of(receipt, order, "AVT")
    assert TransferOut.model_validate_json(written).model_dump_json() == written
