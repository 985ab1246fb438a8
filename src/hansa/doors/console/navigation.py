"""The navigation of a person who is logged in: only pages that the person may open."""

from collections.abc import Collection

import msgspec


class Link(msgspec.Struct, frozen=True):
    """A page of the account, or of the administration where `area` is needed."""

    path: str
    name: str
    area: str | None = None


LINKS = (
    Link("/account", "Account"),
    Link("/account/agents", "Agents"),
    Link("/account/wallets", "Wallets"),
    Link("/account/api-keys", "API keys"),
    Link("/account/connections", "Connections"),
    Link("/account/webhooks", "Webhooks"),
    Link("/account/requests", "Requests"),
    Link("/account/security", "Security"),
)

# Below the page of an own agent.
AGENT_LINKS = (
    Link("", "Overview"),
    Link("/card", "Card"),
    Link("/versions", "Versions"),
    Link("/rights", "Roles and spending"),
    Link("/approvals", "Approvals"),
    Link("/capabilities", "Capabilities"),
    Link("/credentials", "Credentials"),
    Link("/end", "End"),
)
ADMINISTRATION = Link("/administration", "Administration")


def links_for(areas: Collection[str]) -> list[Link]:
    """The links of a person who administers these areas."""
    shown = [link for link in LINKS if link.area is None or link.area in areas]
    return [*shown, ADMINISTRATION] if areas else shown
