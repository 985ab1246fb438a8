"""Shapes of certificates that a frame issues to its operators."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from .certifying import IssuedLeaf
from .requests import KINDS, REQUEST_MAX_CHARACTERS

Csr = Annotated[str, Field(min_length=1, max_length=REQUEST_MAX_CHARACTERS, description="PKCS #10 in PEM.")]


class OperatorRenewalIn(RequestBody):
    """Requests for new certificates of an operator."""

    csrs: Annotated[
        list[Csr],
        Field(
            min_length=len(KINDS),
            max_length=len(KINDS),
            description="One for `/registry/<name>`, one for `/operator/<name>`.",
        ),
    ]


class OperatorSvidOut(LazyModel):
    """A certificate of an operator. Its private key never left the operator."""

    spiffe_id: str
    certificate: str = Field(description="X.509 in PEM.")
    expires_at: datetime

    @classmethod
    def of(cls, leaf: IssuedLeaf) -> "OperatorSvidOut":
        return cls(spiffe_id=leaf.spiffe_id, certificate=leaf.certificate, expires_at=leaf.expires_at)


class OperatorRenewalOut(LazyModel):
    """The new certificates of an operator."""

    svids: list[OperatorSvidOut]
