"""Navigation of the console: pages of everybody, of a person, of one agent, of the administration. Only pages that the reader may open."""

from collections.abc import Collection

import msgspec

from hansa.foundation.values.rights import Right

ENFORCEMENT, PLATFORM = "admin_enforcement", "admin_platform"
TREASURY, SUPPORT, FEDERATION = "admin_treasury", "admin_support", "admin_federation"


class Link(msgspec.Struct, frozen=True):
    """A page with its name and icon. `area` is the administration area that it needs; `below` are further addresses that belong to it.

    A page of the exchange (`is_of_market`) is shown where the exchange is on.

    The name of an organization is a text of its owners (`is_theirs`).
    """

    path: str
    name: str
    icon: str = "card"
    area: str | None = None
    below: tuple[str, ...] = ()
    is_theirs: bool = False
    is_of_market: bool = False

    def holds(self, path: str) -> bool:
        """Return whether the page at this path is this one or stands below it."""
        return any(path == root or path.startswith(f"{root}/") for root in (self.path, *self.below))


class Group(msgspec.Struct, frozen=True):
    """Links under one heading; the first group of a person has none."""

    name: str
    links: tuple[Link, ...]


def place_in(group: Group, path: str) -> str:
    """Return a path that has the same place in the menu: that of a link, one below it, or none."""
    for link in group.links:
        if link.holds(path):
            return link.path if path == link.path else f"{link.path}/below"
    return path if path == FIND else ""


FIND = "/find"
EXPLORER = Group(
    "Explore",
    (
        Link("/catalogue", "Catalogue", "catalogue", below=("/agents",)),
        Link("/events", "Activity", "activity", below=("/transactions", "/contracts")),
        Link("/work", "Work", "contract"),
        Link("/governance", "Governance", "approve"),
        Link("/swaps", "Market", "market"),
        Link("/federation", "Federation", "federation", below=("/licences",)),
        Link(
            "/proofs",
            "Proofs",
            "proof",
            below=("/verify", "/supply", "/receipts", "/circuits", "/attestations"),
        ),
        Link("/guides", "Docs", "docs", below=("/docs", "/first-steps", "/client", "/connect")),
    ),
)
_MARKET = Link("/market", "Market", "market", below=("/swaps",))
_EXPLORER_WITH_MARKET = Group(
    EXPLORER.name, tuple(_MARKET if link.path == "/swaps" else link for link in EXPLORER.links)
)
PERSON = (
    Group(
        "",
        (
            Link("/account", "Home", "home"),
            Link("/account/agents", "Agents", "agent"),
            Link("/account/approvals", "Approvals", "bell"),
            Link("/account/wallets", "Wallets", "wallet"),
            Link("/account/organizations", "Organizations", "organization"),
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
                "/account/security",
                "Security",
                "proof",
                below=("/account/sessions", "/account/two-factor", "/account/phones"),
            ),
            Link("/account/support", "Support", "mail"),
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
            Link("/administration/organizations", "Organizations", "organization", SUPPORT),
            Link("/administration/support", "Tickets", "bell", SUPPORT),
            Link("/administration/invites", "Invitations", "mail", SUPPORT),
            Link("/administration/administrators", "Administrators", "approve", PLATFORM),
        ),
    ),
    Group(
        "Enforcement",
        (
            Link("/administration/disputes", "Disputes", "dispute", ENFORCEMENT),
            Link("/administration/attestations", "Attestations", "proof", ENFORCEMENT),
            Link("/administration/trading", "Trading", "market", ENFORCEMENT, is_of_market=True),
        ),
    ),
    Group(
        "Money",
        (
            Link("/administration/treasury", "Treasury", "wallet", TREASURY),
            Link("/administration/awards", "Awards", "approve", TREASURY),
            Link("/administration/listings", "Listings", "market", PLATFORM, is_of_market=True),
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
            Link("/administration/incidents", "Incidents", "bell", PLATFORM),
            Link("/administration/showcase", "Showcase", "catalogue", PLATFORM),
            Link("/administration/governance", "Governance", "approve", PLATFORM),
            Link("/administration/circuits", "Circuits", "proof", PLATFORM),
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

READ, OPERATE, MANAGE, END = Right.READ, Right.OPERATE, Right.MANAGE, Right.END
# Pages of one own agent, below `/account/agents/{did}`: a tab, and the pages within it with the right that each needs.
AGENT_TABS: tuple[tuple[str, tuple[tuple[str, str, Right], ...]], ...] = (
    ("Overview", (("", "Overview", READ), ("/history", "History", READ))),
    (
        "Money",
        (
            ("/wallet", "Wallet", READ),
            ("/wallet/statement", "Statement", READ),
            ("/wallet/send", "Send", OPERATE),
            ("/wallet/receive", "Receive", READ),
            ("/wallet/stakes", "Stakes", OPERATE),
            ("/wallet/tokens", "Payment tokens", OPERATE),
            ("/wallet/quotes", "Quotes", OPERATE),
            ("/wallet/bond", "Bond", OPERATE),
            ("/market", "Points", READ),
            ("/wallet/bridge", "Bridge", OPERATE),
            ("/wallet/x402", "x402 wallets", OPERATE),
            ("/wallet/proof", "Proof", READ),
        ),
    ),
    (
        "Contracts",
        (
            ("/contracts", "Contracts", READ),
            ("/contracts/open", "Open proposals", OPERATE),
            ("/disputes", "Disputes", READ),
        ),
    ),
    ("Governance", (("/governance", "Governance", OPERATE),)),
    ("Logs", (("/logs", "Log", READ), ("/metrics", "Metrics", READ))),
    (
        "Pipelines",
        (("/pipelines", "Pipelines", READ), ("/pipelines/templates", "Templates", OPERATE)),
    ),
    ("Children", (("/children", "Children", READ),)),
    (
        "Achievements",
        (("/achievements", "Achievements and flares", READ), ("/attestations", "Attestations", READ)),
    ),
    ("Versions", (("/releases", "Versions of the code", READ),)),
    ("Card", (("/card", "Card", OPERATE), ("/versions", "Versions", READ))),
    (
        "Rights",
        (
            ("/rights", "Roles and spending", MANAGE),
            ("/approvals", "Approvals", MANAGE),
            ("/capabilities", "Capabilities", OPERATE),
        ),
    ),
    ("Credentials", (("/credentials", "Credentials", MANAGE),)),
    ("Settings", (("/end", "End this agent", END),)),
)
# Forms below pages that others may read.
FORMS_OF_AGENTS = (
    ("/contracts/new", OPERATE),
    ("/disputes/new", OPERATE),
    ("/work", OPERATE),
    ("/pipelines/new", OPERATE),
    ("/children/check", MANAGE),
    ("/releases/check", OPERATE),
)


def explorer_of(*, has_market: bool) -> Group:
    """Links of the public pages; with an exchange the market of points is among them, and leads to the swaps."""
    return _EXPLORER_WITH_MARKET if has_market else EXPLORER


def side_groups(areas: Collection[str], path: str, *, has_market: bool) -> list[Group]:
    """Side navigation of a person who administers these areas, on the page at this path: the account's or the administration's."""
    if path == ADMINISTRATION_FRONT.path or path.startswith(f"{ADMINISTRATION_FRONT.path}/"):
        permitted = [
            Group(
                group.name,
                tuple(
                    link
                    for link in group.links
                    if (link.area is None or link.area in areas) and (has_market or not link.is_of_market)
                ),
            )
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
    base: str, path: str, right: Right, without: Collection[str] = ()
) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]]]:
    """Tabs of an own agent and the pages of the current tab, each (address, name, is current), for the page at this path.

    Pages that need another right than this one are left out. Pages of `without` are shown only where the reader is on one.
    """
    open_tabs = [
        (name, [(below, page) for below, page, needed in within if needed <= right])
        for name, within in AGENT_TABS
    ]
    # A bid on work becomes a contract.
    path = path.replace(f"{base}/work/", f"{base}/contracts/")
    pages = [
        (len(below), tab, below) for tab, within in open_tabs for below, _ in within
        if path == base + below or (below and path.startswith(f"{base}{below}/"))
    ]  # fmt: skip
    _, current_tab, current_page = max(pages, default=(0, "", ""))
    tabs = [(base + within[0][0], name, name == current_tab) for name, within in open_tabs if within]
    within = next((within for name, within in open_tabs if name == current_tab), [])
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


