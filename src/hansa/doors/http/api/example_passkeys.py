"""Values of examples about phones: options for a passkey, and the answers of a browser."""

from typing import Any

PASSKEY_ID = "x0bYW1wbGUtcGFzc2tleS1vZi1hLXBob25l"
CHALLENGE = "c3Vua2VuLXRyZWFzdXJlLW9mLXRoZS1oYW5zYS0zMmI"
CLIENT_DATA = "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0"

PASSKEYS: dict[str, Any] = {
    "CreationOptionsOut.publicKey": {
        "rp": {"id": "registry.example.com", "name": "Example Registry"},
        "user": {
            "id": "aGFuc2EtdXNlci1oYW5kbGUtb2YtMzItYnl0ZXMtLS0",
            "name": "ada@example.com",
            "displayName": "ada@example.com",
        },
        "challenge": CHALLENGE,
        "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
        "timeout": 300000,
        "authenticatorSelection": {"residentKey": "preferred", "userVerification": "required"},
        "attestation": "none",
    },
    "PhoneIn.name": "My phone",
    "PhoneOut.name": "My phone",
    "PhoneIn.credential": {
        "id": PASSKEY_ID,
        "rawId": PASSKEY_ID,
        "type": "public-key",
        "response": {
            "clientDataJSON": CLIENT_DATA,
            "attestationObject": "o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YQ",
        },
    },
    "PhoneApprovalIn.assertion": {
        "id": PASSKEY_ID,
        "rawId": PASSKEY_ID,
        "type": "public-key",
        "response": {
            "clientDataJSON": CLIENT_DATA,
            "authenticatorData": "SZYN5YgOjGh0NBcP",
            "signature": "MEUCIQDTGVxh",
        },
    },
    "PhoneApprovalIn.number": "47",
    "PhoneSessionOut.challenge": CHALLENGE,
    "PhoneSessionOut.address": "192.0.2.7",
    "PhoneSessionOut.user_agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
}
