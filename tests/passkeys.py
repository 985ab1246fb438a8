"""Authenticator in software: makes passkeys and answers challenges as a browser hands them to a page."""

import base64
import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
NO_AAGUID = bytes(16)


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """Phone with one passkey for the pages of `origin`; its counter grows with each answer unless `counts` is false."""

    origin: str
    host: str
    counts: bool = True
    sign_count: int = 0
    flags: int = PRESENT | VERIFIED
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer of `navigator.credentials.create`."""
        public = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: public.x.to_bytes(32, "big"), -3: public.y.to_bytes(32, "big")}
        attested = (
            NO_AAGUID + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cbor2.dumps(cose)
        )
        statement = {"fmt": "none", "attStmt": {}, "authData": self._data(ATTESTED) + attested}
        return self._answer(
            clientDataJSON=self._client("webauthn.create", options["challenge"]),
            attestationObject=cbor2.dumps(statement),
        )

    def get(self, challenge: str) -> dict[str, Any]:
        """The answer of `navigator.credentials.get`."""
        self.sign_count += self.counts
        client, data = self._client("webauthn.get", challenge), self._data()
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _data(self, more: int = 0) -> bytes:
        return (
            sha256(self.host.encode()).digest()
            + bytes([self.flags | more])
            + self.sign_count.to_bytes(4, "big")
        )

    def _client(self, kind: str, challenge: str) -> bytes:
        client_data = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(client_data).encode()

    def _answer(self, **response: bytes) -> dict[str, Any]:
        return {
            "id": encoded(self.credential_id),
            "rawId": encoded(self.credential_id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {name: encoded(value) for name, value in response.items()},
        }
