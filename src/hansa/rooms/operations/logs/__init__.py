"""Logs of agents: entries that agents and the registry write, for those who may read the agent."""

from .background import LOG_DAYS, LOG_SIZES, REGISTRY_ENTRIES
from .noting import NOTES, WRITE_NOTES, Note, write_notes, writing_notes
from .observing import (
    note_refused_credential,
    note_refused_payment_token,
    note_stopped_webhook,
    note_visit,
)
from .reading import read
from .records import Entry, EntryFilter, Level, Source
from .routes import router
from .rules import new_entry
from .writing import write_of_registry

__all__ = [
    "LOG_DAYS",
    "LOG_SIZES",
    "NOTES",
    "REGISTRY_ENTRIES",
    "WRITE_NOTES",
    "Entry",
    "EntryFilter",
    "Level",
    "Note",
    "Source",
    "new_entry",
    "note_refused_credential",
    "note_refused_payment_token",
    "note_stopped_webhook",
    "note_visit",
    "read",
    "router",
    "write_notes",
    "write_of_registry",
    "writing_notes",
]
