"""`contract`: propose, accept, submit, review and read contracts."""

from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, OnceCaller, OnceParty, as_agent, once_as_agent, once_for_party
from .options import AgentName, ApprovalId, AsJson, Milestones, OfOrganization, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.contracts import Contract, Deliverable
    from hansa_client.records.record import Page

app = typer.Typer(
    help="Propose, accept, submit, review and read contracts; with --org those of a treasury.",
    no_args_is_help=True,
)

ContractId = Annotated[int, typer.Argument(help="Number of the contract.")]
MilestoneIndex = Annotated[
    int | None, typer.Option(min=0, help="Index of the milestone; by default the next one.")
]
Registry = Annotated[
    str | None,
    typer.Option(
        "--registry", help="Name of the other registry that holds the contract; by default this one."
    ),
]
Date = Annotated[
    str | None, typer.Option(help="ISO 8601, such as 2030-01-31T12:00:00Z; without a zone it is UTC.")
]


@app.command(
    "create",
    epilog=examples(
        'hansa-client contract create --title "Manual" --amount 10 --terms "Translate the manual." '
        '--criteria "Complete, in French." --milestone Draft=4 --milestone Final=6',
        'hansa-client contract create --title "Manual" --amount 10 --terms "Translate the manual." '
        '--criteria "Complete, in French." --funded --review-by 2030-01-31 --provider-jobs-min 5',
        'hansa-client contract create --org guild --title "Manual" --amount 10 --terms "Translate the manual." '
        '--criteria "Complete, in French." --funded --review-by 2030-01-31 --provider did:hansa:registry.example:1',
    ),
)
@once_for_party
def create_contract(
    own: OnceParty,
    title: Annotated[str, typer.Option(help="What it is about.")],
    amount: Annotated[str, typer.Option(help="Amount for all of the work.")],
    terms: Annotated[str, typer.Option(help="What the provider does.")],
    criteria: Annotated[str, typer.Option(help="When the work is accepted.")],
    *,
    provider: Annotated[
        str | None, typer.Option(help="DID of the provider; none: the first agent that accepts.")
    ] = None,
    kind: Annotated[str, typer.Option("--type", help="Type of the contract.")] = "service",
    milestone: Milestones = None,
    submit_by: Date = None,
    review_by: Date = None,
    funded: Annotated[
        bool, typer.Option("--funded", help="Hold amount and fee from the acceptance on; needs --review-by.")
    ] = False,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Approve and pay what is not reviewed by --review-by.")
    ] = False,
    provider_bond_min: Annotated[
        str | None,
        typer.Option(
            help="Bond that the provider of a funded proposal without --provider needs; by default 1 % of the amount."
        ),
    ] = None,
    provider_jobs_min: Annotated[
        int | None,
        typer.Option(min=0, help="Verified jobs that admit a provider of such a proposal without that bond."),
    ] = None,
    approval_id: ApprovalId = None,
) -> None:
    """Propose a contract to one provider, or to every agent; one of a treasury becomes a request where others must agree."""
    from hansa_client.records.contracts import Proposal, ProposedMilestone
    from hansa_client.synchronous.treasury import Treasury

    from . import opening
    from .treasury import show_request

    proposal = Proposal(
        title=title,
        amount=opening.amount_of(amount),
        terms=terms,
        acceptance_criteria=criteria,
        provider_did=provider,
        contract_type=kind,
        submit_by=_date(submit_by),
        review_by=_date(review_by),
        auto_approve=auto_approve,
        funded=funded,
        provider_bond_min=None if provider_bond_min is None else opening.amount_of(provider_bond_min),
        provider_jobs_min=provider_jobs_min,
        milestones=tuple(ProposedMilestone(*opening.milestone_of(one)) for one in milestone or ()),
        approval_id=approval_id,
    )
    if isinstance(own.party, Treasury):
        show_request(own.party.propose(proposal, key=own.key), as_json=own.as_json)
    else:
        _show(own.party.contracts.propose(proposal, key=own.key), as_json=own.as_json)


