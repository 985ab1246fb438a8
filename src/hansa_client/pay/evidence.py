"""A delivery receipt as evidence in a dispute."""

import hashlib

from hansa_client.receipts import KIND, DeliveryReceipt
from hansa_client.records.record import Record


class Evidence(Record, frozen=True):
    """Receipt whose signature was verified, with its members. `sha256` is the digest of the receipt's text."""

    kind: str
    payee: str
    token_id: str
    request_digest: str
    answer_digest: str
    at: str
    receipt: str
    sha256: str


def evidence_of(payee: str, text: str, receipt: DeliveryReceipt) -> Evidence:
    """The evidence of a verified receipt."""
    stated = receipt.payload()
    return Evidence(
        kind=KIND,
        payee=payee,
        token_id=receipt.token_id,
        request_digest=receipt.request_digest,
        answer_digest=receipt.answer_digest,
        at=stated["at"],
        receipt=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )
