"""Shapes of invitations."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StrictInt

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.federation.identity import OperatorSvidOut
from hansa.rooms.federation.peers import NetInLimit, PeerStatus, minor_limit

from .documents import DOCUMENT_MAX_CHARACTERS
from .inviting import LIFETIME_MAX_SECONDS, LIFETIME_MIN_SECONDS, SignedInvitation
from .records import OpenInvitation
from .redeeming import Redeemed


class InvitationIn(RequestBody):
    """An invitation to sign."""

    expires_in: Annotated[
        StrictInt,
        Field(ge=LIFETIME_MIN_SECONDS, le=LIFETIME_MAX_SECONDS, description="Lifetime in seconds."),
    ] = LIFETIME_MAX_SECONDS

    operator: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,120}$",
            description="Name of an operator registry of this trust domain; without it the invitation is for another frame.",
        ),
    ] = None

    @property
    def lifetime(self) -> timedelta:
        """How long it can be redeemed."""
        return timedelta(seconds=self.expires_in)


class InvitationOut(LazyModel):
    """A signed invitation, which one registry redeems once."""

    invitation: str = Field(description="Compact JWS of type peer-invitation+jws.")
    expires_at: datetime

    @classmethod
    def of(cls, signed: SignedInvitation) -> "InvitationOut":
        return cls(invitation=signed.text, expires_at=signed.expires_at)


class OpenInvitationOut(LazyModel):
    """An invitation that can be redeemed, without its text."""

    id: UUID
    operator: str | None = Field(
        description="Name of the operator registry that it is for; null: a registry of another frame.",
        examples=["north"],
    )
    created_at: datetime
    expires_at: datetime


class OpenInvitationsOut(LazyModel):
    """Invitations that can be redeemed, newest first."""

    items: list[OpenInvitationOut]

    @classmethod
    def of(cls, invitations: Sequence[OpenInvitation]) -> "OpenInvitationsOut":
        """The list as it is answered."""
        return cls(
            items=[
                OpenInvitationOut(
                    id=one.jti, operator=one.operator, created_at=one.created_at, expires_at=one.expires_at
                )
                for one in invitations
            ]
        )


class RevokedInvitationOut(LazyModel):
    """Nobody redeems the invitation any more."""

    id: UUID
    status: Literal["revoked"] = "revoked"


class AcceptIn(RequestBody):
    """An invitation of another registry."""

    invitation: Annotated[str, Field(min_length=1, max_length=DOCUMENT_MAX_CHARACTERS)]
    net_in_limit: NetInLimit = None

    def limit(self) -> int | None:
        """The limit in minor units, None: unlimited."""
        return minor_limit(self.net_in_limit, is_stated="net_in_limit" in self.model_fields_set)


class RedeemIn(LazyModel):
    """The acceptance of an invitation, signed by the registry that accepts."""

    acceptance: Annotated[
        str,
        Field(
            min_length=1,
            max_length=DOCUMENT_MAX_CHARACTERS,
            description="Compact JWS of type peer-acceptance+jws.",
        ),
    ]
    reach: StrictBool | None = Field(
        default=None,
        description="Also read the registry that accepts over mutual TLS, and state the outcome.",
    )


class RedeemedOut(LazyModel):
    """The registry that accepted, as the one that invited has it now."""

    name: str
    trust_domain: str
    status: PeerStatus = Field(
        description="`active` once the documents of the registry were read over mutual TLS."
    )

    svids: list[OperatorSvidOut] | None = Field(
        default=None,
        description="For an operator registry: a certificate for each of its requests; not where `reach` is asked for.",
    )
    reaches: bool | None = Field(
        default=None, description="Where `reach` asks for it: whether the registry was read over mutual TLS."
    )
    trouble: str | None = Field(
        default=None, description="Why it was not, or what of its documents was refused."
    )

    @classmethod
    def of(cls, redeemed: Redeemed) -> "RedeemedOut":
        peer, leaves = redeemed.peer, redeemed.leaves
        svids = None if leaves is None else [OperatorSvidOut.of(leaf) for leaf in leaves]
        return cls(
            name=peer.name,
            trust_domain=peer.trust_domain,
            status=peer.status,
            svids=svids,
            reaches=redeemed.reaches,
            trouble=redeemed.trouble,
        )
