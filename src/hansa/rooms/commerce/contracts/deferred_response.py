"""The answer to an approval whose payment crosses to another registry: given once that is decided, or after ten seconds."""

import asyncio
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import transfers

from . import payment_store, rules, store
from .reading import ContractShown, shown
from .schemas import ContractOut

WAIT_SECONDS = 10.0
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.25


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    contract_id: int
    crossing: UUID


class Begun(msgspec.Struct, frozen=True):
    """Payment that was begun, remembered under an Idempotency-Key: the contract itself has the answer."""

    contract_id: int
    transfer_id: UUID

    def as_text(self) -> str:
        """The form that is remembered."""
        return msgspec.json.encode(_Kept(self.contract_id, self.transfer_id)).decode()

    @classmethod
    def of_text(cls, text: str) -> "Begun | None":
        """Read the remembered payment; None where the text is an answer."""
        try:
            stored = msgspec.json.decode(text, type=_Kept)
        except msgspec.ValidationError:
            return None
        return cls(stored.contract_id, stored.crossing)


async def answer_when_decided(runtime: Runtime, begun: Begun) -> str:
    """Ask the payee's registry; the contract as it is after the decision, or as it is when the caller waits no longer.

    Raises: why the payment was aborted, as a transfer is refused; not where another one has paid the part.
    """
    database, pause = runtime.database, FIRST_LOOK_SECONDS
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await transfers.ask_to_prepare(runtime, begun.transfer_id)
            while await database.query(lambda tx: payment_store.is_payment_pending(tx, begun.transfer_id)):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_LOOK_SECONDS)
    except TimeoutError:
        pass
    payment = await database.query(lambda tx: transfers.find_payment(tx, begun.transfer_id))
    found = await database.query(lambda tx: store.find(tx, begun.contract_id))
    assert found is not None, "contracts are not deleted"
    if payment is not None and payment.code is not None:
        parts = await database.query(lambda tx: payment_store.paid_by_transfers(tx, [begun.transfer_id]))
        if not rules.is_approved(found, parts[begun.transfer_id].milestone):
            raise transfers.refusal_of(payment.code, str(begun.transfer_id))
    return contract_json(await database.query(lambda tx: shown(tx, found)), runtime.settings)


def contract_json(contract: ContractShown, settings: Settings) -> str:
    """The contract as it is answered."""
    return ContractOut.of(contract, settings.ledger_id).model_dump_json()
