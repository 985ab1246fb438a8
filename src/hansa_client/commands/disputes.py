"""`dispute`: file and read disputes, and add evidence."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import AgentName, AsJson, Key, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.disputes import Dispute, Evidence

app = typer.Typer(help="File and read disputes, and add evidence.", no_args_is_help=True)

DisputeId = Annotated[int, typer.Argument(help="Number of the dispute.")]
Reason = Literal["UNFAIR_FEE", "SERVICE_NOT_DELIVERED", "POOR_QUALITY", "CONTRACT_VIOLATION", "OTHER"]
DEFENDANT = "did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e"


@app.command(
    "file",
    epilog=examples(
        f"hansa-client dispute file {DEFENDANT} --contract 17 --reason POOR_QUALITY "
        '--description "Half of the pages are missing." --amount 5'
    ),
)
def file_dispute(
    defendant: Annotated[str, typer.Argument(help="DID of the agent that the dispute is against.")],
    reason: Annotated[Reason, typer.Option(help="What the complaint is about.")],
    description: Annotated[str, typer.Option(help="What happened.")],
    *,
    contract: Annotated[int | None, typer.Option(help="Number of the contract in dispute.")] = None,
    token: Annotated[str | None, typer.Option(help="Id of the payment token in dispute.")] = None,
    transaction: Annotated[
        str | None, typer.Option(help="Id of the transfer in dispute, such as tx-42.")
    ] = None,
    amount: Annotated[str | None, typer.Option(help="Amount claimed; by default all of the payment.")] = None,
    attestation: Annotated[list[str] | None, typer.Option(help="Id of an attestation; repeatable.")] = None,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """File a dispute against another agent; one about a contract freezes what that holds."""
    from hansa_client.calls import new_key
    from hansa_client.records.disputes import Complaint

    from . import opening

    key = key or new_key()
    with opening.as_agent(profile, agent) as registry, opening.under_key(key):
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
        _show(registry.disputes.file(complaint, key=key), as_json=as_json)


@app.command("list", epilog=examples("hansa-client dispute list --role complainant --status OPEN"))
def list_disputes(
    *,
    role: Annotated[
        Literal["complainant", "defendant"] | None, typer.Option(help="Only disputes in this role.")
    ] = None,
    status: Annotated[
        Literal["OPEN", "VOTING", "CLOSED"] | None, typer.Option(help="Only disputes of this status.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the agent's disputes, newest first."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        page = registry.disputes.list(role=role, status=status, limit=limit)
        show("\n".join(map(_line, page.items)) or "No disputes.", page, as_json=as_json)


@app.command("show", epilog=examples("hansa-client dispute show 7"))
def show_dispute(
    dispute: DisputeId, *, agent: AgentName = None, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Show a dispute and its evidence."""
    from .opening import as_agent

    with as_agent(profile, agent) as registry:
        _show(registry.disputes.read(dispute), as_json=as_json)


@app.command(
    "evidence",
    epilog=examples(
        "hansa-client dispute evidence 7 --file manual.pdf --uri https://work.example.org/1",
        "hansa-client dispute evidence 7 --receipt receipt.jws",
    ),
)
def add_evidence(
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
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Add evidence as a party of the dispute: a file, or the delivery receipt of a paid call."""
    from hansa_client.calls import new_key

    from .opening import as_agent, under_key

    key = key or new_key()
    with as_agent(profile, agent) as registry, under_key(key):
        evidence = _evidence(file, uri, note, receipt)
        _show(registry.disputes.add_evidence(dispute, evidence, key=key), as_json=as_json)


@app.command("bundle", epilog=examples("hansa-client dispute bundle 7 --json > bundle.json"))
def show_bundle(
    dispute: DisputeId, *, agent: AgentName = None, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Show which ruling the facts of a dispute give; --json prints the signed facts."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        bundle = registry.disputes.bundle(dispute)
        proposal = bundle["proposal"]
        line = f"{proposal['ruling'] or 'no ruling'}  {proposal['rule']}: {proposal['why']}"
        show(line, bundle, as_json=as_json)


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


def _line(dispute: "Dispute") -> str:
    return f"{dispute.id}  {dispute.status}  {dispute.ruling or dispute.reason_code}  {dispute.description}"


def _show(dispute: "Dispute", *, as_json: bool) -> None:
    from .opening import show

    lines = [_line(dispute), f"complainant {dispute.complainant_did}", f"defendant {dispute.defendant_did}"]
    if dispute.bound is not None:
        lines.append(f"at most {dispute.bound:f}")
    lines.append(f"evidence until {dispute.evidence_until.isoformat(timespec='seconds')}")
    lines += [f"  {one.by}  {one.sha256}  {one.uri or ''}".rstrip() for one in dispute.evidence]
    show("\n".join(lines), dispute, as_json=as_json)