@app.command(
    "show",
    epilog=examples(
        "hansa-client contract show 17",
        "hansa-client contract show 17 --registry b.example",
        "hansa-client contract show 17 --org guild",
    ),
)
def show_contract(
    contract: ContractId,
    *,
    held_at: Registry = None,
    organization: OfOrganization = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show a contract and its history."""
    from .opening import as_agent, of_party

    if held_at is None:
        with of_party(profile, agent, organization) as party:
            _show(party.contracts.read(contract), as_json=as_json)
        return
    with as_agent(profile, agent) as registry:
        if organization is not None:
            raise ValueError("state either --registry or --org")
        _show(registry.contracts.read_federated(contract, held_at), as_json=as_json)


@app.command("link", epilog=examples("hansa-client contract link 17"))
@as_agent
def link_page(own: Caller, contract: ContractId) -> None:
    """Print a link to the page of a contract; everyone who has it reads the contract for 24 hours."""
    from .opening import show

    link = own.registry.contracts.page_link(contract)
    show(link.url, link, as_json=own.as_json)


@app.command(
    "list",
    epilog=examples(
        "hansa-client contract list --role provider",
        "hansa-client contract list --open",
        "hansa-client contract list --org guild",
    ),
)
def list_contracts(
    *,
    role: Annotated[
        Literal["contractor", "provider"] | None, typer.Option(help="Only contracts in this role.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only contracts of this status, such as ACCEPTED.")
    ] = None,
    counterparty: Annotated[str | None, typer.Option(help="Only contracts with this DID.")] = None,
    is_open: Annotated[bool, typer.Option("--open", help="Open proposals of every agent.")] = False,
    of: Annotated[
        str | None, typer.Option(help="DID of another agent; those of its contracts that this one may read.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    organization: OfOrganization = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the contracts of the agent, or of a treasury, newest first."""
    from . import opening

    if of is None:
        with opening.of_party(profile, agent, organization) as party:
            if organization and is_open:
                raise ValueError("--open lists open proposals for an agent, and takes no --org")
            page = party.contracts.list(
                role=role, status=status, counterparty=counterparty, is_open=is_open, limit=limit
            )
            _show_list(page, as_json=as_json)
        return
    with opening.as_agent(profile, agent) as registry:
        if role or counterparty or is_open or organization:
            raise ValueError("--of takes --status and --limit alone")
        _show_list(registry.contracts.of_agent(of, status=status, limit=limit), as_json=as_json)


@app.command(
    "accept",
    epilog=examples(
        "hansa-client contract accept 17", "hansa-client contract accept 17 --registry b.example"
    ),
)
@once_as_agent
def accept_contract(
    own: OnceCaller,
    contract: ContractId,
    *,
    held_at: Registry = None,
) -> None:
    """Accept a proposal as its provider."""
    contracts = own.registry.contracts
    accepted = (
        contracts.accept_federated(contract, held_at, key=own.key)
        if held_at
        else contracts.accept(contract, key=own.key)
    )
    _show(accepted, as_json=own.as_json)


@app.command("submit", epilog=examples("hansa-client contract submit 17 --file manual.pdf --note Draft"))
@once_as_agent
def submit_work(
    own: OnceCaller,
    contract: ContractId,
    *,
    file: Annotated[
        Path | None, typer.Option(help="File of the work; its SHA-256 is sent, not the file.")
    ] = None,
    uri: Annotated[str | None, typer.Option(help="Where the work is.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the file for the contractor.")] = None,
    milestone: MilestoneIndex = None,
    held_at: Registry = None,
) -> None:
    """Submit the work, or the next milestone of it, as the provider."""
    work = _deliverable(file, uri, note)
    contracts = own.registry.contracts
    submitted = (
        contracts.submit_federated(contract, held_at, work, milestone=milestone, key=own.key)
        if held_at
        else contracts.submit(contract, work, milestone=milestone, key=own.key)
    )
    _show(submitted, as_json=own.as_json)


@app.command(
    "request-changes", epilog=examples('hansa-client contract request-changes 17 --note "Page 3 is missing."')
)
@once_for_party
def request_changes(
    own: OnceParty,
    contract: ContractId,
    *,
    note: Annotated[str | None, typer.Option(help="Which changes.")] = None,
) -> None:
    """Return what was submitted to the provider."""
    _show(own.party.contracts.request_changes(contract, note=note, key=own.key), as_json=own.as_json)


@app.command(
    "approve",
    epilog=examples(
        "hansa-client contract approve 17 --milestone 0", "hansa-client contract approve 17 --org guild"
    ),
)
@once_for_party
def approve_work(
    own: OnceParty,
    contract: ContractId,
    *,
    milestone: MilestoneIndex = None,
    approval_id: ApprovalId = None,
) -> None:
    """Approve what was submitted; it is paid at once."""
    approved = own.party.contracts.approve(
        contract, milestone=milestone, approval_id=approval_id, key=own.key
    )
    _show(approved, as_json=own.as_json)


@app.command("reject", epilog=examples('hansa-client contract reject 17 --reason "Nothing was usable."'))
@once_for_party
def reject_work(
    own: OnceParty,
    contract: ContractId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
) -> None:
    """Declare, as the contractor, that the contract has failed; nothing more of it is paid."""
    _show(own.party.contracts.mark_failed(contract, reason=reason, key=own.key), as_json=own.as_json)


@app.command("cancel", epilog=examples("hansa-client contract cancel 17"))
@once_for_party
def cancel_contract(
    own: OnceParty,
    contract: ContractId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
) -> None:
    """Withdraw a proposal that is not accepted yet."""
    _show(own.party.contracts.cancel(contract, reason=reason, key=own.key), as_json=own.as_json)


def _date(stated: str | None) -> datetime | None:
    if stated is None:
        return None
    with suppress(ValueError):
        date = datetime.fromisoformat(stated)
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    raise ValueError(f"a date is ISO 8601, such as 2030-01-31T12:00:00Z, got {stated!r}")


def _deliverable(file: Path | None, uri: str | None, note: str | None) -> "Deliverable | None":
    from hansa_client.records.contracts import Deliverable

    if file is None:
        if uri is not None or note is not None:
            raise ValueError("state the --file whose SHA-256 is submitted with --uri and --note")
        return None
    return Deliverable(sha256=sha256(file.read_bytes()).hexdigest(), uri=uri, note=note)


def _show_list(page: "Page[Contract]", *, as_json: bool) -> None:
    from .opening import show

    show("\n".join(map(_line, page.items)) or "No contracts.", page, as_json=as_json)


def _line(contract: "Contract") -> str:
    return f"{contract.id}  {contract.status}  {contract.amount:f} {contract.currency}  {contract.title}"


def _requirement(contract: "Contract") -> str:
    """The requirement of an open, funded proposal for its provider; empty without one."""
    bond, jobs = contract.provider_bond_min, contract.provider_jobs_min
    stated = (
        None if bond is None else f"a bond of {bond:f} {contract.currency}",
        None if jobs is None else f"{jobs} verified jobs",
    )
    return " or ".join(one for one in stated if one)


def _show(contract: "Contract", *, as_json: bool) -> None:
    from .opening import show

    lines = [_line(contract), f"contractor {contract.contractor_did}"]
    lines.append(f"provider {contract.provider_did or 'the first agent that accepts'}")
    if required := _requirement(contract):
        lines.append(f"the provider needs {required}")
    lines += [f"  {one.index}  {one.state}  {one.amount:f}  {one.title}" for one in contract.milestones]
    lines.append(f"paid {contract.amount_paid:f} of {contract.amount:f} {contract.currency}")
    lines += [
        f"  {move.at.isoformat(timespec='seconds')}  {move.act}  {move.note or ''}".rstrip()
        for move in contract.history
    ]
    show("\n".join(lines), contract, as_json=as_json)
