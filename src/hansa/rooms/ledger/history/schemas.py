"""How a moment of the past is named."""

from typing import Annotated

from fastapi import Query

AsOf = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=40,
        description="An ISO 8601 time with its offset, or a sequence number of the journal: the balance at that point.",
        examples=["2026-01-31T12:00:00Z", "4711"],
    ),
]
