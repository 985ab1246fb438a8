"""A frame, and an operator registry, as the other one meets them: documents, requests and certificates without a second process.

`OtherFrame` issues the certificates that an operator under test requests. `OtherOperator` accepts invitations of a frame under test.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_of
from hansa.foundation.plumbing.outgoing import Answer
from hansa.rooms.federation.identity import certify, identities_of, read_requests
from hansa.rooms.federation.identity.requests import new_request
from hansa_verify import decoded, read_json
from tests.other_registry import OtherRegistry
from tests.registry import TestRegistry

REDEEM_AT = "/api/v1/federation/invitations/redeem"
RENEWALS_AT = "/api/v1/federation/identity/renewals"


class OtherFrame(OtherRegistry):
    """The frame of a trust domain, which issues certificates to its operators."""

    def __init__(self, trust_domain: str, name: str = "mainframe") -> None:
        with TemporaryDirectory() as directory:
            self.authority = IdentityAuthority(Keyring(Path(directory)), trust_domain)
        super().__init__(trust_domain, name)
        self.public_url = "https://frame.example.com"
        self.federation_base_url = "https://frame.example.com:8443"
        self.requested: list[list[str]] = []
        """The requests of each call, as they came."""
        self.clock = timedelta(0)

    def new_bundle(self, sequence: int) -> TrustBundle:
        return bundle_of(self.trust_domain, self.authority.bundle_pem, sequence)

    def invitation(self, operator: str) -> str:
        """Return the output of `hansa peer invite --operator NAME` there."""
        return self.signed("invitation", operator=operator)

    def answer_to_body(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        self.asked.append((path, headers))
        if path in self.answers:
            status, text = self.answers[path]
            return Answer(status, {}, text.encode())
        sent = json.loads(body)
        if path == REDEEM_AT:
            accepted = read_json(decoded(sent["acceptance"].split(".")[1]))
            name = accepted["iss"]["registry_name"]
            named = {"name": name, "trust_domain": self.trust_domain, "status": "inactive"}
            issued = self.issued(accepted["csrs"], name)
            return Answer(201, {}, json.dumps({**named, "svids": issued}).encode())
        assert path == RENEWALS_AT, path
        issued = self.issued(sent["csrs"], "north")
        return Answer(200, {}, json.dumps({"svids": issued}).encode())

    def issued(self, csrs: list[str], name: str) -> list[dict[str, Any]]:
        """The certificates for these requests, begun `clock` ago."""
        self.requested.append(csrs)
        requests = read_requests(csrs, self.trust_domain, name)
        leaves = certify(self.authority, requests, datetime.now(UTC) - self.clock)
        return [
            {
                "spiffe_id": one.spiffe_id,
                "certificate": one.certificate,
                "expires_at": one.expires_at.isoformat(),
            }
            for one in leaves
        ]


class OtherOperator(OtherRegistry):
    """An operator registry of the frame under test, before it has certificates."""

    def __init__(self, frame: TestRegistry, name: str = "north") -> None:
        assert frame.runtime.authority is not None
        self._roots = frame.runtime.authority.bundle_pem
        super().__init__(frame.settings.trust_domain, name)
        self.public_url = f"https://{name}.example.com"
        self.federation_base_url = f"https://{name}.example.com:8443"
        self.settings = {"registry_tier": "cloud-operator"}

    def new_bundle(self, sequence: int) -> TrustBundle:
        return bundle_of(self.trust_domain, self._roots, sequence)

    def csrs(self, name: str | None = None) -> list[str]:
        """A request for each of its identities, or for those of another operator."""
        identities = identities_of(self.trust_domain, name or self.name)
        return [new_request(one, new_key()) for one in identities.values()]

    def acceptance(self, jti: str, csrs: Sequence[str] | None = None) -> str:
        """Its acceptance of an invitation with this id."""
        return self.signed("acceptance", jti, csrs=self.csrs() if csrs is None else csrs)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())
