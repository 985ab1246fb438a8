"""Webhooks are verified as the Standard Webhooks specification says."""

import pytest

from hansa.rooms.notifications.webhooks.subscribing import new_secret, signed_headers
from hansa_client.webhooks import WebhookRefused, WebhookVerifier

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
SENT_AT = 1614265330
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(SENT_AT),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def test_the_published_vector_of_the_specification_is_accepted():
    message = WebhookVerifier(SECRET).verify(HEADERS, BODY, now=SENT_AT + 60)
    assert (message.id, message.sent_at, message.body) == (
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        SENT_AT,
        {"test": 2432232314},
    )


def test_a_delivery_of_the_registry_is_accepted_during_a_rotation_of_its_secret():
    old, new = new_secret(), new_secret()
    headers = signed_headers("evt_1", SENT_AT, BODY, [new, old])
    for verifier in (WebhookVerifier(old), WebhookVerifier(new), WebhookVerifier(new, old)):
        assert verifier.verify({name.title(): value for name, value in headers.items()}, BODY, now=SENT_AT).id
    with pytest.raises(WebhookRefused):
        WebhookVerifier(new_secret()).verify(headers, BODY, now=SENT_AT)


@pytest.mark.parametrize(
    ("headers", "body", "now"),
    [
        ({}, BODY, SENT_AT),
        ({**HEADERS, "webhook-id": "msg_another"}, BODY, SENT_AT),
        ({**HEADERS, "webhook-timestamp": "1614265331"}, BODY, SENT_AT),
        ({**HEADERS, "webhook-timestamp": "now"}, BODY, SENT_AT),
        ({**HEADERS, "webhook-signature": ""}, BODY, SENT_AT),
        ({**HEADERS, "webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v2,")}, BODY, SENT_AT),
        ({**HEADERS, "webhook-signature": "v1,é"}, BODY, SENT_AT),
        (HEADERS, BODY + b" ", SENT_AT),
        (HEADERS, BODY, SENT_AT + 301),
        (HEADERS, BODY, SENT_AT - 301),
    ],
)
def test_a_message_that_is_changed_old_or_incomplete_is_refused(headers: dict, body: bytes, now: int):
    with pytest.raises(WebhookRefused):
        WebhookVerifier(SECRET).verify(headers, body, now=now)


def test_a_signed_body_that_is_no_object_is_refused():
    secret = new_secret()
    with pytest.raises(WebhookRefused, match="not a JSON object"):
        WebhookVerifier(secret).verify(
            signed_headers("evt_1", SENT_AT, b"[1]", [secret]), b"[1]", now=SENT_AT
        )


@pytest.mark.parametrize("secrets", [(), ("whsec_not base64!",)])
def test_a_verifier_needs_a_secret(secrets: tuple[str, ...]):
    with pytest.raises(ValueError, match="webhook"):
        WebhookVerifier(*secrets)
