"""The treasury for its administrators: units issued, destroyed and granted, balances corrected, and the baselines of the audit, each with a reference."""

from typing import Annotated, Literal

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.access import Acting, FormRefused, SentForm, SignedIn, tried
from hansa.doors.console.own_agents.picker import with_dids
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, parse_amount, parse_positive
from hansa.rooms import agents, auditor, enforcement, ledger

from .pages import FormsPage, Treasurer, TreasuryAct, administration_page, administration_router

router = administration_router()

Reference = Annotated[str, Field(min_length=1, max_length=128)]
LINES_SHOWN = 20


class IssueFields(LazyModel):
    """Units to issue to the treasury."""

    amount: PositiveAmount
    ref: Reference


class BurnFields(LazyModel):
    """Units of the treasury to destroy."""

    burned: PositiveAmount
    burn_ref: Reference


class GrantFields(LazyModel):
    """Units to pay to an agent."""

    payee: Annotated[str, Field(min_length=1, max_length=512)]
    granted: PositiveAmount
    grant_ref: Reference


class CorrectionFields(LazyModel):
    """Units to move between the liquid balance of an agent and the treasury."""

    corrected: Annotated[str, Field(min_length=1, max_length=512)]
    correction: PositiveAmount
    direction: Literal["credit", "debit"]
    correction_ref: Reference


class BaselineFields(LazyModel):
    """The units that circulate without an event of their issue; without an amount the baseline is removed."""

    baseline: PositiveAmount | None = None
    baseline_ref: Reference


class TransitFields(LazyModel):
    """Why the units in transit are taken as reconciled."""

    transit_ref: Reference


@router.get("/administration/treasury")
async def show_treasury(person: Treasurer, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Show the holdings of the treasury, its newest transactions, and the acts."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post("/administration/treasury/issue")
async def issue(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Issue units to the treasury, once for each reference."""

    async def issued(tx: Tx) -> None:
        fields = sender.form.read_as(IssueFields)
        await ledger.issue_by_administrator(
            tx,
            sender.person.developer,
            amount=parse_positive(fields.amount),
            ref=fields.ref,
            amount_max=parse_amount(settings.teg_mint_max_avt),
            book=ledger.Book.of(settings),
        )

    return await FORMS.carry_out(request, sender, db, settings, issued, done="issued")


@router.post("/administration/treasury/burn/check")
async def check_burn(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Preview of units destroyed: the treasury and the supply before and after."""

    async def previewed(tx: Tx) -> tuple[ledger.Balance, ledger.SupplyChange]:
        return await ledger.balance_of(tx, ledger.Book.of(settings).treasury), await _burned(
            tx, sender, settings
        )

    try:
        before, change = await tried(db, previewed)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, db, refused, settings=settings, status=refusal.status)
    return administration_page(
        request,
        "treasury-burn.html",
        sender.person,
        sender.form,
        section="/administration/treasury",
        before=before,
        change=change,
        currency=settings.settlement_currency,
    )


@router.post("/administration/treasury/burn")
async def burn(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Destroy units of the treasury, once for each reference."""

    async def burned(tx: Tx) -> None:
        await _burned(tx, sender, settings)

    return await FORMS.carry_out(request, sender, db, settings, burned, done="burned")


@router.post("/administration/treasury/grant")
async def grant(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Pay an agent, or the account for shortfalls, from the treasury, without a fee."""
    book, sender = ledger.Book.of(settings), await with_dids(db, sender, "payee")

    async def granted(tx: Tx) -> None:
        fields = sender.form.read_as(GrantFields)
        payee = fields.payee.strip()
        status = (await agents.statuses_of(tx, [payee])).get(payee)
        if payee != book.shortfall and status in {None, "revoked"}:
            raise FormRefused({"payee": "No agent of this registry that is not revoked has this DID."})
        await agents.require_of_others(tx, sender.person.developer, [payee])
        await ledger.grant_by_administrator(
            tx,
            sender.person.developer,
            payee=payee,
            amount=parse_positive(fields.granted),
            ref=fields.grant_ref,
            book=book,
        )

    return await FORMS.carry_out(request, sender, db, settings, granted, done="granted")


@router.post("/administration/treasury/correct")
async def correct(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Move units between the liquid balance of an agent and the treasury, once for each reference; the owner is notified."""
    sender = await with_dids(db, sender, "corrected")

    async def done(tx: Tx) -> None:
        fields = sender.form.read_as(CorrectionFields)
        asked = ledger.Correction(
            fields.corrected.strip(),
            parse_positive(fields.correction),
            fields.direction,
            fields.correction_ref,
        )
        await enforcement.correct_balance(tx, runtime_of(request), sender.person.developer, asked)

    return await FORMS.carry_out(request, sender, db, settings, done, done="corrected")


@router.post("/administration/treasury/baseline")
async def set_baseline(
    sender: TreasuryAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Set the native baseline of the audit, or remove it; the act is a record of the attestations."""

    async def changed(tx: Tx) -> None:
        fields = sender.form.read_as(BaselineFields)
        baseline = None if fields.baseline is None else parse_positive(fields.baseline)
        attestor = auditor.Attestor.of(settings, seal)
        await auditor.set_native_baseline(
            tx, sender.person.developer, attestor, baseline=baseline, ref=fields.baseline_ref
        )

    return await FORMS.carry_out(request, sender, db, settings, changed, done="baseline")


@router.post("/administration/treasury/transit")
async def rebaseline(
    sender: TreasuryAct, request: Request, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Take the units in transit at the last audit cycle as reconciled; the act is a record of the attestations."""

    async def changed(tx: Tx) -> None:
        fields = sender.form.read_as(TransitFields)
        attestor = auditor.Attestor.of(settings, seal)
        await auditor.rebaseline_transit(tx, sender.person.developer, attestor, ref=fields.transit_ref)

    return await FORMS.carry_out(request, sender, db, settings, changed, done="transit")


async def _burned(tx: Tx, sender: Acting, settings: Settings) -> ledger.SupplyChange:
    fields = sender.form.read_as(BurnFields)
    return await ledger.destroy_by_administrator(
        tx,
        sender.person.developer,
        amount=parse_positive(fields.burned),
        ref=fields.burn_ref,
        book=ledger.Book.of(settings),
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    treasury = ledger.Book.of(settings).treasury

    async def reading(tx: Tx) -> tuple[ledger.Balance, list[ledger.Line]]:
        lines, _ = await ledger.lines_of(tx, treasury, ledger.StatementFilter(LINES_SHOWN))
        return await ledger.balance_of(tx, treasury), lines

    balance, lines = await db.read(reading)
    return administration_page(
        request,
        "treasury.html",
        person,
        form,
        status=status,
        balance=balance,
        lines=lines,
        currency=settings.settlement_currency,
        issued_at_most=settings.teg_mint_max_avt,
        issues=not settings.is_operator,
    )


FORMS = FormsPage("/administration/treasury", _page)
