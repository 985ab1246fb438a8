"""Connected clients (OAuth): the scopes that a person may grant them, and the bounds of their payments."""

from collections.abc import Iterable

import msgspec

from hansa.foundation.values.money import Minor

READING_SCOPES = ("mcp:read", "wallet:read")
"""The only ones that are ticked beforehand."""

ACTING_SCOPES = ("wallet:pay", "contracts:act", "disputes:act", "pipelines:run", "support:write")
"""They need an own agent, limits, and the password of the last ten minutes."""

CONNECTION_SCOPES = (*READING_SCOPES, *ACTING_SCOPES)

OFFLINE_ACCESS = "offline_access"
"""Accepted in a request and without effect: each grant has a refresh token."""


def act(scopes: Iterable[str]) -> bool:
    """Return whether any of the scopes acts for the person."""
    return not set(scopes).isdisjoint(ACTING_SCOPES)


class GrantBounds(msgspec.Struct, frozen=True):
    """Limits of a person on the payments of a connected client, without fees."""

    developer_id: int
    agent_did: str | None
    per_call: Minor
    per_day: Minor
    ask_above: Minor
