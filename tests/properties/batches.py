"""A batch of transfers as its callers hear of it."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer
from hansa.foundation.values.errors import Refused
from hansa.rooms import ledger
from hansa.rooms.ledger.batch import Ticket, answer_of, post_batch


async def outcomes_of_batch(tx: Tx, tickets: Sequence[Ticket], book: ledger.Book) -> list[Answer | Refused]:
    """Return the result of each caller, or the cause of its refusal."""
    rows = await post_batch(tx, tickets, book)
    outcomes: list[Answer | Refused] = []
    for ticket, row in zip(tickets, rows, strict=True):
        try:
            outcomes.append(answer_of(ticket, row))
        except Refused as refusal:
            outcomes.append(refusal)
    return outcomes
