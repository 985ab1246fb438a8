"""The rules of payment tokens: who settles or releases one, in which status, and for which amount."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.payments import rules
from hansa.rooms.commerce.payments.errors import (
    AmountNotPositive,
    CaptureAmountRefused,
    CapturedByPayee,
    NotTheCaller,
    SettlementInProgress,
    TargetMalformed,
    TokenExpired,
    TokenMismatch,
    TokenStatus,
    TokenUnknown,
)
from hansa.rooms.commerce.payments.rules import Terms, Token, Verdict, VerifyOrder

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
CALLER, PAYEE, STRANGER = "did:hansa:caller", "did:hansa:payee", "did:hansa:stranger"
AMOUNT = Minor(500)
ENDED = ("released", "expired", "failed")


def token(**changes: object) -> Token:
    """An authorized token of 500 minor units that its caller settles."""
    made = Token(
        UUID(int=1), CALLER, PAYEE, AMOUNT, "authorized", "caller",
        is_reserved=False, fixed_fee=None, contract_id=None, resource=None, request_digest=None,
        is_counted=False, capability_id=None, created_at=NOW, expires_at=NOW,
    )  # fmt: skip
    return replace(made, **changes)


def settle(
    present: Token | None, by: str = CALLER, *, success: bool = True, capture: int | None = None
) -> Verdict:
    amount = None if capture is None else Minor(capture)
    return rules.judge_settle(present, by, success=success, capture_amount=amount)


@pytest.mark.parametrize(
    ("text", "is_amount"), [("0.00000001", True), ("0", False), ("-1", False), ("x", False)]
)
def test_an_amount_is_a_decimal_string_greater_than_zero(text: str, is_amount: bool):
    if is_amount:
        assert rules.positive_amount(text) == 1
        return
    with pytest.raises(AmountNotPositive):
        rules.positive_amount(text)


@pytest.mark.parametrize(
    ("target", "is_accepted"),
    [
        ("did:web:ab", True),
        ("did:web:a", False),
        ("did:web:a%2Fb", True),
        ("did:web:a%2", False),
        ("did:web:example/path", False),
        ("did:web:example:", False),
        ("web:example.org", False),
        (CALLER, False),
    ],
)
def test_a_target_is_the_did_of_another_agent_of_at_least_ten_characters(target: str, is_accepted: bool):
    if is_accepted:
        rules.require_target(CALLER, target)
        return
    with pytest.raises(TargetMalformed):
        rules.require_target(CALLER, target)


def test_an_unknown_token_is_neither_settled_nor_released():
    for act in (lambda: settle(None), lambda: rules.require_releasable(None, CALLER)):
        with pytest.raises(TokenUnknown):
            act()


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("authorized", Verdict.SETTLING),
        ("consumed", Verdict.SETTLING),
        ("settling", Verdict.UNDER_WAY),
        ("settled", Verdict.SETTLED),
        *((status, Verdict.ENDED) for status in ENDED),
    ],
)
def test_a_settle_request_has_one_verdict_for_each_status(status: str, verdict: Verdict):
    assert settle(token(status=status)) == verdict
    failed = Verdict.RELEASE if verdict == Verdict.SETTLING else verdict
    assert settle(token(status=status), success=False) == failed


def test_an_expired_token_is_not_settled_and_still_released():
    assert settle(token(is_expired=True)) == Verdict.EXPIRE
    assert settle(token(is_expired=True), success=False) == Verdict.RELEASE


@pytest.mark.parametrize(
    ("capture", "verdict"), [(0, Verdict.RELEASE), (1, Verdict.SETTLING), (500, Verdict.SETTLING)]
)
def test_a_payee_captures_at_most_the_amount_and_capturing_nothing_releases(capture: int, verdict: Verdict):
    by_payee = token(capture_by="payee")
    assert settle(by_payee, PAYEE, capture=capture) == verdict
    with pytest.raises(CaptureAmountRefused):
        settle(by_payee, PAYEE, capture=AMOUNT + 1)


def test_the_caller_states_no_capture_amount():
    with pytest.raises(CaptureAmountRefused):
        settle(token(), capture=500)


@pytest.mark.parametrize(
    ("capture_by", "by", "success", "status", "refusal"),
    [
        ("caller", CALLER, True, "authorized", None),
        ("caller", PAYEE, True, "authorized", NotTheCaller),
        ("caller", STRANGER, False, "authorized", NotTheCaller),
        ("payee", PAYEE, True, "consumed", None),
        ("payee", STRANGER, True, "authorized", NotTheCaller),
        ("payee", CALLER, True, "authorized", CapturedByPayee),
        ("payee", CALLER, False, "authorized", None),
        ("payee", CALLER, False, "consumed", CapturedByPayee),
    ],
)
def test_the_settler_settles_and_the_caller_of_a_payees_token_gives_it_up_only_while_unused(
    capture_by: str, by: str, success: bool, status: str, refusal: type[Exception] | None
):
    present = token(capture_by=capture_by, status=status)
    if refusal is None:
        assert settle(present, by, success=success) in {Verdict.SETTLING, Verdict.RELEASE}
        return
    with pytest.raises(refusal):
        settle(present, by, success=success)


@pytest.mark.parametrize(
    ("changes", "by", "capture", "is_plain"),
    [
        ({}, CALLER, None, True),
        ({"status": "consumed"}, CALLER, None, True),
        ({"status": "settling"}, CALLER, None, False),
        ({"is_expired": True}, CALLER, None, False),
        ({}, PAYEE, None, False),
        ({}, CALLER, 500, False),
        ({"capture_by": "payee"}, PAYEE, 0, False),
        ({"capture_by": "payee"}, PAYEE, 1, True),
        ({"capture_by": "payee"}, PAYEE, 500, True),
        ({"capture_by": "payee"}, PAYEE, 501, False),
        ({"capture_by": "payee", "is_counted": True}, PAYEE, 499, False),
        ({"capture_by": "payee", "is_counted": True}, PAYEE, 500, True),
        ({"capture_by": "payee", "capability_id": UUID(int=2)}, PAYEE, 499, False),
    ],
)
def test_a_settlement_is_plain_when_it_pays_the_token_and_returns_no_budget(
    changes: dict[str, object], by: str, capture: int | None, is_plain: bool
):
    amount = None if capture is None else Minor(capture)
    assert rules.settles_plainly(token(**changes), by, amount) == is_plain


@pytest.mark.parametrize(
    ("changes", "by", "is_plain"),
    [
        ({}, CALLER, True),
        ({"capture_by": "payee"}, PAYEE, True),
        ({}, PAYEE, False),
        ({"status": "consumed"}, CALLER, False),
        ({"is_expired": True}, CALLER, False),
        ({"is_counted": True}, CALLER, False),
    ],
)
def test_a_release_is_plain_when_the_token_is_unused_and_returns_no_budget(
    changes: dict[str, object], by: str, is_plain: bool
):
    assert rules.releases_plainly(token(**changes), by) == is_plain


def test_caller_and_settler_release_an_authorized_token():
    by_payee = token(capture_by="payee")
    assert [rules.require_releasable(by_payee, by) for by in (CALLER, PAYEE)] == [by_payee, by_payee]
    for present, by, refusal in (
        (token(), PAYEE, NotTheCaller),
        (by_payee, STRANGER, NotTheCaller),
        (token(status="consumed"), CALLER, TokenStatus),
    ):
        with pytest.raises(refusal):
            rules.require_releasable(present, by)


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        ("settling", SettlementInProgress),
        ("expired", TokenExpired),
        ("settled", TokenStatus),
        ("failed", TokenStatus),
    ],
)
def test_a_token_in_another_status_is_refused_by_it(status: str, refusal: type[Exception]):
    assert type(rules.refusal_of(token(status=status))) is refusal


PART = VerifyOrder("apt_", PAYEE, rules.use_for_part(Minor(499)))


@pytest.mark.parametrize(
    ("present", "order", "is_expired", "error"),
    [
        (None, VerifyOrder("apt_"), True, "Token not found"),
        (token(status="released"), VerifyOrder("apt_", STRANGER), True, "Token expired"),
        (token(status="released"), VerifyOrder("apt_", STRANGER), False, "Token status: released"),
        (token(), VerifyOrder("apt_", STRANGER), False, "Token not issued for this agent"),
        (token(), VerifyOrder("apt_", PAYEE), False, None),
        (token(status="consumed"), VerifyOrder("apt_"), False, None),
        (
            token(status="consumed", use_id=PART.use_id),
            VerifyOrder("apt_", PAYEE),
            False,
            rules.USED_FOR_PART,
        ),
        (token(status="consumed", use_id=PART.use_id), PART, False, None),
        (
            token(status="consumed", use_id=rules.use_for_part(AMOUNT)),
            VerifyOrder("apt_", PAYEE),
            False,
            None,
        ),
    ],
)
def test_a_verification_names_the_first_error_in_the_order_of_the_specification(
    present: Token | None, order: VerifyOrder, is_expired: bool, error: str | None
):
    assert rules.verify_error(present, order, is_expired=is_expired) == error


def test_possession_captures_the_whole_amount_or_the_part_that_was_verified():
    part = token(use_id=rules.use_for_part(Minor(499)))
    assert [rules.may_be_captured_for(part, Minor(amount)) for amount in (498, 499, 500)] == [
        False,
        True,
        True,
    ]
    assert not rules.may_be_captured_for(token(), Minor(499))


TERMS = Terms(CALLER, PAYEE, AMOUNT, 9)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({}, None),
        ({"contract_id": 9}, None),
        ({"status": "consumed"}, None),
        ({"capture_by": "payee"}, None),
        ({"capture_by": "payee", "status": "consumed"}, CapturedByPayee),
        ({"contract_id": 8}, TokenMismatch),
        ({"caller": STRANGER}, TokenMismatch),
        ({"payee": STRANGER}, TokenMismatch),
        ({"amount": Minor(499)}, TokenMismatch),
        ({"amount": Minor(501)}, TokenMismatch),
        ({"is_expired": True}, TokenExpired),
        ({"status": "settling"}, SettlementInProgress),
        ({"status": "settled"}, TokenStatus),
    ],
)
def test_a_token_pays_exactly_the_terms_that_name_it(
    changes: dict[str, object], refusal: type[Exception] | None
):
    if refusal is None:
        rules.require_matching(token(**changes), TERMS)
        return
    with pytest.raises(refusal):
        rules.require_matching(token(**changes), TERMS)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ACCOUNT_SUSPENDED", "party_suspended"),
        ("RECEIVER_UNKNOWN", "payee_unknown"),
        ("INSUFFICIENT_BALANCE", "insufficient_balance"),
        ("A" * 64, "a" * 64),
        ("A" * 65, rules.REFUSED),
        ("", rules.REFUSED),
        ("<b>", rules.REFUSED),
    ],
)
def test_a_failed_settlement_has_the_reason_of_a_code_of_at_most_64_characters(code: str, reason: str):
    assert rules.reason_of(code) == reason


@pytest.mark.parametrize(
    ("task", "memo"), [(None, None), ("", None), ("x" * 256, "x" * 256), ("x" * 257, "x" * 256)]
)
def test_the_ledger_stores_256_characters_of_a_task(task: str | None, memo: str | None):
    assert rules.memo_of(task) == memo


@pytest.mark.parametrize(
    ("changes", "read", "value"),
    [
        ({}, lambda one: one.settler, CALLER),
        ({"capture_by": "payee"}, lambda one: one.settler, PAYEE),
        ({"is_bought": True}, lambda one: one.settled_by, "registry"),
        ({"capture_amount": Minor(1)}, lambda one: one.paid, 1),
        ({"tx_id": 3}, lambda one: one.settlement_tx_id, "tx-3"),
        ({"tx_id": 3, "crossed": True}, lambda one: one.settlement_tx_id, str(UUID(int=1))),
        ({"status": "released", "ended_at": NOW}, lambda one: one.settled_at, None),
        ({"status": "settled", "ended_at": NOW}, lambda one: one.settled_at, NOW),
    ],
)
def test_a_token_states_its_settler_and_its_settlement(
    changes: dict[str, object], read: Callable[[Token], object], value: object
):
    assert read(token(**changes)) == value
