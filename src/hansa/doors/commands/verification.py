"""`hansa verify`: verification of documents that a registry is said to have signed."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from hansa.doors.commands.execution import FAILED, USAGE_ERROR, fail, print_outcome
from hansa.doors.commands.options import AsJson, examples

if TYPE_CHECKING:
    from hansa_verify import Step

AsOf = Annotated[
    str | None,
    typer.Option(help="Verify as of this time (ISO 8601), with the key history of the registry."),
]
KeysOfCard = Annotated[
    str | None,
    typer.Option(
        help="Keys of the registry: URL or file. Required if the card is a file; by default the keys of its host."
    ),
]
KeysOfAuditor = Annotated[
    str | None,
    typer.Option(help="Keys of the auditor: URL or file. Required for a file; by default those of the host."),
]

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

    with _readable_sources():
        asked = card_verification.CardToVerify(source, keys, _moment(at))
        verdict = card_verification.verify_source(asked)
    _answer(verdict, card_verification.verdict_json(verdict), [verdict.code], as_json=as_json)


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

    with _readable_sources():
        verdict = cards.verify_source(cards.RegistryCardToVerify(source, keys, _moment(at), trust_domain))
    _answer(verdict, cards.registry_card_verdict_json(verdict), [verdict.code], as_json=as_json)


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

    with _readable_sources():
        verdict = cards.verify_contract_source(source, card, keys)
    _answer(verdict, decision_json(verdict), [verdict.code], as_json=as_json)


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

    with _readable_sources():
        verdict = cards.verify_stock_card_source(source, card, keys)
    _answer(verdict, decision_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "bundle",
    epilog=examples(
        "hansa verify bundle agent.bundle.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)
def verify_bundle(
    source: Annotated[str, typer.Argument(help="Bundle of an agent: file or URL.")],
    keys: Annotated[
        str | None, typer.Option(help="Keys of the registry: URL or file. Required if the bundle is a file.")
    ] = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify the bundle of an agent. Exit 0: valid signature; 1: invalid; 2: the bundle or the keys cannot be read."""
    from hansa.doors.verification import cards as card_verification

    with _readable_sources():
        asked = card_verification.CardToVerify(source, keys, _moment(at))
        verdict = card_verification.verify_agent_bundle_source(asked)
    _answer(verdict, card_verification.verdict_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "achievement",
    epilog=examples(
        "hansa verify achievement statement.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)
def verify_achievement(
    source: Annotated[str, typer.Argument(help="Statement of an achievement: file or URL.")],
    keys: Annotated[
        str | None,
        typer.Option(help="Keys of the registry: URL or file. Required if the statement is a file."),
    ] = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify that a registry stated an achievement. Exit 0: valid signature; 1: invalid; 2: statement or keys cannot be read."""
    from hansa.doors.verification import cards as card_verification

    with _readable_sources():
        asked = card_verification.CardToVerify(source, keys, _moment(at))
        verdict = card_verification.verify_achievement_source(asked)
    _answer(verdict, card_verification.verdict_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "verdict",
    epilog=examples(
        "hansa verify verdict bundle.json --keys https://registry.example.org/.well-known/registry-jwks.json"
    ),
)
def verify_verdict(
    source: Annotated[str, typer.Argument(help="Bundle of a dispute: file or URL.")],
    keys: Annotated[
        str | None, typer.Option(help="Keys of the registry: URL or file. Required if the bundle is a file.")
    ] = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Compute what the facts of a dispute come to. Exit 0: as the bundle states; 1: not, or not signed; 2: cannot be read."""
    from hansa.doors.verification import cards as card_verification

    with _readable_sources():
        asked = card_verification.CardToVerify(source, keys, _moment(at))
        verdict, outcome = card_verification.verify_bundle_source(asked)
    document = card_verification.verdict_json(verdict)
    lines = _lines(verdict.steps)
    is_stated = False
    if outcome is not None:
        proposal, reduction = outcome.proposal, outcome.reduction
        is_stated = outcome.is_proposal_stated and outcome.is_reduction_stated
        computed = {"ruling": proposal.ruling, "rule": proposal.rule, "why": proposal.why}
        document |= {"proposal": computed, "as_stated": is_stated}
        lines.append(
            f"{'ok  ' if outcome.is_proposal_stated else 'FAIL'} proposal: {proposal.ruling or proposal.rule}: {proposal.why}"
        )
        if reduction is not None:
            share, counted = format(reduction.share, "f"), list(reduction.attestation_ids)
            document["reduction"] = {"share": share, "attestation_ids": counted}
            lines.append(
                f"{'ok  ' if outcome.is_reduction_stated else 'FAIL'} slash: {len(counted)} attestations take {share} of it"
            )
    print_outcome("\n".join([*lines, verdict.code]), document, as_json=as_json)
    sys.exit(0 if is_stated else FAILED)


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

    with _readable_sources():
        asked = card_verification.CardToVerify(source, keys, _moment(at))
        verdict = card_verification.verify_settlement_source(asked)
    _answer(verdict, card_verification.settlement_verdict_json(verdict), [verdict.code], as_json=as_json)


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
    with _readable_sources():
        verdict = chains.verify_chain(chains.ChainToVerify(source, keys, exact, age, export))
    last = [
        *(f"warning {warning.code}: {warning.said}" for warning in verdict.warnings),
        f"{verdict.code}: {verdict.records} records, head {verdict.head_id}",
    ]
    _answer(verdict, chains.chain_verdict_json(verdict), last, as_json=as_json)


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

    with _readable_sources():
        verdict = log_verification.verify_log(source, keys, old, witness or ())
    _answer(verdict, log_verification.log_verdict_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "balance-proof",
    epilog=examples(
        "hansa verify balance-proof https://registry.example.org",
        "hansa verify balance-proof proof.json --balance 12.5 --keys https://registry.example.org/.well-known/auditor-jwks.json",
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
    as_json: AsJson = False,
) -> None:
    """Verify that what a registry owes is counted. Exit 0: valid; 1: invalid; 2: proof or keys cannot be read."""
    from hansa.doors.verification import attestations as balance_verification
    from hansa.doors.verification.cards import decision_json

    with _readable_sources():
        verdict = balance_verification.verify_source(source, keys, balance)
    _answer(verdict, decision_json(verdict), [verdict.code], as_json=as_json)


@app.command(
    "licence",
    epilog=examples(
        "hansa verify licence https://registry.example.org --root HASH",
        "hansa verify licence licence.json --list genesis-list.json --root HASH",
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
    lists: Annotated[
        list[str] | None, typer.Option("--list", help="List of an issuer: URL or file; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a licence, its chain and the lists of its issuers. Exit 0: verified; 1: not; 2: it cannot be read."""
    from hansa.doors.verification import licences as licence_verification

    request = licence_verification.LicenceToVerify(source, root, tuple(lists or ()))
    with _readable_sources():
        verdict = licence_verification.verify_licence_source(request)
    document = licence_verification.licence_verdict_json(verdict)
    _answer(verdict, document, [f"{verdict.code}: {verdict.reason}"], as_json=as_json)


@app.command(
    "reputation",
    epilog=examples("hansa verify reputation https://registry.example.org/api/v1/reputation/export"),
)
def verify_reputation(
    source: Annotated[str, typer.Argument(help="Export of a registry: URL, or file of one whole export.")],
    as_json: AsJson = False,
) -> None:
    """Recompute every score from exported events. Exit 0: all scores agree; 1: some differ; 2: the export cannot be read."""
    from hansa.doors.verification import reputation as reputation_verification

    with _readable_sources():
        verdict = reputation_verification.verify_export(source)
    print_outcome(verdict.text, verdict.members, as_json=as_json)
    sys.exit(0 if verdict.is_valid else FAILED)


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

    with _readable_sources(), pyarrow_required():
        verdicts = archives.verify_archives(directory, keys, month)
    lines = [
        line
        for name, verdict in verdicts.items()
        for line in (f"archive of {name}", *_lines(verdict.steps), f"{verdict.code}")
    ]
    is_valid = bool(verdicts) and all(verdict.is_valid for verdict in verdicts.values())
    shown = {"valid": is_valid, "archives": archives.verdicts_json(verdicts)}
    print_outcome("\n".join(lines) or f"no archive in {directory}", shown, as_json=as_json)
    sys.exit(0 if is_valid else FAILED)


@contextmanager
def _readable_sources() -> Iterator[None]:
    """A document or keys that cannot be read are an error of usage."""
    from hansa.doors.verification.cards import CannotRead

    try:
        yield
    except CannotRead as failure:
        fail(str(failure), USAGE_ERROR)


class _Judged(Protocol):
    """Members that every verdict has."""

    @property
    def steps(self) -> tuple["Step", ...]: ...

    @property
    def is_valid(self) -> bool: ...


def _answer(verdict: _Judged, document: Any, last: Sequence[str], *, as_json: bool) -> NoReturn:
    """Print each step and the closing lines, or the document, and exit with the outcome."""
    print_outcome("\n".join([*_lines(verdict.steps), *last]), document, as_json=as_json)
    sys.exit(0 if verdict.is_valid else FAILED)


def _lines(steps: Sequence["Step"]) -> list[str]:
    return [f"{'ok  ' if step.holds else 'FAIL'} {step.name}: {step.said}" for step in steps]


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        timestamp = None
    if timestamp is None or timestamp.tzinfo is None:
        fail(f"--at {text!r} is invalid: expected a time such as 2026-01-31T12:00:00Z.", USAGE_ERROR)
    return timestamp
