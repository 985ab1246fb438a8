"""When a delivery is tried again and when a webhook stops, without a database."""

import base64

import pytest

from hansa.rooms.notifications.webhooks.rules import (
    ATTEMPTS_MAX,
    PAUSES_SECONDS,
    Outcome,
    WebhookEvent,
    pause_after,
    stopped_by,
    webhook_pause_after,
)
from hansa.rooms.notifications.webhooks.subscribing import new_secret, signed_headers


def test_eight_tries_take_about_a_day():
    assert len(PAUSES_SECONDS) == ATTEMPTS_MAX - 1
    assert 23 * 3600 <= sum(PAUSES_SECONDS) <= 25 * 3600
    assert pause_after(WebhookEvent.AGENT_REVOKED, ATTEMPTS_MAX, 0) is None


def test_a_pause_varies_by_a_tenth():
    assert pause_after(WebhookEvent.AGENT_REVOKED, 2, 1) == pytest.approx(330)
    assert pause_after(WebhookEvent.AGENT_REVOKED, 2, -1) == pytest.approx(270)


def test_a_test_has_one_try():
    assert pause_after(WebhookEvent.TEST, 1, 0) is None


def test_a_failing_receiver_is_left_alone_for_a_quarter_of_an_hour_at_most():
    assert [webhook_pause_after(failures) for failures in (1, 2, 3, 20)] == [5, 300, 900, 900]


def test_twenty_failures_stop_a_webhook_and_410_does_at_once():
    assert stopped_by(Outcome(500), 19) is None
    assert stopped_by(Outcome(None, "timeout"), 20) == "failures"
    assert stopped_by(Outcome(410), 1) == "gone"


def test_a_signature_is_that_of_the_published_example():
    """The message, secret and signature that the Standard Webhooks libraries test themselves by."""
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_secrets_are_of_256_bits_and_never_the_same():
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in secrets} == {32}
