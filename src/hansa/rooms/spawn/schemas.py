"""Shapes of children in requests and answers. Amounts are decimal strings, without the fee."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain_and_visible
from hansa.rooms import agents

from .binding import Obstacle
from .ending import Ended
from .reading import Purse
from .spawning import Spawned, SpawnOrder

NAME_MAX = 128
DESCRIPTION_MAX = 2048
PAGE_MAX = 100


ChildName = Annotated[str, Field(min_length=1, max_length=NAME_MAX), AfterValidator(plain_and_visible)]
ChildDescription = Annotated[
    str, Field(min_length=1, max_length=DESCRIPTION_MAX), AfterValidator(plain_and_visible)
]


class SpawnIn(RequestBody):
    """Child that an agent spawns. Roles and members of the spend policy that are absent are those of the parent; unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    name: ChildName
    description: ChildDescription | None = None
    agent_card: dict[str, Any] | None = Field(
        default=None,
        description="The whole card, as for a new agent, under the name and the description above. Without it the card of the child is"
        " not listed.",
    )
    roles: Annotated[list[agents.Role] | None, Field(max_length=agents.ROLES_MAX)] = Field(
        default=None, description="Roles that the parent has; an empty list gives none."
    )
    funding: PositiveAmount = Field(
        description="Units that the parent pays to the child, with the fee on top."
    )
    spend_policy: agents.SpendPolicyIn | None = Field(
        default=None, description="Members that are narrower than those of the parent."
    )
    ttl_seconds: Annotated[int, Field(ge=agents.TTL_MIN_SECONDS, le=agents.TTL_MAX_SECONDS)] | None = Field(
        default=None, description="A day where absent; at most what the parent has left."
    )
    approval_id: UUID | None = Field(
        default=None, description="The owner's approval of the units; valid for one child."
    )

    def order(
        self, identity: agents.NewIdentity, approval_id: UUID | None, request_scope: bytes | None
    ) -> SpawnOrder:
        """The child that is asked for."""
        return SpawnOrder(
            card=self._card(),
            is_listed=self.agent_card is not None,
            roles=None if self.roles is None else tuple(self.roles),
            funding=parse_amount(self.funding),
            policy=self._policy(),
            ttl_seconds=self.ttl_seconds,
            approval_id=approval_id,
            request_scope=request_scope,
            identity=identity,
        )

    def _card(self) -> dict[str, Any]:
        card = {**(self.agent_card or {}), "name": self.name}
        if self.description is not None:
            card["description"] = self.description
        return card

    def _policy(self) -> dict[str, Any]:
        if self.spend_policy is None:
            return {}
        policy = self.spend_policy.policy()
        return {name: getattr(policy, name) for name in self.spend_policy.model_fields_set}


class SpawnOut(agents.CreateAgentOut):
    """A new child. `client_secret` and `private_key_pem` are shown only once."""

    parent_did: str
    expires_at: datetime = Field(description="The child ends then, by the clock of the database.")

    @classmethod
    def of_spawned(cls, spawned: Spawned) -> "SpawnOut":
        """The answer that shows the secrets."""
        created = agents.CreateAgentOut.of(spawned.identity, spawned.onboarded)
        return cls(**created.model_dump(), parent_did=spawned.parent_did, expires_at=spawned.expires_at)


class ChildOut(LazyModel):
    """A child. `living`: it acts. `ending`: it has no roles, and what binds it ends. `ended`: it is revoked."""

    child_did: str = Field(examples=["did:hansa:registry.example.org:7d1f2c3a-5b6e-4f80-9a1b-2c3d4e5f6a7b"])
    name: str
    parent_did: str = Field(examples=["did:hansa:registry.example.org:0a1b2c3d-4e5f-4a6b-8c7d-8e9f0a1b2c3d"])
    state: agents.ChildState
    status: str = Field(description="`active`, `suspended` or `revoked`.")
    depth: int = Field(description="1 for a child of an agent that nobody spawned.")
    funding: str = Field(description="The units that it got at first.", examples=["25"])
    balance: str
    held: str = Field(description="Units that are staked or held.")
    spawned_at: datetime
    expires_at: datetime
    ending_at: datetime | None
    cause: agents.Cause | None = Field(description="Who or what ended it: `ttl`, `owner` or `parent`.")
    ended_at: datetime | None
    returned: str | None = Field(
        description="The units that went back to the parent, without the fee.", examples=["7.5"]
    )

    @classmethod
    def members_of(cls, purse: Purse) -> dict[str, Any]:
        """The members of a child."""
        child = purse.child
        return {
            "child_did": child.did,
            "name": child.name,
            "parent_did": child.parent_did,
            "state": child.state,
            "status": child.status,
            "depth": child.depth,
            "funding": format_amount(child.funding),
            "balance": format_amount(purse.liquid),
            "held": format_amount(purse.held),
            "spawned_at": child.spawned_at,
            "expires_at": child.expires_at,
            "ending_at": child.ending_at,
            "cause": child.cause,
            "ended_at": child.ended_at,
            "returned": None if child.swept is None else format_amount(child.swept),
        }

    @classmethod
    def of(cls, purse: Purse) -> "ChildOut":
        """The shape of a child."""
        return cls(**cls.members_of(purse))


class ChildrenOut(LazyModel):
    """A page of children, newest first."""

    items: list[ChildOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, purses: Sequence[Purse], limit: int) -> "ChildrenOut":
        """The page of `limit` children; one more that was found shows that another page follows."""
        shown = purses[:limit]
        return cls(
            items=[ChildOut.of(purse) for purse in shown],
            next=shown[-1].child.did if len(purses) > limit else None,
        )


class ObstacleOut(LazyModel):
    """Reason for which a child has not ended yet."""

    kind: str = Field(examples=["contract"])
    detail: str

    @classmethod
    def of(cls, obstacle: Obstacle) -> "ObstacleOut":
        """The shape of a reason."""
        return cls(kind=obstacle.kind, detail=obstacle.detail)


class ChildEndedOut(ChildOut):
    """A child that was ended, or is ending until nothing binds it any more."""

    waits_for: list[ObstacleOut] = Field(
        description="Empty once it has ended; the registry tries again by itself."
    )

    @classmethod
    def of_ended(cls, ended: Ended, purse: Purse) -> "ChildEndedOut":
        """The answer to the end of a child."""
        waits_for = [ObstacleOut.of(obstacle) for obstacle in ended.obstacles]
        return cls(**cls.members_of(purse), waits_for=waits_for)


class ChildrenQuery(LazyModel):
    """Bounds of a page of children."""

    limit: int = Field(default=50, ge=1, le=PAGE_MAX)
    next: str | None = Field(
        default=None,
        min_length=1,
        max_length=DID_MAX_CHARACTERS,
        description="The cursor of the previous page.",
    )
