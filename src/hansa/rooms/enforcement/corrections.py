"""Corrections of balances: an administrator of the treasury moves units of an agent of others, and those who may read it are notified."""

from datetime import timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, ledger, people

NOTICE_KEPT = timedelta(days=7)
"""Time for which the mail about a correction is tried."""


async def correct_balance(
    tx: Tx, runtime: Runtime, administrator: Developer, correction: ledger.Correction
) -> ledger.Corrected:
    """Correct the liquid balance of an agent, once for each reference; its owner, or the members of its organization, get a mail.

    Raises: AgentOfCaller, AgentRevoked, AreasWithheld, and the errors of `ledger.correct`.
    """
    did, book = correction.account, ledger.Book.of(runtime.settings)
    await agents.require_of_others(tx, administrator, [did])
    corrected = await ledger.correct(tx, correction, book)
    # Read under the lock of the account, which the end of an agent takes as well.
    if correction.direction == "credit" and (await agents.statuses_of(tx, [did])).get(did) == "revoked":
        raise agents.AgentRevoked("This agent is revoked: nobody could use the units.")
    await record_admin_act(tx, administrator, act="balance.correct", subject=did, reason=correction.ref)
    readers = (await agents.readers_of(tx, [did])).get(did, set())
    addresses = await people.addresses_of(tx, sorted(readers))
    for address in sorted(addresses.values()):
        await enqueue_mail(tx, runtime.seal, _mail(address, correction, corrected, book, runtime))
    return corrected


def _mail(
    to: str,
    correction: ledger.Correction,
    corrected: ledger.Corrected,
    book: ledger.Book,
    runtime: Runtime,
) -> OutgoingMail:
    moved = "added to" if correction.direction == "credit" else "taken from"
    text = f"""Hello,

an administrator of the registry at {runtime.settings.base_url} corrected the balance of the agent

{correction.account}

{format_amount(correction.amount)} {book.currency} were {moved} it; it now holds {format_amount(corrected.liquid)} {book.currency}.
Transaction: tx-{corrected.tx_id}
Reference: {correction.ref}

If you do not know why, ask the administrators of the registry.
"""
    return OutgoingMail(to, "A balance of your agent was corrected", text, NOTICE_KEPT)
