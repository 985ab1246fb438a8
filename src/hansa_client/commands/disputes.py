"""`dispute`: file and read disputes, and add evidence."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import replace

from .callers import Caller, OnceCaller, OnceParty, as_agent, once_as_agent, once_for_party
from .options import AgentName, AsJson, OfOrganization, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.disputes import Dispute, Evidence

app = typer.Typer(
    help="File and read disputes, and add evidence; with --org for a treasury.", no_args_is_help=True
)

DisputeId = Annotated[int, typer.Argument(help="Number of the dispute.")]
Reason = Literal["UNFAIR_FEE", "SERVICE_NOT_DELIVERED", "POOR_QUALITY", "CONTRACT_VIOLATION", "OTHER"]
DEFENDANT = "did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e"


@app.command(
    "file",
    epilog=examples(
        f"hansa-client dispute file {DEFENDANT} --contract 17 --reason POOR_QUALITY "
        '--description "Half of the pages are missing." --amount 5',
        f"hansa-client dispute file {DEFENDANT} --contract 17 --registry b.example --reason OTHER "
        '--description "The work is done and not reviewed."',
        f"hansa-client dispute file {DEFENDANT} --org guild --contract 17 --reason OTHER "
        '--description "Half of the pages are missing."',
    ),
)
@once_for_party
def file_dispute(
    own: OnceParty,
    defendant: Annotated[str, typer.Argument(help="DID of the agent that the dispute is against.")],
    reason: Annotated[Reason, typer.Option(help="What the complaint is about.")],
    description: Annotated[str, typer.Option(help="What happened.")],
    *,
    contract: Annotated[int | None, typer.Option(help="Number of the contract in dispute.")] = None,
    token: Annotated[str | None, typer.Option(help="Id of the payment token in dispute.")] = None,
    transaction: Annotated[
        str | None, typer.Option(help="Id of the transfer in dispute, such as tx-42.")
    ] = None,
    held_at: Annotated[
        str | None,
        typer.Option("--registry", help="Name of the other registry that holds the --contract."),
    ] = None,
    amount: Annotated[str | None, typer.Option(help="Amount claimed; by default all of the payment.")] = None,
    attestation: Annotated[list[str] | None, typer.Option(help="Id of an attestation; repeatable.")] = None,
) -> None:
    """File a dispute against another agent; one about a contract freezes what that holds."""
    from hansa_client.records.disputes import Complaint
    from hansa_client.synchronous.disputes import Disputes

    from . import opening

    complaint = Complaint(
        defendant_did=defendant,
        reason_code=reason,
        description=description,
        contract_id=contract,
        token_id=token,
        transaction_id=transaction,
        claimed_amount=None if amount is None else opening.amount_of(amount),
        attestation_ids=tuple(attestation or ()),
    )
    if held_at is None:
        filed = own.party.disputes.file(complaint, key=own.key)
    elif isinstance(own.party.disputes, Disputes):
        filed = own.party.disputes.file_federated(complaint, held_at, key=own.key)
    else:
        raise ValueError("state either --registry or --org")
    show_dispute_record(filed, as_json=own.as_json)


@app.command(
    "malpractice",
    epilog=examples('hansa-client dispute malpractice 17 --description "Nothing was delivered." --amount 5'),
)
@once_as_agent
def record_malpractice(
    own: OnceCaller,
    contract: Annotated[int, typer.Argument(help="Number of the contract.")],
    *,
    description: Annotated[
        str | None, typer.Option(help="What happened, where there is no evidence of it.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="File that is the evidence; its SHA-256 is sent, not the file.")
    ] = None,
    uri: Annotated[str | None, typer.Option(help="Where the evidence is.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the file.")] = None,
    amount: Annotated[str | None, typer.Option(help="Damages claimed.")] = None,
) -> None:
    """Record malpractice of the other party of a contract; it opens a dispute."""
    from . import opening

    if (description is None) == (file is None):
        raise ValueError("state either a --description or the --file that is the evidence")
    claimed = None if amount is None else opening.amount_of(amount)
    evidence = description or [_evidence(file, uri, note, None)]
    recorded = own.registry.disputes.malpractice(contract, evidence, claimed_damages=claimed, key=own.key)
    opening.show(f"{recorded.dispute_id}  {recorded.status}", recorded, as_json=own.as_json)


@app.command(
    "list",
    epilog=examples(
        "hansa-client dispute list --role complainant --status OPEN", "hansa-client dispute list --org guild"
    ),
)
def list_disputes(
    *,
    role: Annotated[
        Literal["complainant", "defendant"] | None, typer.Option(help="Only disputes in this role.")
    ] = None,
    status: Annotated[
        Literal["OPEN", "VOTING", "CLOSED"] | None, typer.Option(help="Only disputes of this status.")
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="DID of another agent; those that this one may read.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    organization: OfOrganization = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the disputes of the agent, or of a treasury, newest first."""
    from hansa_client.synchronous.disputes import Disputes

    from .opening import of_party, show

    with of_party(profile, agent, organization) as party:
        disputes = party.disputes
        if of is None:
            page = disputes.list(role=role, status=status, limit=limit)
        elif isinstance(disputes, Disputes):
            page = disputes.of_agent(of, role=role, status=status, limit=limit)
        else:
            raise ValueError("state either --of or --org")
        show("\n".join(map(line_of, page.items)) or "No disputes.", page, as_json=as_json)


