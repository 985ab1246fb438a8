"""Statements of the keys of an agent, signed by the registry: they prove offline which key the agent had at a time.

- A statement is as of the minute that ended two minutes ago: no transaction that ended a key before lasts as long, since statements and
  idle transactions end after 30 seconds. A key never begins or ends in a past that was stated without it.
- In one minute it is the same, by the same key of the registry.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import federation
from hansa.rooms.agents.errors import AgentUnknown
from hansa_verify import AGENT_KEYS_KIND, AGENT_KEYS_MAX, AGENT_KEYS_TYPE, CARD_PROFILE

from . import store
from .held_key import HeldKey

SETTLED_AFTER = timedelta(minutes=2)


async def settled_keys(tx: Tx, did: str) -> tuple[datetime, list[HeldKey]]:
    """The time as of that the keys of an agent are final, and the newest of them, newest first. Raises: AgentUnknown."""
    as_of = await store.settled_at(tx, did, SETTLED_AFTER)
    if as_of is None:
        raise AgentUnknown
    return as_of, await store.history_as_of(tx, did, as_of, AGENT_KEYS_MAX)


def statement_of(
    did: str, as_of: datetime, keys: Sequence[HeldKey], signing: federation.SigningKey, registry: str
) -> dict[str, Any]:
    """The signed statement of the keys of an agent by this registry."""
    content: dict[str, Any] = {
        "kind": AGENT_KEYS_KIND,
        "registry": registry,
        "did": did,
        "as_of": as_of.isoformat(),
        "keys": [_listed(key) for key in keys],
    }
    signed_at = max(int(as_of.timestamp()), int(signing.valid_from.timestamp()))
    header = {"typ": AGENT_KEYS_TYPE, "iat": signed_at, "canon": CARD_PROFILE}
    return {
        **content,
        "signatures": [federation.detached_signature(signing, canonical_json(content), header)],
    }


def _listed(key: HeldKey) -> dict[str, Any]:
    return {
        "number": key.number,
        "public_key_jwk": jwk_of(key.public_key),
        "valid_from": key.valid_from.isoformat(),
        "valid_until": None if key.valid_until is None else key.valid_until.isoformat(),
    }
