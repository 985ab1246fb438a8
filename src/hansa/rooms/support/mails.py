"""Mail to the author of a ticket: its number and a link. Texts stand on the page alone, behind the login."""

from collections.abc import Callable
from datetime import timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import people

from .records import Ticket

PAGE = "/account/support"


async def notify_author(tx: Tx, seal: Seal, ticket: Ticket, base_url: str) -> None:
    """Send the link to the page of the ticket; a report has nobody to send it to."""
    if ticket.author_id is not None:
        await people.notify(tx, seal, ticket.author_id, _news(ticket.name, f"{base_url}{PAGE}/{ticket.id}"))


def _news(number: str, link: str) -> Callable[..., OutgoingMail]:
    def notice(*, to: str, name: str) -> OutgoingMail:
        del name
        return OutgoingMail(to, f"Ticket {number}", f"{number}: {link}\n", timedelta(days=people.NOTICE_DAYS))

    return notice
