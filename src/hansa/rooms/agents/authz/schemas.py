"""Shapes of an agent's rights."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from hansa.foundation.plumbing.settings import CAUTIOUS_MODE
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.roles import PERMISSIONS_OF_ROLE, permissions_of
from hansa.rooms.agents.spending import SpendPolicyIn, SpendPolicyOut

from .roles import Authz, NewAuthz

ROLES_MAX = 32


def _known_role(role: str) -> str:
    if role not in PERMISSIONS_OF_ROLE:
        raise ValueError(f"must be one of {', '.join(PERMISSIONS_OF_ROLE)}")
    return role


Role = Annotated[
    str,
    Field(max_length=64, json_schema_extra={"enum": list(PERMISSIONS_OF_ROLE)}),
    AfterValidator(_known_role),
]


class RoleIn(BaseModel):
    """A role to give."""

    role: Role


class RolesOut(BaseModel):
    """What an agent holds, and what that lets it do."""

    agent_did: str
    roles: list[str]
    permissions: list[str]

    @classmethod
    def of(cls, did: str, roles: tuple[str, ...]) -> "RolesOut":
        """The answer to a grant."""
        return cls(agent_did=did, roles=list(roles), permissions=sorted(permissions_of(roles)))


class AuthzIn(BaseModel):
    """What replaces an agent's rights. A member that is left out stays as it is; a null policy takes it away."""

    roles: Annotated[
        list[Role] | None,
        Field(max_length=ROLES_MAX, description="All that the agent holds from now on; an empty list: none."),
    ] = None
    spend_policy: SpendPolicyIn | None = None

    def replacement(self) -> NewAuthz:
        """What is replaced."""
        return NewAuthz(
            roles=None if self.roles is None else tuple(dict.fromkeys(self.roles)),
            policy=self.spend_policy.policy() if self.spend_policy else None,
            sets_policy="spend_policy" in self.model_fields_set,
        )


class AuthzOut(RolesOut):
    """What an agent may do, whether that is enforced, and what bounds its payments."""

    mode: CAUTIOUS_MODE = Field(description="`enforce`: what is not permitted is refused.")
    spend_policy: SpendPolicyOut | None
    spent_today: str | None = Field(
        description="What it paid under its policy since midnight UTC, fees left out; null without a policy."
    )

    @classmethod
    def under(cls, mode: CAUTIOUS_MODE, did: str, authz: Authz) -> "AuthzOut":
        """The answer of a registry that runs in this mode."""
        return cls(
            **RolesOut.of(did, authz.roles).model_dump(),
            mode=mode,
            spend_policy=SpendPolicyOut.of(authz.policy) if authz.policy else None,
            spent_today=None if authz.spent_today is None else format_amount(authz.spent_today),
        )
