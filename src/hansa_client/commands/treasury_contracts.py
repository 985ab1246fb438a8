"""`treasury`: contracts of an organization."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, Key, Limit, OrganizationName, ProfileName, examples
from .treasury import app

if TYPE_CHECKING:
    from hansa_client.records.contracts import Contract

__all__ = ["app"]

ContractId = Annotated[
    int, typer.Argument(min=1, help="Id of the contract, as `treasury contracts` shows it.")
]


@app.command("contracts", epilog=examples("hansa-client treasury contracts guild"))
def list_contracts(
    organization: OrganizationName,
    *,
    limit: Limit = 50,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the contracts of a treasury, newest first."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        page = registry.treasury(organization).contracts(limit=limit)
        show("\n".join(map(_contract_line, page.items)) or "No contracts.", page, as_json=as_json)


@app.command("approve-contract", epilog=examples("hansa-client treasury approve-contract guild 17"))
def approve_contract(
    organization: OrganizationName,
    contract: ContractId,
    *,
    milestone: Annotated[int | None, typer.Option(min=0, help="Number of the milestone.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Approve the submitted work of a contract, which pays it, as an admin."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        approved = registry.treasury(organization).approve_contract(contract, milestone=milestone, key=key)
        show(_contract_line(approved), approved, as_json=as_json)


@app.command(
    "request-changes", epilog=examples('hansa-client treasury request-changes guild 17 --note "Page 3."')
)
def request_changes(
    organization: OrganizationName,
    contract: ContractId,
    *,
    note: Annotated[str | None, typer.Option(help="What is missing.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Return the submitted work of a contract to the provider, as an admin."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        returned = registry.treasury(organization).request_changes(contract, note=note, key=key)
        show(_contract_line(returned), returned, as_json=as_json)


@app.command("reject-contract", epilog=examples("hansa-client treasury reject-contract guild 17"))
def mark_contract_failed(
    organization: OrganizationName,
    contract: ContractId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Declare that a contract has failed, as an admin."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        failed = registry.treasury(organization).mark_contract_failed(contract, reason=reason, key=key)
        show(_contract_line(failed), failed, as_json=as_json)


@app.command("cancel-contract", epilog=examples("hansa-client treasury cancel-contract guild 17"))
def cancel_contract(
    organization: OrganizationName,
    contract: ContractId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a proposal of a treasury that is not accepted yet, as an admin."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        withdrawn = registry.treasury(organization).cancel_contract(contract, reason=reason, key=key)
        show(_contract_line(withdrawn), withdrawn, as_json=as_json)


def _contract_line(contract: "Contract") -> str:
    return f"{contract.id}  {contract.status}  {contract.amount:f} {contract.currency}  {contract.title}"
