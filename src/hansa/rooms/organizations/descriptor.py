"""Descriptor of the organizations room for the process."""

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import agents

from .account_end import ACCOUNT_END_OF_MEMBERSHIPS
from .appointments import CARRYING_OUT
from .fleet import CREATION
from .fleet.releasing import RELEASE, REQUIRE_RELEASING
from .founding import BLOCKERS_ABOVE
from .invitations.acts import invite_granted
from .invitations.store import forget
from .members.acts import change_granted
from .requests.delayed import DELAYED_REQUESTS
from .requests.granting import GRANT, GRANTS, INVITATION, ROLE, TEAM
from .requests.kinds import OWN_KINDS, REQUEST_KINDS
from .requests.notices import MAILS_OF_DELAYS
from .requests.owners import OWNERS
from .requests.store import expire
from .routes import router
from .teams.acts import place_granted

ROOM = Room(
    name="organizations",
    routes=(Routes(1990, router),),
    jobs=(
        sweep("organizations: forget invitations", 600, forget),
        sweep("organizations: expire requests", 60, expire),
        CARRYING_OUT,
        DELAYED_REQUESTS,
        MAILS_OF_DELAYS,
    ),
    settings=frozenset({"base_url", "registry_name"}),
    account_end=ACCOUNT_END_OF_MEMBERSHIPS,
    offers=(BLOCKERS_ABOVE, OWN_KINDS, GRANTS, REQUEST_KINDS, REQUIRE_RELEASING),
    fills=(
        OWN_KINDS.filled_with((OWNERS, RELEASE, GRANT)),
        GRANTS.filled_with({INVITATION: invite_granted, ROLE: change_granted, TEAM: place_granted}),
        agents.ORGANIZATION_AGENTS.filled_with(CREATION),
    ),
)
