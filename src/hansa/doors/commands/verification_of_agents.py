"""`hansa verify verdict`, `bundle`, `achievement`, `agent-key`, `availability` and `reputation`: documents about agents, now or as of a time."""

import sys
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import Annotated

import typer

from hansa.doors.commands.execution import FAILED, print_outcome
from hansa.doors.commands.options import AsJson
from hansa.doors.commands.verdicts import (
    AsOf,
    KeysOfAuditor,
    answer,
    lines,
    members_of_then,
    moment,
    readable_sources,
    said_of_then,
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

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, timestamp)
        verdict, outcome = card_verification.verify_bundle_source(asked)
    document = card_verification.verdict_json(verdict)
    shown = lines(verdict.steps)
    is_stated = False
    if outcome is not None:
        proposal, reduction = outcome.proposal, outcome.reduction
        is_stated = outcome.is_proposal_stated and outcome.is_reduction_stated
        computed = {"ruling": proposal.ruling, "rule": proposal.rule, "why": proposal.why}
        document |= {"proposal": computed, "as_stated": is_stated}
        shown.append(
            f"{'ok  ' if outcome.is_proposal_stated else 'FAIL'} proposal: {proposal.ruling or proposal.rule}: {proposal.why}"
        )
        if reduction is not None:
            share, counted = format(reduction.share, "f"), list(reduction.attestation_ids)
            document["reduction"] = {"share": share, "attestation_ids": counted}
            shown.append(
                f"{'ok  ' if outcome.is_reduction_stated else 'FAIL'} slash: {len(counted)} attestations take {share} of it"
            )
    shown += [verdict.code, *said_of_then(verdict.code, timestamp, is_valid=is_stated)]
    document |= members_of_then(verdict.code, timestamp, is_valid=is_stated)
    print_outcome("\n".join(shown), document, as_json=as_json)
    sys.exit(0 if is_stated else FAILED)


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

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, timestamp)
        verdict = card_verification.verify_agent_bundle_source(asked)
    answer(verdict, card_verification.verdict_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


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

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, timestamp)
        verdict = card_verification.verify_achievement_source(asked)
    answer(verdict, card_verification.verdict_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


def verify_agent_key(
    source: Annotated[str, typer.Argument(help="Statement of the keys of an agent: URL or file.")],
    *,
    kid: Annotated[
        str | None, typer.Option(help="Thumbprint (RFC 7638) of the key; by default any key of the agent.")
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Keys of the registry: URL or file. Required if the statement is a file."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Time to judge (ISO 8601); by default the time of the statement.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify which signing key an agent had at a time. Exit 0: verified; 1: not; 2: statement or keys cannot be read."""
    from hansa.doors.verification import cards as card_verification

    timestamp = moment(at)
    with readable_sources():
        asked = card_verification.CardToVerify(source, keys, None)
        verdict = card_verification.verify_agent_key_source(asked, timestamp, kid)
    document = card_verification.agent_key_verdict_json(verdict)
    answer(verdict, document, [verdict.code], at=timestamp, as_json=as_json)


def verify_availability(
    source: Annotated[str, typer.Argument(help="Availability of an agent: URL or file.")],
    *,
    keys: Annotated[
        str | None,
        typer.Option(help="History of keys of the registry: URL or file. Required for a file."),
    ] = None,
    auditor_keys: KeysOfAuditor = None,
    at: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Verify the availability of an agent in 90 days. Exit 0: verified; 1: not; 2: it or the keys cannot be read."""
    from hansa.doors.verification import availability as availability_verification
    from hansa.doors.verification.cards import decision_json

    timestamp = moment(at)
    with readable_sources():
        asked = availability_verification.AvailabilityToVerify(source, keys, auditor_keys, timestamp)
        verdict = availability_verification.verify_source(asked)
    answer(verdict, decision_json(verdict), [verdict.code], at=timestamp, as_json=as_json)


def verify_reputation(
    source: Annotated[str, typer.Argument(help="Export of a registry: URL, or file of one whole export.")],
    at: Annotated[
        str | None, typer.Option(help="Recompute the scores of this UTC day (2027-01-31) or time.")
    ] = None,
    stated: Annotated[
        str | None,
        typer.Option(help="Export of that day, to compare with what newer events give: URL, or file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every score from exported events. Exit 0: all scores agree; 1: some differ, or none are stated for the day; 2: the export cannot be read."""
    from hansa.doors.verification import reputation as reputation_verification

    midnight = None if at is None else _midnight(at)
    with readable_sources():
        verdict = reputation_verification.verify_export(source, midnight and midnight.date(), stated)
    is_valid = verdict.is_valid
    text = "\n".join([verdict.text, *said_of_then(verdict.code, midnight, is_valid=is_valid)])
    members = verdict.members | members_of_then(verdict.code, midnight, is_valid=is_valid)
    print_outcome(text, members, as_json=as_json)
    sys.exit(0 if is_valid else FAILED)


def _midnight(at: str) -> datetime:
    """The begin of the UTC day of a date or a time: its scores follow from the events before it."""
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(at), time(), UTC)
    timestamp = moment(at)
    assert timestamp is not None
    return datetime.combine(timestamp.astimezone(UTC).date(), time(), UTC)
