"""Certificates that a frame issues to its operators: for the requests that they sent, for seven days.

No host name is certified: an operator that stated that of another registry would be taken for it by clients that know
nothing of SPIFFE.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from hansa.foundation.plumbing.keys.authority import IdentityAuthority

from .requests import CertificateRequest

OPERATOR_LIFETIME = timedelta(days=7)


class IssuedLeaf(msgspec.Struct, frozen=True):
    """A certificate for an operator, in PEM."""

    spiffe_id: str
    certificate: str
    expires_at: datetime


def certify(
    authority: IdentityAuthority, requests: Sequence[CertificateRequest], now: datetime
) -> list[IssuedLeaf]:
    """A certificate for each request; the requests were read for this operator."""
    return [
        IssuedLeaf(
            one.spiffe_id,
            *authority.certify(one.spiffe_id, one.public_key, now=now, lifetime=OPERATOR_LIFETIME),
        )
        for one in requests
    ]
