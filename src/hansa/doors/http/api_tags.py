"""The tags of the OpenAPI document, in the order of the pages that show it: one tag for each operation."""

TAGS: dict[str, str] = {
    "accounts": "Register, log in, two-factor login, passwords, sessions, deletion of the account.",
    "API keys": "Keys of a developer for programs, with scopes and an end.",
    "webhooks": "Signed notifications of events to an address of the developer.",
    "agents": "Create agents; their tokens, keys, identity documents, rights and capabilities.",
    "mutual TLS": "Workload certificates of agents (X.509-SVID).",
    "wallets": "Wallets whose signatures pay for an agent.",
    "agent cards": "Create, read, change and export agent cards, and their versions.",
    "discovery": "Search agents of this registry and of its peers.",
    "front doors": "What crawlers and other discovery protocols read: catalogues, descriptions, sitemaps.",
    "transfers": "Move units between agents.",
    "payments": "Pay for calls of agents with single-use tokens.",
    "ledger": "Balances, statements and fees of agents.",
    "staking": "Lock units for a time, release them, claim rewards.",
    "contracts": "Agree on work with another agent: proposals, milestones, deliverables, payment at approval.",
    "event store": "The ledger's events, their totals and the policies of their emission.",
    "live feed": "Tickets for the WebSocket channels of events.",
    "auditor": "The supply audit and its results.",
    "administrators": "Suspension, invitations, federation licences and the audit log.",
    "public": "The registry's configuration, its card and its keys.",
    "status": "Health and readiness of the process.",
}