def right_for(base: str, path: str) -> Right:
    """The right at an agent that the page at this path needs; a page beside those of the agent acts as it."""
    pages = [(below, needed) for _, within in AGENT_TABS for below, _, needed in within]
    found = [
        (len(below), needed)
        for below, needed in (*pages, *FORMS_OF_AGENTS)
        if path == base + below or path.startswith(f"{base}{below}/")
    ]
    return max(found, default=(0, Right.OPERATE))[1]


def organization_groups(
    base: str, *, is_admin: bool, has_market: bool, others: Collection[Link]
) -> list[Group]:
    """Side navigation of an organization, whose pages stand below `base`, with the links to the person's other ones."""
    pages = [
        Link(base, "Home", "home"),
        Link(f"{base}/members", "Members", "person"),
        Link(f"{base}/teams", "Teams", "approve"),
        Link(f"{base}/agents", "Agents", "agent"),
        Link(f"{base}/treasury", "Treasury", "wallet"),
        Link(f"{base}/work", "Work", "contract"),
        *([Link(f"{base}/listing", "Listing", "market")] if has_market else []),
        *(
            [Link(f"{base}/audit", "Audit", "proof"), Link(f"{base}/settings", "Settings", "settings")]
            if is_admin
            else []
        ),
    ]
    switch = [
        Link("/account", "Own account", "home"),
        *others,
        Link("/account/organizations", "All organizations", "organization"),
    ]
    return [Group("", tuple(pages)), Group("Switch to", tuple(switch))]
