"""`hansa verify`: verification of documents that a registry is said to have signed."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands import verification_of_agents
from hansa.doors.commands.execution import FAILED, USAGE_ERROR, fail, print_outcome
from hansa.doors.commands.options import AsJson, examples
from hansa.doors.commands.verdicts import (
    AsOf,
    KeysOfAuditor,
    KeysOfCard,
    answer,
    lines,
    moment,
    readable_sources,
)

app = typer.Typer(help="Verify signatures of a registry; needs no server.", no_args_is_help=True)


@app.command(
    "card",
    epilog=examples(
        "hansa verify card https://registry.example.org/api/v1/agents/DID/card-export",
        "hansa verify card card.json --keys https://registry.example.org/.well-known/registry-jwks.json",
    ),
)
def verify_card(
    source: Annotated[str, typer.Argument(help="Exported card: URL or file.")],
    keys: KeysOfCard = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify an exported card. Exit 0: valid signature; 1: invalid; 2: the card or the keys cannot be read."""
    from hansa.doors.verification import cards as card_verification

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, timestamp)
        verdict = card_verification.verify_source(asked)
    answer(verdict, card_verification.verdict_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


@app.command(
    "registry-card",
    epilog=examples(
        "hansa verify registry-card https://registry.example.org",
        "hansa verify registry-card card.json --keys https://registry.example.org/.well-known/registry-jwks.json",
    ),
)
def verify_registry_card(
    source: Annotated[str, typer.Argument(help="Registry (its address), or its card (URL or file).")],
    keys: KeysOfCard = None,
    at: AsOf = None,
    trust_domain: Annotated[
        str | None, typer.Option(help="Fail when the card is of another trust domain.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the card of a registry. Exit 0: valid; 1: invalid; 2: the card or the keys cannot be read."""
    from hansa.doors.verification import registry_cards as cards

    timestamp = moment(at)
    with readable_sources():
        verdict = cards.verify_source(cards.RegistryCardToVerify(source, keys, timestamp, trust_domain))
    answer(verdict, cards.registry_card_verdict_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


@app.command(
    "contract-proof",
    epilog=examples(
        "hansa verify contract-proof https://registry.example.org/api/v1/jurisdiction/contracts/7",
        "hansa verify contract-proof proof.json --card https://registry.example.org/.well-known/registry-card.json",
    ),
)
def verify_contract_proof(
    source: Annotated[str, typer.Argument(help="Proof of a contract (URL or file).")],
    *,
    card: Annotated[
        str | None,
        typer.Option(
            help="Registry card: URL or file. Required if the proof is a file; default: its host's."
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Keys of the registry: URL or file. Required if the card is a file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a contract as evidence of an authorization. Exit 0: valid; 1: invalid; 2: it cannot be read."""
    from hansa.doors.verification import registry_cards as cards
    from hansa.doors.verification.cards import decision_json

    with readable_sources():
        verdict = cards.verify_contract_source(source, card, keys)
    answer(verdict, decision_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "stock-card",
    epilog=examples(
        "hansa verify stock-card https://registry.example.org",
        "hansa verify stock-card stock.json --card https://registry.example.org/.well-known/registry-card.json",
    ),
)
def verify_stock_card(
    source: Annotated[str, typer.Argument(help="Registry (its address), or its stock card (URL or file).")],
    *,
    card: Annotated[
        str | None,
        typer.Option(
            help="Registry card: URL or file. Required if the stock card is a file; default: its host's."
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Keys of the registry: URL or file. Required if the card is a file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the stock card of a registry by its registry card. Exit 0: valid; 1: invalid; 2: it cannot be read."""
    from hansa.doors.verification import registry_cards as cards
    from hansa.doors.verification.cards import decision_json

    with readable_sources():
        verdict = cards.verify_stock_card_source(source, card, keys)
    answer(verdict, decision_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "settlement",
    epilog=examples(
        "hansa verify settlement evidence.json --keys https://peer.example.org/.well-known/registry-jwks.json",
    ),
)
def verify_settlement(
    source: Annotated[str, typer.Argument(help="Evidence of the settlement of a slash: file or URL.")],
    keys: Annotated[
        str | None,
        typer.Option(
            help="Keys of the registry that signed it: URL or file. Required if the evidence is a file."
        ),
    ] = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify what another registry signed about a slash. Exit 0: valid; 1: invalid; 2: it cannot be read."""
    from hansa.doors.verification import cards as card_verification

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, timestamp)
        verdict = card_verification.verify_settlement_source(asked)
    answer(
        verdict,
        card_verification.settlement_verdict_json(verdict),
        [verdict.code],
        at=timestamp,
        as_json=as_json,
    )


@app.command(
    "attestations",
    epilog=examples(
        "hansa verify attestations https://registry.example.org",
        "hansa verify attestations https://registry.example.org --export chain.json",
        "hansa verify attestations chain.json --keys https://registry.example.org/.well-known/auditor-jwks.json",
    ),
)
def verify_attestations(
    source: Annotated[str, typer.Argument(help="Registry (its address), or an export (URL or file).")],
    *,
    keys: Annotated[
        str | None,
        typer.Option(
            help="Keys of the auditor: URL or file. Default: the key set of the registry, or of the export."
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Accept no tolerance in amounts.")] = False,
    max_age: Annotated[
        int | None, typer.Option(min=1, help="Fail when the newest record is older than so many seconds.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write records and keys to this file, to verify them offline.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a chain of supply attestations. Exit 0: valid; 1: invalid; 2: the chain or the keys cannot be read."""
    from hansa.doors.verification import attestations as chains

    age = None if max_age is None else timedelta(seconds=max_age)
    with readable_sources():
        verdict = chains.verify_chain(chains.ChainToVerify(source, keys, exact, age, export))
    last = [
        *(f"warning {warning.code}: {warning.said}" for warning in verdict.warnings),
        f"{verdict.code}: {verdict.records} records, head {verdict.head_id}",
    ]
    answer(verdict, chains.chain_verdict_json(verdict), last, as_json=as_json)


@app.command(
    "log",
    epilog=examples(
        "hansa verify log https://registry.example.org",
        "hansa verify log https://registry.example.org --old checkpoint-of-last-week",
        "hansa verify log 'https://registry.example.org/log/proof?kind=attestation&id=7'",
        "hansa verify log https://registry.example.org --witness witness.example.org+37463e23+BKwc…",
    ),
)
def verify_log(
    source: Annotated[str, typer.Argument(help="Registry (its address), or a proof (URL or file).")],
    *,
    keys: KeysOfAuditor = None,
    old: Annotated[
        str | None, typer.Option(help="An older checkpoint of the log, which it must continue: URL or file.")
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(
            help="Verifier key NAME+ID+KEY of a witness that must have cosigned the checkpoint; may be repeated."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the log of a registry, or the proof of one leaf. Exit 0: valid; 1: invalid; 2: it cannot be read."""
    from hansa.doors.verification import log as log_verification

    with readable_sources():
        verdict = log_verification.verify_log(source, keys, old, witness or ())
    answer(verdict, log_verification.log_verdict_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "balance-proof",
    epilog=examples(
        "hansa verify balance-proof https://registry.example.org",
        "hansa verify balance-proof proof.json --balance 12.5 --keys https://registry.example.org/.well-known/auditor-jwks.json",
        "hansa verify balance-proof proof.json --at 2027-01-31T12:00:00Z --keys https://registry.example.org/.well-known/auditor-jwks.json",
    ),
)
def verify_balance_proof(
    source: Annotated[
        str,
        typer.Argument(
            help="Answer of /teg/balance/proof (file), or a registry (its address): all it owes is added up."
        ),
    ],
    *,
    keys: KeysOfAuditor = None,
    balance: Annotated[
        str | None,
        typer.Option(help="The balance that you expect; by default the one that the proof states."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Verify that it was the newest published at this time (ISO 8601)."),
    ] = None,
    attestations: Annotated[
        str | None,
        typer.Option(
            help="With --at: registry (its address) or export (URL or file) of attestations; by default the host's."
        ),
    ] = None,
    log_proof: Annotated[
        str | None,
        typer.Option(help="With --at: answer of /log/proof about the attestation of the proof: URL or file."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="With --log-proof: checkpoint of that size which you kept: URL or file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that what a registry owes is counted. Exit 0: valid; 1: invalid; 2: proof or keys cannot be read."""
    from hansa.doors.verification import balances
    from hansa.doors.verification.cards import decision_json

    timestamp = moment(at)
    if timestamp is None and (attestations or log_proof or checkpoint):
        fail("--attestations, --log-proof and --checkpoint require --at.", USAGE_ERROR)
    then = None if timestamp is None else balances.Then(timestamp, attestations, log_proof, checkpoint)
    with readable_sources():
        verdict = balances.verify_source(source, keys, balance, then)
    answer(verdict, decision_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


@app.command(
    "licence",
    epilog=examples(
        "hansa verify licence https://registry.example.org --root HASH",
        "hansa verify licence licence.json --list genesis-list.json --root HASH",
        "hansa verify licence licence.json --list genesis-list.json --root HASH --at 2027-01-31T12:00:00Z",
    ),
)
def verify_licence(
    source: Annotated[
        str, typer.Argument(help="Registry (its address), or the document of its licence (URL or file).")
    ],
    root: Annotated[
        str | None,
        typer.Option(help="Hash of the trusted genesis certificate; by default FEDERATION_ROOT_HASH."),
    ] = None,
    issued: Annotated[
        list[str] | None, typer.Option("--list", help="List of an issuer: URL or file; may be repeated.")
    ] = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify a licence, its chain and the lists of its issuers. Exit 0: verified; 1: not; 2: it cannot be read."""
    from hansa.doors.verification import licences as licence_verification

    timestamp = moment(at)
    request = licence_verification.LicenceToVerify(source, root, tuple(issued or ()), timestamp)
    with readable_sources():
        verdict = licence_verification.verify_licence_source(request)
    document = licence_verification.licence_verdict_json(verdict)
    answer(verdict, document, [f"{verdict.code}: {verdict.reason}"], at=timestamp, as_json=as_json)


app.command(
    "verdict",
    epilog=examples(
        "hansa verify verdict bundle.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)(verification_of_agents.verify_verdict)
app.command(
    "bundle",
    epilog=examples(
        "hansa verify bundle agent.bundle.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)(verification_of_agents.verify_bundle)
app.command(
    "achievement",
    epilog=examples(
        "hansa verify achievement statement.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)(verification_of_agents.verify_achievement)
app.command(
    "agent-key",
    epilog=examples(
        "hansa verify agent-key https://registry.example.org/api/v1/agents/DID/key-statement --at 2027-01-31T12:00:00Z",
        "hansa verify agent-key statement.json --kid KID --at 2027-01-31T12:00:00Z --keys https://registry.example.org/.well-known/registry-jwks.json",
    ),
)(verification_of_agents.verify_agent_key)
app.command(
    "availability",
    epilog=examples(
        "hansa verify availability https://registry.example.org/api/v1/agents/DID/availability",
        "hansa verify availability availability.json --keys https://registry.example.org/.well-known/registry-jwks-history.json --auditor-keys https://registry.example.org/.well-known/auditor-jwks.json",
    ),
)(verification_of_agents.verify_availability)
app.command(
    "reputation",
    epilog=examples(
        "hansa verify reputation https://registry.example.org/api/v1/reputation/export",
        "hansa verify reputation export.json --at 2027-01-31",
    ),
)(verification_of_agents.verify_reputation)


@app.command(
    "archive",
    epilog=examples(
        "hansa verify archive /archive --keys https://registry.example.org/.well-known/registry-jwks-history.json",
        "hansa verify archive /archive --month 2026-08 --keys history.json",
    ),
)
def verify_archive(
    directory: Annotated[Path, typer.Argument(help="Directory of archives of the journal.")],
    keys: Annotated[str, typer.Option(help="History of the registry's keys: URL or file.")],
    month: Annotated[
        str | None, typer.Option(help="Verify this month alone (2026-08).", show_default="all")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify archives of the journal. Exit 0: all valid; 1: one is not, or there is none; 2: the keys or a manifest cannot be read."""
    from hansa.doors.commands.journal import pyarrow_required
    from hansa.doors.verification import archives

    with readable_sources(), pyarrow_required():
        verdicts = archives.verify_archives(directory, keys, month)
    printed = [
        line
        for name, verdict in verdicts.items()
        for line in (f"archive of {name}", *lines(verdict.steps), f"{verdict.code}")
    ]
    is_valid = bool(verdicts) and all(verdict.is_valid for verdict in verdicts.values())
    shown = {"valid": is_valid, "archives": archives.verdicts_json(verdicts)}
    print_outcome("\n".join(printed) or f"no archive in {directory}", shown, as_json=as_json)
    sys.exit(0 if is_valid else FAILED)
