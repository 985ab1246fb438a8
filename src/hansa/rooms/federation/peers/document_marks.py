"""Marks of the documents of a registry: peers compare them at each interval, and read the documents only where they differ.

It is answered over mutual TLS, as the documents are. A registry that does not answer it is read in whole.
"""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field, ValidationError

from hansa.foundation.plumbing.outgoing import Call, MutualEnd
from hansa.foundation.plumbing.process.runtime import Runtime, runtime_of
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.federation.charter import CardUnsigned
from hansa.rooms.federation.identity import FederationOff

from .document_store import own_documents
from .local_bundle import local_bundle, uncounted_bundle
from .meeting import DOCUMENT, OK, call_end
from .records import PeerRecord

MARKS_AT = "/api/v1/federation/documents"

marks_router = APIRouter(prefix="/federation", tags=["federation"], route_class=DirectRoute)


class DocumentMarks(LazyModel):
    """The documents of a registry as they are now: none of them changed while these are the same."""

    card_etag: str = Field(description="The entity tag of the registry card.", examples=["5f2c9a0d81e34b76"])
    kid: str = Field(
        description="The present key of the registry, with which the card is signed.",
        examples=["spiffe://registry.example.org/registry/hansa#1"],
    )
    kids: list[str] | None = Field(
        default=None,
        description="The keys of the key set, the newest first. Null from a registry that does not state them.",
        examples=[["spiffe://registry.example.org/registry/hansa#1"]],
    )
    bundle_sequence: Annotated[int, Field(ge=0)] = Field(
        description="`spiffe_sequence` of the trust bundle.", examples=[1]
    )
    bundle_sha256: str = Field(
        description="The thumbprint of the trust bundle, in hexadecimal digits.", examples=["9c56cc51" * 8]
    )


@marks_router.get("/documents", responses=problems(CertificateMissing, NotAPeer, CardUnsigned, FederationOff))
async def read_document_marks(_: CurrentPeer, request: Request) -> DocumentMarks:
    """What changes when the registry card, the key set or the trust bundle of this registry does."""
    return await own_marks(runtime_of(request))


async def own_marks(runtime: Runtime) -> DocumentMarks:
    """The documents of this registry as they are now. Raises: CardUnsigned, FederationOff."""
    bundle_sha256 = (await uncounted_bundle(runtime)).thumbprint
    found = await runtime.database.query(lambda tx: own_documents(tx, bundle_sha256))
    if found.card_etag is None or found.kid is None:
        raise CardUnsigned
    sequence = found.bundle_sequence
    if sequence is None:
        sequence = (await local_bundle(runtime)).sequence
    return DocumentMarks(
        card_etag=found.card_etag,
        kid=found.kid,
        kids=found.kids,
        bundle_sequence=sequence,
        bundle_sha256=bundle_sha256,
    )


async def documents_are_known(runtime: Runtime, peer: PeerRecord, end: MutualEnd) -> bool:
    """Return whether the peer states that its documents are those that are stored. Raises: OutgoingTrouble, FederationOff."""
    answer = await call_end(runtime, peer.id, end, Call("GET", MARKS_AT), DOCUMENT)
    if answer.status != OK:
        return False
    try:
        return are_known(peer, DocumentMarks.model_validate_json(answer.body))
    except ValidationError:
        return False


def are_known(peer: PeerRecord, stated: DocumentMarks) -> bool:
    """Return whether the documents that a peer states are those that are stored."""
    bundle = peer.bundle
    return stated == DocumentMarks(
        card_etag=peer.card_etag or "",
        kid=peer.card_kid or "",
        kids=None if stated.kids is None else peer.kids,
        bundle_sequence=bundle.sequence,
        bundle_sha256=bundle.thumbprint,
    )
