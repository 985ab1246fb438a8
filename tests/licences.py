"""Certificates of a federation that no registry of the test run issued: a genesis and the licences it signs."""

import json
import time
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import encoded, key_thumbprint, licence_hash, read_certificate


class TestIssuer:
    """A holder of a licence-signing key; `certificate` is its own, or None for a frame without a network."""

    __test__ = False

    def __init__(self, trust_domain: str, certificate: str | None = None, seed: bytes | None = None) -> None:
        self.trust_domain = trust_domain
        self.private = Ed25519PrivateKey.from_private_bytes(seed) if seed else Ed25519PrivateKey.generate()
        self.certificate = certificate
        self.kid = key_thumbprint(self.private.public_key().public_bytes_raw())

    @property
    def jwk(self) -> dict[str, str]:
        """The public half of the key."""
        x = encoded(self.private.public_key().public_bytes_raw())
        return {"kty": "OKP", "crv": "Ed25519", "x": x}

    def payload(self, kind: str, trust_domain: str, **changes: Any) -> dict[str, Any]:
        """The members of a certificate by this issuer."""
        licence = None if self.certificate is None or kind == "genesis" else licence_hash(self.certificate)
        return {
            "kind": "fed.licence.v1",
            "lid": str(uuid4()),
            "type": kind,
            "sub": {"trust_domain": trust_domain, "name": trust_domain.partition(".")[0]},
            "iss": {
                "trust_domain": self.trust_domain,
                "name": self.trust_domain,
                "kid": self.kid,
                "licence": licence,
            },
            "network": self.trust_domain,
            "plan": {"genesis": "genesis", "frame": "founding", "operator": "operator-free"}[kind],
            "terms": "1.0",
            "iat": int(time.time()),
            "exp": None,
        } | changes

    def sign(self, payload: Any, typ: str = "licence+jws", **header: Any) -> str:
        """A compact JWS over the payload; `header` replaces members of the protected header."""
        protected = {"alg": "EdDSA", "kid": self.kid, "typ": typ} | header
        parts = (json.dumps(part, sort_keys=True, separators=(",", ":")) for part in (protected, payload))
        return self.sign_texts(*parts)

    def sign_texts(self, header: str, payload: str) -> str:
        """A compact JWS over a header and a payload as they are written."""
        signed = f"{encoded(header.encode())}.{encoded(payload.encode())}"
        return f"{signed}.{encoded(self.private.sign(signed.encode()))}"

    def issued_list(self, *certificates: str, generated_at: int | None = None, **states: str) -> str:
        """The list in which this issuer states these certificates, by default as active; `states` by hash with `h` before."""
        entries = [self._entry(text, states.get(f"h{licence_hash(text)}", "active")) for text in certificates]
        return self.sign(
            {
                "kind": "fed.licence-list.v1",
                "issuer": {"trust_domain": self.trust_domain, "name": self.trust_domain, "kid": self.kid},
                "generated_at": int(time.time()) if generated_at is None else generated_at,
                "licences": entries,
            },
            "licence-list+jws",
        )

    def _entry(self, text: str, state: str) -> dict[str, Any]:
        payload = read_certificate(text).payload
        return {
            "hash": licence_hash(text),
            "lid": payload["lid"],
            "type": payload["type"],
            "sub_trust_domain": payload["sub"]["trust_domain"],
            "sub_name": payload["sub"]["name"],
            "plan": payload["plan"],
            "iat": payload["iat"],
            "exp": payload["exp"],
            "state": state,
            "updated_at": payload["iat"],
        }


class TestGenesis(TestIssuer):
    """An issuer with a genesis certificate of its own."""

    def __init__(self, trust_domain: str, seed: bytes | None = None) -> None:
        super().__init__(trust_domain, seed=seed)
        self.certificate: str = self.sign(self.payload("genesis", trust_domain, key=self.jwk))

    def frame(self, trust_domain: str, key: dict[str, str], **changes: Any) -> str:
        """A frame certificate by this genesis."""
        return self.sign(self.payload("frame", trust_domain, key=key, **changes))
