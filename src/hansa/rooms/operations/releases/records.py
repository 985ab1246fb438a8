"""Releases as they are written."""

from collections.abc import Mapping

import msgspec

from hansa.rooms import catalogue


class NewRelease(msgspec.Struct, frozen=True):
    """Release that is to be stored; `release_notes` are without secrets."""

    version: str
    commit_hash: str | None
    release_notes: str | None
    artifacts: Mapping[str, catalogue.Artifact]
    is_stable: bool
