"""Members that belong to each type of agent."""

from collections.abc import Mapping

from hansa.foundation.values.errors import MemberInvalid

OWN_MEMBERS: Mapping[str, Mapping[str, bool]] = {
    "simple_wrapper": {"wrapper_url": True, "wrapper_timeout_seconds": False},
    "adk_agent": {"adk_model": True, "adk_instruction": True},
    "paid_function": {"price": True},
    "mcp_server": {},
}
"""Members of a type; true: required."""

OF_EVERY_TYPE = frozenset({"price"})


def require_members(builder_type: str, stated: Mapping[str, object]) -> None:
    """The stated members are those of the type, and none that it requires is missing. Raises: MemberInvalid."""
    own = OWN_MEMBERS[builder_type]
    for others in OWN_MEMBERS.values():
        for member in others.keys() - own.keys() - OF_EVERY_TYPE:
            if stated.get(member) is not None:
                raise MemberInvalid(f"{member}: is no member of the type {builder_type}.", field=member)
    for member, is_required in own.items():
        if is_required and stated.get(member) is None:
            raise MemberInvalid(f"{member}: is required for the type {builder_type}.", field=member)
