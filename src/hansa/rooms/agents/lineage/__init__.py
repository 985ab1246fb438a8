"""Children that agents spawn: their parents, the quotas of a tree, and the rights that never exceed those of a parent."""

from hansa.rooms.agents.lineage.ending import begin_end, first_due, note_swept, put_end_off
from hansa.rooms.agents.lineage.errors import (
    AgentHasChildren,
    ChildEnding,
    ChildUnknown,
    LifetimeTooLong,
    PolicyWidened,
    RolesNotHeld,
    SpawnQuotaReached,
    SpawnTooDeep,
)
from hansa.rooms.agents.lineage.narrowing import (
    narrow_below,
    require_policy_within_parent,
    require_within_parent,
)
from hansa.rooms.agents.lineage.quotas import HeldPlace, count_fork, hold_place, record_child
from hansa.rooms.agents.lineage.reading import (
    ancestors_of,
    child_of,
    children_of,
    ending_among,
    has_suspended_parent,
    living_among,
    living_children_of,
    lock_child,
    require_apart,
    require_no_children,
    require_not_ending,
)
from hansa.rooms.agents.lineage.rules import (
    TTL_MAX_SECONDS,
    TTL_MIN_SECONDS,
    Child,
    NewChild,
    child_policy,
    child_roles,
    lifetime,
    require_depth,
)
from hansa.rooms.agents.lineage.store import HAS_DUE
from hansa.rooms.agents.lineage.store import end as note_end

__all__ = [
    "HAS_DUE",
    "TTL_MAX_SECONDS",
    "TTL_MIN_SECONDS",
    "AgentHasChildren",
    "Child",
    "ChildEnding",
    "ChildUnknown",
    "HeldPlace",
    "LifetimeTooLong",
    "NewChild",
    "PolicyWidened",
    "RolesNotHeld",
    "SpawnQuotaReached",
    "SpawnTooDeep",
    "ancestors_of",
    "begin_end",
    "child_of",
    "child_policy",
    "child_roles",
    "children_of",
    "count_fork",
    "ending_among",
    "first_due",
    "has_suspended_parent",
    "hold_place",
    "lifetime",
    "living_among",
    "living_children_of",
    "lock_child",
    "narrow_below",
    "note_end",
    "note_swept",
    "put_end_off",
    "record_child",
    "require_apart",
    "require_depth",
    "require_no_children",
    "require_not_ending",
    "require_policy_within_parent",
    "require_within_parent",
]
