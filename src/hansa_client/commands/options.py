"""Options that commands share."""

from contextvars import ContextVar
from typing import Annotated

import typer

USE = "Use a registry"

Milestones = Annotated[
    list[str] | None, typer.Option("--milestone", help="TITLE=AMOUNT, once per milestone, in order.")
]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", envvar="HANSA_CLIENT_PROFILE", help="The profile; by default the one in use."),
]
AgentName = Annotated[
    str | None, typer.Option("--agent", help="Name or DID of the agent; by default the one in use.")
]
Key = Annotated[
    str | None,
    typer.Option(
        help="Idempotency key: with the same one the command takes effect once, however often it is run."
    ),
]
ApprovalId = Annotated[
    str | None, typer.Option(help="The approval of the agent's owner, where one was required.")
]
OrganizationName = Annotated[str, typer.Argument(help="Slug or id of the organization.")]
OfOrganization = Annotated[
    str | None,
    typer.Option(
        "--org", help="Slug or id of an organization: for its treasury, as an admin, in place of an agent."
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=100, help="How many at most.")]
prints_json: ContextVar[bool] = ContextVar("prints_json", default=False)
"""Whether the command was given --json."""


def _remember(is_json: bool) -> bool:
    prints_json.set(is_json)
    return is_json


AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result, or the failure, as JSON.", callback=_remember)
]


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be typed as they are."""
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines])