@app.command("show", epilog=examples("hansa-client dispute show 7"))
def show_dispute(
    dispute: DisputeId,
    *,
    organization: OfOrganization = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show a dispute and its evidence."""
    from .opening import of_party

    with of_party(profile, agent, organization) as party:
        show_dispute_record(party.disputes.read(dispute), as_json=as_json)


@app.command(
    "evidence",
    epilog=examples(
        "hansa-client dispute evidence 7 --file manual.pdf --uri https://work.example.org/1",
        "hansa-client dispute evidence 7 --receipt receipt.jws",
        "hansa-client dispute evidence 7 --attestation 0f8fad5b-d9cb-469f-a165-70867728950e",
    ),
)
@once_for_party
def add_evidence(
    own: OnceParty,
    dispute: DisputeId,
    *,
    file: Annotated[
        Path | None, typer.Option(help="File that is the evidence; its SHA-256 is sent, not the file.")
    ] = None,
    uri: Annotated[str | None, typer.Option(help="Where the evidence is.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the file.")] = None,
    receipt: Annotated[
        Path | None, typer.Option(help="File with a delivery receipt, as `receipt` printed it.")
    ] = None,
    attestation: Annotated[list[str] | None, typer.Option(help="Id of an attestation; repeatable.")] = None,
) -> None:
    """Add evidence as a party of the dispute: a file, the delivery receipt of a paid call, or attestations."""
    from hansa_client.records.disputes import Citation

    cited = tuple(attestation or ())
    if cited and (file, uri, note, receipt) == (None, None, None, None):
        evidence: Evidence | Citation = Citation(cited)
    else:
        evidence = replace(_evidence(file, uri, note, receipt), attestation_ids=cited)
    show_dispute_record(own.party.disputes.add_evidence(dispute, evidence, key=own.key), as_json=own.as_json)


@app.command("bundle", epilog=examples("hansa-client dispute bundle 7 --json > bundle.json"))
@as_agent
def show_bundle(own: Caller, dispute: DisputeId) -> None:
    """Show which ruling the facts of a dispute give; --json prints the signed facts."""
    from .opening import show

    bundle = own.registry.disputes.bundle(dispute)
    proposal = bundle["proposal"]
    line = f"{proposal['ruling'] or 'no ruling'}  {proposal['rule']}: {proposal['why']}"
    show(line, bundle, as_json=own.as_json)


def _evidence(file: Path | None, uri: str | None, note: str | None, receipt: Path | None) -> "Evidence":
    from hansa_client.receipts import read_receipt
    from hansa_client.records.disputes import Evidence

    if (file is None) == (receipt is None):
        raise ValueError("state either the --file that is the evidence or a --receipt")
    if file is not None:
        return Evidence(sha256=sha256(file.read_bytes()).hexdigest(), uri=uri, note=note)
    if receipt is None or note is not None:
        raise ValueError("the note of a --receipt is the receipt itself; leave --note out")
    text = receipt.read_text().strip()
    read_receipt(text)
    return Evidence.of_note(text, uri=uri)


def line_of(dispute: "Dispute") -> str:
    """A dispute in one line."""
    return f"{dispute.id}  {dispute.status}  {dispute.ruling or dispute.reason_code}  {dispute.description}"


def show_dispute_record(dispute: "Dispute", *, as_json: bool) -> None:
    """Print a dispute with its evidence."""
    from .opening import show

    lines = [line_of(dispute), f"complainant {dispute.complainant_did}", f"defendant {dispute.defendant_did}"]
    if dispute.bound is not None:
        lines.append(f"at most {dispute.bound:f}")
    lines.append(f"evidence until {dispute.evidence_until.isoformat(timespec='seconds')}")
    lines += [f"  {one.by}  {one.sha256}  {one.uri or ''}".rstrip() for one in dispute.evidence]
    show("\n".join(lines), dispute, as_json=as_json)
