"""Pages of a treasury, as its tabs."""

from hansa.rooms.organizations import Organization, Role

from .pages import base_of

PAGES = (
    ("/treasury", "Balance and budgets", Role.VIEWER),
    ("/treasury/requests", "Requests", Role.VIEWER),
    ("/contracts", "Contracts", Role.VIEWER),
    ("/disputes", "Disputes", Role.VIEWER),
    ("/treasury/rules", "Rules", Role.VIEWER),
    ("/treasury/pay", "Pay", Role.MEMBER),
)


def treasury_tabs(organization: Organization, current: str) -> list[tuple[str, str, bool]]:
    """Tabs that the member may open, each (address, name, is current)."""
    base, role = base_of(organization), organization.role or Role.VIEWER
    return [(base + page, name, page == current) for page, name, needed in PAGES if role >= needed]
