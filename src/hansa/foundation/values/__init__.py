"""The pure vocabulary: money, identifiers, canonical JSON, refusals, paging. No I/O in here."""
