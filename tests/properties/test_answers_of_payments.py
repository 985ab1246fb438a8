"""The answers to authorize, verify and settle are written by hand; each is the JSON of its declared model, byte for byte."""

from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.payments.authorize import AuthorizeOrder
from hansa.rooms.commerce.payments.rules import Token, VerifyOrder
from hansa.rooms.commerce.payments.schemas import AuthorizeOut, PaymentVerifyOut, SettleOut
from hansa.rooms.commerce.payments.verify import Verification

AMOUNTS = st.integers(1, 10**19).map(Minor)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
# A loaded machine draws and writes slowly: time decides nothing here.
AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOKENS = st.builds(
    Token,
    st.uuids(),
    st.just("did:hansa:hansa.local:caller"),
    st.just("did:hansa:hansa.local:payee"),
    AMOUNTS,
    st.sampled_from(["consumed", "settling", "settled", "failed"]),
    st.sampled_from(["caller", "payee"]),
    st.booleans(),
    st.none(),
    contract_id=st.none() | st.integers(1, 2**40),
    resource=st.none() | TEXTS,
    request_digest=st.none() | TEXTS,
    is_counted=st.booleans(),
    capability_id=st.none(),
    created_at=MOMENTS,
    expires_at=MOMENTS,
    use_id=st.none() | TEXTS,
    capture_amount=st.none() | AMOUNTS,
    tx_id=st.none() | st.integers(1, 2**40),
    reason=st.none() | TEXTS,
)


@AT_ANY_SPEED
@given(TOKENS)
def test_the_answer_to_a_settlement_is_the_json_of_its_model(token: Token):
    written = SettleOut.json_of(token, "AVT")
    assert SettleOut.model_validate_json(written).model_dump_json() == written


@AT_ANY_SPEED
@given(TOKENS, st.booleans(), st.none() | TEXTS)
def test_the_answer_to_a_verification_is_the_json_of_its_model(
    token: Token, is_first_use: bool, target: str | None
):
    verification = Verification(token, None, is_first_use, "active")
    written = PaymentVerifyOut.json_of(verification, VerifyOrder("apt_", target), "AVT")
    assert PaymentVerifyOut.model_validate_json(written).model_dump_json() == written


@AT_ANY_SPEED
@given(TOKENS, TEXTS)
def test_the_answer_to_an_authorization_is_the_json_of_its_model(token: Token, secret: str):
    order = AuthorizeOrder(
        token.payee,
        token.amount,
        contract_id=token.contract_id,
        resource=token.resource,
        request_digest=token.request_digest,
        capture_by=token.capture_by,
        reserve=token.is_reserved,
    )
    written = AuthorizeOut.json_of(order, secret, token.id, token.expires_at, read_settings())
    assert AuthorizeOut.model_validate_json(written).model_dump_json() == written
