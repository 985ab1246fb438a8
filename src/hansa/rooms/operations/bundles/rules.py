"""Rules of bundles, without I/O."""

from collections.abc import Iterator, Mapping
from typing import Any

from hansa.foundation.values.secret_forms import without_secrets

KIND = "agent.bundle.v1"
TYPE = "agent-bundle+jws"
BUNDLE_MAX_BYTES = (2 << 20) - 4096
"""Less than a body may have, so that it can be imported."""
STORED_MAX = 20
"""Bundles that are stored of one developer, the newest."""
RELEASES_MAX = 20
PIPELINES_MAX = 20


def first_secret(document: Any) -> str | None:
    """The JSON Pointer of the first text of a document that has the form of a secret, names of members included."""
    return next(_secrets(document, ""), None)


def _secrets(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, str):
        if without_secrets(value) != value:
            yield pointer
    elif isinstance(value, Mapping):
        for name, member in value.items():
            below = f"{pointer}/{without_secrets(name).replace('~', '~0').replace('/', '~1')}"
            if without_secrets(name) != name:
                yield below
            yield from _secrets(member, below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _secrets(item, f"{pointer}/{number}")
