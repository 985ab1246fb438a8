"""A registry's admission, as it is kept."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

Status = Literal["active", "suspended", "revoked", "expired"]


class Licence(msgspec.Struct, frozen=True):
    """An admission. `expired`: active, but its validity has ended."""

    id: UUID
    trust_domain: str
    note: str | None
    status: Status
    issued_by: int
    issued_at: datetime
    expires_at: datetime | None
    changed_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True)
class IssuedLicence:
    """A new admission; the key is shown this once."""

    key: str = field(repr=False)
    licence: Licence


class FoundLicence(msgspec.Struct, frozen=True):
    """Record of a key that a client presents, and whether its use has yet to be noted."""

    id: UUID
    status: Status
    is_use_due: bool
