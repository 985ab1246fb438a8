"""Things that a ticket may name: those in which the account has a part."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, commerce, ledger, organizations

from .errors import RelatedUnknown
from .records import Related

TRANSACTION = "tx-"
_NUMBER_DIGITS_MAX = 18


async def own(tx: Tx, developer_id: int, related: Related) -> Related:
    """The thing as it is stored, in which the developer has a part by an agent or as a member. Raises: RelatedUnknown."""
    if related.type == "organization":
        return Related(related.type, await _organization(tx, developer_id, related.id))
    identifier, parties = await _parties(tx, related)
    if not parties or not await agents.readable_among(tx, developer_id, parties):
        raise RelatedUnknown
    return Related(related.type, identifier)


async def _organization(tx: Tx, developer_id: int, key: str) -> str:
    try:
        shown = await organizations.profile_of(tx, key, developer_id)
    except organizations.OrganizationUnknown:
        raise RelatedUnknown from None
    if shown.organization.role is None:
        raise RelatedUnknown
    return str(shown.organization.id)


async def _parties(tx: Tx, related: Related) -> tuple[str, tuple[str, ...]]:
    """The id as it is stored, and the agents that have a part in it. Raises: RelatedUnknown."""
    if related.type == "token":
        token_id = _uuid(related.id)
        token = await commerce.token_of_id(tx, token_id)
        return str(token_id), () if token is None else (token.caller, token.payee)
    if related.type == "transaction":
        tx_id = _number(related.id.removeprefix(TRANSACTION))
        paid = await ledger.find_payment(tx, tx_id) or await ledger.find_payment_abroad(tx, tx_id)
        return f"{TRANSACTION}{tx_id}", () if paid is None else (paid.payer, paid.payee)
    number = _number(related.id)
    if related.type == "contract":
        return str(number), await commerce.parties_of(tx, number)
    return str(number), await commerce.parties_of_dispute(tx, number)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _NUMBER_DIGITS_MAX):
        raise RelatedUnknown
    return int(text)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise RelatedUnknown from None
