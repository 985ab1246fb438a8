"""An operator that asks its frame. `CurrentOperator` in a route's signature is the policy, as in `caller`.

Known by a certificate of this registry's own authority, embedded or SPIRE, whose SPIFFE id is `spiffe://<trust domain>/operator/<name>`: 401
without a certificate, 403 with any other.
"""

from typing import Annotated, Any

import msgspec
from cryptography.x509 import Certificate
from fastapi import Depends, Request

from hansa.foundation.plumbing.keys.trust_bundle import LeafRefused, bundle_of
from hansa.foundation.plumbing.process.runtime import Runtime, runtime_of
from hansa.foundation.plumbing.settings import is_operator_name
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.web.client_certificate import presented_certificate
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.peer_caller import CERTIFICATE_SCHEME, CertificateMissing
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import Forbidden
from hansa.rooms.federation.identity import LOCAL_IDENTITY, FederationOff


class NotAnOperator(Forbidden):
    """The client certificate is not that of an operator of this trust domain."""

    code = "NOT_AN_OPERATOR"
    sentence = "This client certificate is not that of an operator of this trust domain."
    remedy = "Show the certificate whose SPIFFE id is spiffe://<trust domain of the frame>/operator/<name>."


class Operator(msgspec.Struct, frozen=True):
    """The operator that asks, by its name in this trust domain."""

    name: str
    spiffe_id: str


@refuses_with(CertificateMissing, NotAnOperator)
@evaluated_once
async def operator_caller(request: Request, _: Annotated[Any, Depends(CERTIFICATE_SCHEME)]) -> Operator:
    """The operator asking, by its certificate. Raises: CertificateMissing, NotAnOperator."""
    certificate = presented_certificate(request)
    if certificate is None:
        raise CertificateMissing
    return await _recognised(runtime_of(request), certificate)


async def _recognised(runtime: Runtime, certificate: Certificate) -> Operator:
    now = await runtime.database.query(clock.now)
    trust_domain = runtime.settings.trust_domain
    try:
        roots = bundle_of(trust_domain, await LOCAL_IDENTITY.of(runtime).roots_pem(), 0)
        spiffe_id = roots.recognise(certificate, now=now)
    except (FederationOff, LeafRefused):
        raise NotAnOperator from None
    prefix = f"spiffe://{trust_domain}/operator/"
    name = spiffe_id.removeprefix(prefix)
    if not spiffe_id.startswith(prefix) or not is_operator_name(name):
        raise NotAnOperator
    return Operator(name, spiffe_id)


CurrentOperator = Annotated[Operator, Depends(operator_caller)]
