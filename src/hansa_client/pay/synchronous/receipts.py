# Generated from hansa_client/pay/asynchronous/receipts.py by `python -m tests.house.synchronous`.
"""Delivery receipts that a payer's journal holds, and their export as evidence."""

from urllib.parse import quote

from hansa_client import Registry
from hansa_client.calls import Call, read_answer
from hansa_client.pay.evidence import Evidence, evidence_of
from hansa_client.pay.journal import Journal
from hansa_client.pay.primitives import result
from hansa_client.receipts import HeldKey, ReceiptInvalid, verify_receipt
from hansa_client.records.record import Page


class DeliveryReceipts:
    """The receipts of a journal, verified with the keys that the registry states for the payees."""

    def __init__(self, registry: Registry, journal: Journal) -> None:
        self._registry = registry
        self._journal = journal

    def evidence(self, payment_or_token_id: str) -> Evidence:
        """The receipt of a payment or a token. Raises: KeyError where there is none, ReceiptInvalid, HansaError."""
        entry = result(self._journal.entry(payment_or_token_id))
        text = result(self._journal.receipt(entry.payment_id)) if entry else None
        if entry is None or text is None:
            raise KeyError(payment_or_token_id)
        receipt = verify_receipt(text, self._keys(entry.payee))
        if receipt.token_id != entry.token_id:
            raise ReceiptInvalid("The delivery receipt is about another token.")
        return evidence_of(entry.payee, text, receipt)

    def _keys(self, payee: str) -> list[HeldKey]:
        call = Call("GET", f"/api/v1/agents/{quote(payee, safe=':')}/keys")
        return read_answer((self._registry.fetch(call)).content, Page[HeldKey], call).items
