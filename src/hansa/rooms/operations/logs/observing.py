"""Facts that other rooms report for the log of an agent, and their sentences."""

import time

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Refused
from hansa.rooms import catalogue
from hansa.rooms.operations.metrics import NOTED

from .noting import NOTES, Note

VISIT_SENTENCES = {
    "pull": "The card could not be read at the agent's host.",
    "liveness": "The agent did not answer a health check.",
}


def note_refused_credential(runtime: Runtime, subject: str, refusal: Refused) -> None:
    """A login or a token of an agent, named by its client id or its DID, was refused."""
    note = Note("WARN", "A login or a token of the agent was refused.", refusal.detail)
    NOTES.of(runtime).note(subject, note, {"code": refusal.code})


def note_refused_payment_token(runtime: Runtime, did: str, reason: str, token_id: str | None) -> None:
    """A payment token that was presented by the agent, or for it, was refused."""
    note = Note("WARN", "A payment token was refused.", reason)
    NOTES.of(runtime).note(did, note, {} if token_id is None else {"token_id": token_id})


def note_stopped_webhook(runtime: Runtime, did: str, webhook_id: str, reason: str) -> None:
    """A webhook of the owner was stopped: the owner does not receive the events of the agent there."""
    NOTES.of(runtime).note(
        did, Note("ERROR", "A webhook of the owner was stopped.", reason), {"webhook_id": webhook_id}
    )


def note_visit(runtime: Runtime, visit: catalogue.MadeVisit) -> None:
    """A visit to the agent's host ended: a failed one is an entry, a health check also a figure."""
    if visit.errand == "liveness":
        NOTED.of(runtime).note_check(visit.did, time.time(), is_alive=visit.succeeded)
    if not visit.succeeded:
        note = Note("ERROR", VISIT_SENTENCES[visit.errand], visit.sentence or visit.outcome)
        NOTES.of(runtime).note(visit.did, note)
