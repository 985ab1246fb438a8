"""The commands that `hansa-client` and `hansa` both have."""

import typer

from . import (
    achievements,
    agents,
    attestations,
    bonds,
    building,
    children,
    contracts,
    governance,
    listings,
    login,
    logs,
    mcp,
    metrics,
    organization_members,
    pay,
    payments,
    pipelines,
    releases,
    rulings,
    runs,
    stakes,
    status,
    support,
    treasury,
    use,
    wallets,
    webhooks,
    work,
)
from .options import USE

CLIENT = "hansa-client"
TOP_LEVEL = (
    login.app,
    use.app,
    logs.app,
    metrics.app,
    children.app,
    releases.app,
    building.app,
    payments.app,
    pay.app,
)
GROUPS = {
    "achievements": achievements.app,
    "agent": agents.app,
    "attestation": attestations.app,
    "bond": bonds.app,
    "contract": contracts.app,
    "dispute": rulings.app,
    "flare": achievements.flare_app,
    "governance": governance.app,
    "market": listings.app,
    "mcp": mcp.app,
    "org": organization_members.app,
    "pending": pay.pending_app,
    "pipelines": pipelines.app,
    "profile": login.profile_app,
    "registry": status.app,
    "runs": runs.app,
    "stake": stakes.app,
    "support": support.app,
    "treasury": treasury.app,
    "wallet": wallets.app,
    "webhook": webhooks.app,
    "work": work.app,
}


def add_verbs(app: typer.Typer, *, program: str = CLIENT) -> None:
    """Add them to a program, with its name in their examples."""
    for group in (*TOP_LEVEL, *GROUPS.values()):
        for command in group.registered_commands:
            command.epilog = (command.epilog or "").replace(f"{CLIENT} ", f"{program} ")
        if itself := group.registered_callback:
            itself.epilog = (itself.epilog or "").replace(f"{CLIENT} ", f"{program} ")
    for group in TOP_LEVEL:
        app.add_typer(group)
    for name, group in GROUPS.items():
        app.add_typer(group, name=name, rich_help_panel=USE)
