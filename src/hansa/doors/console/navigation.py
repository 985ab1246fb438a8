"""Navigation of the console: pages of everybody, of a person, of one agent, of the administration. Only pages that the reader may open."""

from collections.abc import Collection

import msgspec

ENFORCEMENT, PLATFORM = "admin_enforcement", "admin_platform"
TREASURY, SUPPORT, FEDERATION = "admin_treasury", "admin_support", "admin_federation"


class Link(msgspec.Struct, frozen=True):
    """A page with its name and icon. `area` is the administration area that it needs; `below` are further addresses that belong to it."""

    path: str
    name: str
    icon: str = "card"
    area: str | None = None
    below: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Return whether the page at this path is this one or stands below it."""
        return any(path == root or path.startswith(f"{root}/") for root in (self.path, *self.below))


class Group(msgspec.Struct, frozen=True):
    """Links under one heading; the first group of a person has none."""

    name: str
    links: tuple[Link, ...]


EXPLORER = Group(
    "Explore",
    (
        Link("/catalogue", "Catalogue", "catalogue", below=("/agents",)),
        Link("/events", "Activity", "activity", below=("/transactions", "/contracts")),
        Link("/swaps", "Market", "market"),
        Link("/federation", "Federation", "federation", below=("/licences",)),
        Link("/proofs", "Proofs", "proof", below=("/verify", "/supply", "/receipts")),
        Link("/guides", "Docs", "docs", below=("/docs", "/first-steps", "/client", "/connect")),
    ),
)
PERSON = (
    Group(
        "",
        (
            Link("/account", "Home", "home"),
            Link("/account/agents", "Agents", "agent"),
            Link("/account/approvals", "Approvals", "bell"),
            Link("/account/wallets", "Wallets", "wallet"),
        ),
    ),
    Group(
        "Developers",
        (
            Link("/account/api-keys", "API keys", "key"),
            Link("/account/connections", "Connections", "federation"),
            Link("/account/webhooks", "Webhooks", "webhook"),
            Link("/account/requests", "Requests", "request"),
        ),
    ),
    Group(
        "You",
        (
            Link(
                "/account/security", "Security", "proof", below=("/account/sessions", "/account/two-factor")
            ),
            Link("/account/deletion", "Delete account", "leave"),
        ),
    ),
)
ADMINISTRATION = (
    Group("", (Link("/administration", "Overview", "home"),)),
    Group(
        "People",
        (
            Link("/administration/developers", "Developers", "person", ENFORCEMENT),
            Link("/administration/agents", "Agents", "agent", ENFORCEMENT),
            Link("/administration/invites", "Invitations", "mail", SUPPORT),
            Link("/administration/administrators", "Administrators", "approve", PLATFORM),
        ),
    ),
    Group("Enforcement", (Link("/administration/disputes", "Disputes", "dispute", ENFORCEMENT),)),
    Group(
        "Money",
        (
            Link("/administration/treasury", "Treasury", "wallet", TREASURY),
            Link("/administration/awards", "Awards", "approve", TREASURY),
        ),
    ),
    Group(
        "Federation",
        (
            Link("/administration/peers", "Peers", "federation", FEDERATION),
            Link("/administration/pools", "Pools", "market", TREASURY),
            Link("/administration/slash-requests", "Slash requests", "dispute", ENFORCEMENT),
            Link("/administration/licences", "Licences", "proof", FEDERATION),
            Link("/administration/admissions", "Admissions", "person", FEDERATION),
            Link("/administration/registry-card", "Registry card", "card", PLATFORM),
            Link("/administration/jurisdiction", "Jurisdiction", "contract", PLATFORM),
            Link("/administration/keys", "Keys", "key", PLATFORM),
        ),
    ),
    Group(
        "System",
        (
            Link("/administration/events", "Event policies", "activity", PLATFORM),
            Link("/administration/jobs", "Jobs", "request", PLATFORM),
            Link("/administration/mail", "Mail queue", "mail", PLATFORM),
            Link("/administration/reactors", "Reactors", "webhook", PLATFORM),
            Link("/administration/pulls", "Card pulls", "catalogue", PLATFORM),
            Link("/administration/log", "Audit log", "contract", PLATFORM),
            Link("/administration/settings", "Settings", "settings", PLATFORM),
        ),
    ),
)
ADMINISTRATION_FRONT = Link("/administration", "Administration", "settings")

# Pages of one own agent, below `/account/agents/{did}`: a tab, and the pages within it.
AGENT_TABS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Overview", (("", "Overview"), ("/history", "History"))),
    (
        "Money",
        (
            ("/wallet", "Wallet"),
            ("/wallet/statement", "Statement"),
            ("/wallet/send", "Send"),
            ("/wallet/receive", "Receive"),
            ("/wallet/stakes", "Stakes"),
            ("/wallet/tokens", "Payment tokens"),
            ("/wallet/quotes", "Quotes"),
            ("/wallet/bond", "Bond"),
            ("/wallet/bridge", "Bridge"),
            ("/wallet/x402", "x402 wallets"),
            ("/wallet/proof", "Proof"),
        ),
    ),
    (
        "Contracts",
        (("/contracts", "Contracts"), ("/contracts/open", "Open proposals"), ("/disputes", "Disputes")),
    ),
    ("Card", (("/card", "Card"), ("/versions", "Versions"))),
    (
        "Rights",
        (("/rights", "Roles and spending"), ("/approvals", "Approvals"), ("/capabilities", "Capabilities")),
    ),
    ("Credentials", (("/credentials", "Credentials"),)),
    ("Settings", (("/end", "End this agent"),)),
)


def side_groups(areas: Collection[str], path: str) -> list[Group]:
    """Side navigation of a person who administers these areas, on the page at this path: the account's or the administration's."""
    if path == ADMINISTRATION_FRONT.path or path.startswith(f"{ADMINISTRATION_FRONT.path}/"):
        permitted = [
            Group(group.name, tuple(link for link in group.links if link.area is None or link.area in areas))
            for group in ADMINISTRATION
        ]
        return [group for group in permitted if group.links]
    return [*PERSON, Group("Operation", (ADMINISTRATION_FRONT,))] if areas else list(PERSON)


def current_link(groups: Collection[Group], path: str) -> Link | None:
    """Link of the page at this path: the longest address that holds it."""
    holding = [
        (len(root), link)
        for group in groups
        for link in group.links
        for root in (link.path, *link.below)
        if path == root or (path.startswith(f"{root}/") and root not in {"/account", "/administration"})
    ]
    return max(holding, key=lambda found: found[0])[1] if holding else None


def agent_tabs(
    base: str, path: str, without: Collection[str] = ()
) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]]]:
    """Tabs of an own agent and the pages of the current tab, each (address, name, is current), for the page at this path.

    Pages of `without` are shown only where the reader is on one.
    """
    pages = [
        (len(below), tab, below) for tab, within in AGENT_TABS for below, _ in within
        if path == base + below or (below and path.startswith(f"{base}{below}/"))
    ]  # fmt: skip
    _, current_tab, current_page = max(pages, default=(0, "", ""))
    tabs = [(base + within[0][0], name, name == current_tab) for name, within in AGENT_TABS]
    within = next((within for name, within in AGENT_TABS if name == current_tab), ())
    subpages = (
        [
            (base + below, name, below == current_page)
            for below, name in within
            if below not in without or below == current_page
        ]
        if len(within) > 1
        else []
    )
    return tabs, subpages
