"""`attestation`: proofs of an agent about itself, circuits, and acts of administrators on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .callers import Caller, OnceCaller, as_developer, once_as_agent
from .options import AsJson, Key, Limit, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.attestations import Attestation, Circuit

app = typer.Typer(
    help="Attestations by zero-knowledge proofs (Groth16, as snarkjs writes them).", no_args_is_help=True
)

CircuitName = Annotated[str, typer.Argument(help="Id of the circuit, as `attestation circuits` shows it.")]
AttestationId = Annotated[str, typer.Argument(help="Id of the attestation.")]
AGENT = "did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e"
ATTESTATION = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


@app.command("circuits", epilog=examples("hansa-client attestation circuits"))
def list_circuits(*, limit: Limit = 50, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the circuits whose proofs the registry verifies, newest first."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.attestations.circuits(limit=limit)
        lines = [f"{one.circuit_id}  {one.status}  {one.title}" for one in found.circuits]
        show("\n".join(lines) or "No circuits.", found, as_json=as_json)


@app.command("circuit", epilog=examples("hansa-client attestation circuit solvency-1 --json"))
def show_circuit(circuit: CircuitName, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show a circuit; --json prints its verification key as well."""
    from .opening import as_anyone

    with as_anyone(profile) as registry:
        _show_circuit(registry.attestations.circuit(circuit), as_json=as_json)


@app.command(
    "submit",
    epilog=examples(
        "hansa-client attestation submit solvency-1 proof.json public.json",
        "hansa-client attestation submit delivered-1 proof.json public.json --contract 17",
    ),
)
@once_as_agent
def submit(
    own: OnceCaller,
    circuit: CircuitName,
    proof: Annotated[Path, typer.Argument(help="File with the proof (proof.json of snarkjs).")],
    public: Annotated[Path, typer.Argument(help="File with the public inputs (public.json of snarkjs).")],
    *,
    token: Annotated[str | None, typer.Option(help="Id of the payment token that the proof names.")] = None,
    contract: Annotated[int | None, typer.Option(help="Number of the contract that the proof names.")] = None,
) -> None:
    """Submit a proof of the agent about itself."""
    from hansa_client.records.attestations import ProofContext

    from .opening import read_json_file, show

    if token is not None and contract is not None:
        raise ValueError("state one of --token and --contract")
    has_context = token is not None or contract is not None
    made = own.registry.attestations.submit(
        circuit,
        read_json_file(proof, dict[str, Any]),
        read_json_file(public, list[str]),
        context=ProofContext(token_id=token, contract_id=contract) if has_context else None,
        key=own.key,
    )
    until = made.expires_at.isoformat(timespec="seconds")
    show(f"{made.attestation_id}  {made.status}  until {until}", made, as_json=own.as_json)


@app.command("list", epilog=examples(f"hansa-client attestation list {AGENT}"))
def list_attestations(
    agent: Annotated[str, typer.Argument(help="DID of the agent.")],
    *,
    limit: Limit = 50,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the attestations of an agent, newest first."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.attestations.list(agent, limit=limit)
        show("\n".join(map(_line_of, found.attestations)) or "No attestations.", found, as_json=as_json)


@app.command("show", epilog=examples(f"hansa-client attestation show {ATTESTATION} --json"))
def show_attestation(
    attestation: AttestationId, *, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Show an attestation; --json prints its proof and public inputs as well."""
    from .opening import as_anyone

    with as_anyone(profile) as registry:
        _show(registry.attestations.read(attestation), as_json=as_json)


@app.command("revoke", epilog=examples(f"hansa-client attestation revoke {ATTESTATION}"))
@once_as_agent
def revoke(own: OnceCaller, attestation: AttestationId) -> None:
    """Revoke an attestation of the agent for good."""
    _show(own.registry.attestations.revoke(attestation, key=own.key), as_json=own.as_json)


@app.command("register", epilog=examples("hansa-client attestation register circuit.json"))
@as_developer
def register(
    own: Caller,
    file: Annotated[Path, typer.Argument(help="JSON file with the members of the guide, the key included.")],
    *,
    key: Key = None,
) -> None:
    """Register a circuit, as an administrator of the platform."""
    from hansa_client.records.attestations import CircuitRegistration

    from .opening import read_json_file

    circuit = read_json_file(file, CircuitRegistration)
    _show_circuit(own.registry.attestations.register_circuit(circuit, key=key), as_json=own.as_json)


@app.command("retire", epilog=examples("hansa-client attestation retire solvency-1"))
@as_developer
def retire(own: Caller, circuit: CircuitName, *, key: Key = None) -> None:
    """Accept no proof of a circuit any more, as an administrator of the platform."""
    _show_circuit(own.registry.attestations.retire_circuit(circuit, key=key), as_json=own.as_json)


@app.command("revoke-any", epilog=examples(f"hansa-client attestation revoke-any {ATTESTATION}"))
@as_developer
def revoke_any(own: Caller, attestation: AttestationId, *, key: Key = None) -> None:
    """Revoke an attestation of any agent for good, as an administrator of enforcement."""
    _show(own.registry.attestations.revoke_as_administrator(attestation, key=key), as_json=own.as_json)


def _line_of(one: "Attestation") -> str:
    until = one.expires_at.isoformat(timespec="seconds")
    return f"{one.attestation_id}  {one.status}  {one.circuit_id}  {_subject_of(one)}  until {until}"


def _subject_of(one: "Attestation") -> str:
    if one.context is None:
        return "-"
    is_token = one.context.token_id is not None
    return f"token {one.context.token_id}" if is_token else f"contract {one.context.contract_id}"


def _show(attestation: "Attestation", *, as_json: bool) -> None:
    from .opening import show

    show(f"{_line_of(attestation)}\nholder {attestation.agent_did}", attestation, as_json=as_json)


def _show_circuit(circuit: "Circuit", *, as_json: bool) -> None:
    from .opening import show

    lines = [
        f"{circuit.circuit_id}  {circuit.status}  {circuit.title}",
        circuit.statement,
        f"source {circuit.source_uri}",
        f"setup  {circuit.setup_note}",
        "The meaning of a circuit rests on its registrar.",
    ]
    show("\n".join(lines), circuit, as_json=as_json)
