"""Pages of organizations: the list, and of each its home, members, teams, agents, treasury, audit and settings; its public profile.

- A page reads with use cases of the rooms for a member alone: an organization of others and an unknown one get the same answer.
- An act is a call of the API in this process with the person as its caller (`api_acts`), so that roles, approvals and limits apply.
"""

from . import (
    audit_pages,
    fleet_pages,
    home_pages,
    invitation_pages,
    list_pages,
    listing_pages,
    member_pages,
    profile_page,
    request_pages,
    rules_pages,
    settings_pages,
    team_pages,
    treasury_pages,
    work_pages,
)

ROUTERS = (
    list_pages.router,
    invitation_pages.answering_router,
    home_pages.router,
    member_pages.router,
    invitation_pages.router,
    team_pages.router,
    fleet_pages.router,
    treasury_pages.router,
    request_pages.router,
    rules_pages.router,
    work_pages.router,
    listing_pages.router,
    audit_pages.router,
    settings_pages.router,
    profile_page.router,
)

__all__ = ["ROUTERS"]
