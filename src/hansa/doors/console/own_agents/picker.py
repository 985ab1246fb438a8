"""Fields that name an agent: they take its handle for its DID, and suggest own agents and those of the latest payments.

`static/picker.js` adds what the catalogue finds for the text in the field.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Acting, SentForm, SignedIn
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import agents, catalogue, ledger

from .pages import agent_page

OWN_SUGGESTED, LINES_READ, HANDLES_READ = 20, 50, 100
Suggestions = Sequence[tuple[str, str]]


async def with_dids(db: Database, sender: Acting, *names: str) -> Acting:
    """The form with DIDs in place of the handles of agents in these fields, one or several on lines; other texts stay, for the API to refuse."""
    texts = {text for name in names for text in sender.form.value(name).split()[:HANDLES_READ]}
    handles = {text for text in texts if "/" in text and not text.startswith("did:")}

    async def read(tx: Tx) -> dict[str, str]:
        found = {}
        for handle in sorted(handles):
            try:
                card = await catalogue.card_called(tx, handle)
            except catalogue.CardUnknown:
                continue
            if card.did is not None:
                found[handle] = card.did
        return found

    dids = await db.read(read) if handles else {}

    def resolved(value: str) -> str:
        return "\n".join(dids.get(text, text) for text in value.split()) if dids else value

    fields = [(name, resolved(value) if name in names else value) for name, value in sender.form.fields]
    return replace(sender, form=SentForm(fields, sender.form.errors, sender.form.message))


async def suggestions(tx: Tx, person: SignedIn, did: str) -> Suggestions:
    """DIDs with names: the other own agents, then those that this agent paid or was paid by last."""
    own, met = await read_together(
        tx,
        lambda tx: agents.active_dids_of(tx, person.developer.id, OWN_SUGGESTED),
        lambda tx: ledger.latest_counterparties(tx, did, LINES_READ),
    )
    dids = [one for one in dict.fromkeys((*own, *met)) if one != did]
    names = await catalogue.names_by_did(tx, dids)
    return [(one, names[one]) for one in dids if one in names]


async def form_with_suggestions(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    template: str,
    settings: Settings,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """A page of the agent with a form that names another agent and an amount."""
    return agent_page(
        request,
        template,
        person,
        agent,
        form,
        status=status,
        currency=settings.settlement_currency,
        suggested=await db.read(lambda tx: suggestions(tx, person, agent.did)),
        **more,
    )
