"""Decisions of administrators on listings: the platform approves, rejects and delists, the enforcement halts and resumes trade. Each is public, with its reason."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Literal

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Acting, SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import exchange

from .pages import (
    EnforcementAct,
    Enforcer,
    PlatformAct,
    PlatformAdministrator,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

LISTINGS, TRADING = "/administration/listings", "/administration/trading"
WAITING, LIVE = ("REVIEW",), ("APPROVED", "LAUNCHING", "TRADING", "HALTED")
Decide = Callable[[Tx, Developer, str, str], Awaitable[object]]
TRADING_ACTS: Mapping[str, Decide] = {"halt": exchange.halt, "resume": exchange.resume}


@router.get(LISTINGS)
async def show_listings(
    person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The listings under review, and those that live."""
    found = await db.read(lambda tx: exchange.read_in_states(tx, *WAITING, *LIVE))
    return administration_page(
        request,
        "listings.html",
        person,
        section=LISTINGS,
        waiting=[one for one in found if one.listing.status in WAITING],
        live=[one for one in found if one.listing.status in LIVE],
        currency=settings.settlement_currency,
    )


@router.get(f"{LISTINGS}/{{ref}}")
async def show_listing(
    ref: exchange.RefInPath, person: PlatformAdministrator, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """One listing with its terms and the decisions that it allows. Raises: ListingUnknown."""
    return await _page(request, person, db, ref, settings=settings)


@router.post(f"{LISTINGS}/{{ref}}/{{act}}")
async def decide(
    ref: exchange.RefInPath,
    act: Literal["approve", "reject", "delist"],
    sender: PlatformAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Approve, reject or delist."""
    acts: Mapping[str, Decide] = {
        "approve": partial(exchange.approve, settings=settings),
        "reject": exchange.reject,
        "delist": exchange.delist,
    }

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, ref, settings=settings, form=form, status=status)

    return await carry_out(
        request,
        sender,
        lambda tx: _decided(tx, sender, acts[act], ref),
        done=f"{LISTINGS}/{ref}?done={act}",
        refused=refused,
    )


@router.get(TRADING)
async def show_trading(person: Enforcer, request: Request, db: Db) -> HTMLResponse:
    """The listings that trade, and those that are halted."""
    return await _trading_page(request, person, db)


@router.post(f"{TRADING}/{{ref}}/{{act}}")
async def halt_or_resume(
    ref: exchange.RefInPath,
    act: Literal["halt", "resume"],
    sender: EnforcementAct,
    request: Request,
    db: Db,
) -> Response:
    """Halt the trade of a listing, or let it go on."""

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _trading_page(request, sender.person, db, form, status=status)

    return await carry_out(
        request,
        sender,
        lambda tx: _decided(tx, sender, TRADING_ACTS[act], ref),
        done=f"{TRADING}?done={act}",
        refused=refused,
    )


async def _decided(tx: Tx, sender: Acting, act: Decide, ref: str) -> None:
    reason = sender.form.read_as(exchange.ListingReasonIn).reason
    await act(tx, sender.person.developer, ref, reason)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    ref: str,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    shown = await db.read(lambda tx: exchange.read_any(tx, ref))
    return administration_page(
        request,
        "listing.html",
        person,
        form,
        status=status,
        section=LISTINGS,
        shown=shown,
        currency=settings.settlement_currency,
    )


async def _trading_page(
    request: Request, person: SignedIn, db: Database, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    found = await db.read(lambda tx: exchange.read_in_states(tx, "TRADING", "HALTED"))
    return administration_page(
        request, "trading.html", person, form, status=status, section=TRADING, listings=found
    )
