"""Shapes of releases."""

from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import plain
from hansa.foundation.values.web_address import read_web_address
from hansa.rooms.catalogue import Artifact

from .records import NewRelease

URI_MAX = 2048
NOTES_MAX_BYTES = 8192
ARTIFACTS_MAX = 20


def _https(uri: str) -> str:
    address = read_web_address(uri)
    if address is None or address.scheme != "https":
        raise ValueError("must be an https address without credentials and fragment")
    return uri


Sha256 = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$", description="In hex.")]
ArtifactName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]*$")]


class CodeArtifactIn(RequestBody):
    """File of a version."""

    uri: Annotated[str, Field(max_length=URI_MAX), AfterValidator(_https)] = Field(
        description="An https address without credentials and fragment; the registry never fetches it."
    )
    sha256: Sha256


class CodeVersionIn(RequestBody):
    """A version of the code behind a DID, by its owner's word."""

    version: Annotated[
        str, Field(min_length=1, max_length=64, pattern=r"^[!-~]([ -~]*[!-~])?$", examples=["2.1.0"])
    ]
    commit_hash: Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{7,64}$")] | None = None
    release_notes: Annotated[str, AfterValidator(plain)] | None = Field(
        default=None, description="Plain text, stored without secrets and cut at 8,192 bytes."
    )
    artifacts: Annotated[dict[ArtifactName, CodeArtifactIn], Field(max_length=ARTIFACTS_MAX)] | None = None
    is_stable: StrictBool = True

    def release(self) -> NewRelease:
        """The release that is stored."""
        return NewRelease(
            version=self.version,
            commit_hash=self.commit_hash.lower() if self.commit_hash else None,
            release_notes=_clean(self.release_notes) or None if self.release_notes else None,
            artifacts={
                name: Artifact(one.uri, one.sha256.lower()) for name, one in (self.artifacts or {}).items()
            },
            is_stable=self.is_stable,
        )


def _clean(notes: str) -> str:
    # A cut before the search would break the form by which a secret is found.
    return without_secrets(notes).encode()[:NOTES_MAX_BYTES].decode(errors="ignore")
