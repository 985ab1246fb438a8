"""Rules of releases, without I/O."""

from hansa.foundation.values.secret_forms import without_secrets

NOTES_MAX_BYTES = 8192
ARTIFACTS_MAX = 20
RELEASES_MAX = 1000
"""Releases of one agent."""


def clean_notes(notes: str) -> str:
    """Return release notes without secrets, then cut: a cut first would break the form by which a secret is found."""
    return without_secrets(notes).encode()[:NOTES_MAX_BYTES].decode(errors="ignore")
