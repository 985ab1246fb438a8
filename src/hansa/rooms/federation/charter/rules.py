"""How a registry and its keys are called."""

import re
from datetime import timedelta

GRACE = timedelta(days=7)
"""For how long a retired key stays in the key set, so that what was signed just before reaches its readers."""

SEALED_FOR = "federation registry key"
"""The purpose under which private keys are sealed."""

_NOT_IN_A_PATH = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)


def registry_id_of(trust_domain: str, registry_name: str) -> str:
    """The SPIFFE id of the registry. A SPIFFE path has few characters: whatever else the name holds is a hyphen."""
    segment = _NOT_IN_A_PATH.sub("-", registry_name).strip("-.")
    return f"spiffe://{trust_domain}/registry/{segment or 'registry'}"
