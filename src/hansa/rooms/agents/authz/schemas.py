"""Shapes of an agent's rights."""

from typing import Annotated

from pydantic import AfterValidator, Field

from hansa.foundation.plumbing.settings import CAUTIOUS_MODE
from hansa.foundation.values.lazy_model import LazyModel
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


class RoleIn(LazyModel):
    """A role to give."""

    role: Role


class RolesOut(LazyModel):
    """The roles and permissions of an agent."""

    agent_did: str
    roles: list[str]
    permissions: list[str]

    @classmethod
    def of(cls, did: str, roles: tuple[str, ...]) -> "RolesOut":
        """The answer to a grant."""
        return cls(agent_did=did, roles=list(roles), permissions=sorted(permissions_of(roles)))


class AuthzIn(LazyModel):
    """The new rights of an agent. An absent member stays unchanged; a null policy removes the policy."""

    roles: Annotated[
        list[Role] | None,
        Field(
            max_length=ROLES_MAX, description="All roles of the agent from now on; an empty list removes all."
        ),
    ] = None
    spend_policy: SpendPolicyIn | None = None

    def replacement(self) -> NewAuthz:
        """Return the roles and the policy to be replaced."""
        return NewAuthz(
            roles=None if self.roles is None else tuple(dict.fromkeys(self.roles)),
            policy=self.spend_policy.policy() if self.spend_policy else None,
            sets_policy="spend_policy" in self.model_fields_set,
        )


class AuthzOut(RolesOut):
    """The permissions of an agent, whether they are enforced, and the limits of its payments."""

    mode: CAUTIOUS_MODE = Field(description="`enforce`: actions without permission are refused.")
    spend_policy: SpendPolicyOut | None
    spent_today: str | None = Field(
        description="The amount paid under the policy since midnight UTC, without fees; null without a policy."
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
