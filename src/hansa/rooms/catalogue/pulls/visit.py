"""A visit to the host of an agent, as the job that makes it sees it."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.jobs import Job

from .records import Addresses, Errand, Remembered


class Visit(msgspec.Struct, frozen=True):
    """A visit to be made now, under the lease of its job."""

    card_id: int
    uuid: UUID
    trust_domain: str
    did: str | None
    errand: Errand
    job: Job
    failures: int
    status: str
    is_active: bool
    addresses: Addresses
    needs_credentials: bool
    mcp_name: str | None
    """Name of the MCP server that was imported into the card."""
    remembered: Remembered
