"""The stakes of an own agent: their locks, staking and releasing units, and the treatment of rewards."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson, see_other, whole_number
from hansa.doors.console.access.forms import with_decimal_point
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, ledger

from .acting import act_as
from .pages import ACTS, READS, MyDid, address_of, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

POSITIONS_SHOWN = 200
PAGE = "wallet/stakes"


@router.get("/account/agents/{did}/wallet/stakes", dependencies=READS)
async def show_stakes(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The positions of an own agent, with the dates on which their locks end."""
    agent = await own_agent(db, person, did)
    return await _page(request, person, agent, SentForm(), db, settings=settings)


@router.post("/account/agents/{did}/wallet/stakes", dependencies=ACTS)
async def stake(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Stake units, locked for the days that the form names."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    body = {
        "amount": with_decimal_point(form.value("amount").strip()),
        "lock_period": whole_number(form.value("lock_period") or "0"),
    }
    answer = await act_as(request, sender, did, "/staking/stake", body)
    if answer.is_refused:
        refused = answer.on(form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, PAGE, "staked"))


@router.post("/account/agents/{did}/wallet/stakes/release", dependencies=ACTS)
async def unstake(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Release units of one position, or of those whose lock has ended."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    body = {"amount": with_decimal_point(form.value("released").strip())}
    if position := form.value("position_id"):
        body["position_id"] = position
    answer = await act_as(request, sender, did, "/staking/unstake", body)
    if answer.is_refused:
        refused = answer.on(form, amount="released")
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, PAGE, "released"))


@router.post("/account/agents/{did}/wallet/stakes/claim", dependencies=ACTS)
async def claim(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Pay the rewards that the stakes have earned, as far as the fee collector covers them."""
    agent = await own_agent(db, sender.person, did)
    answer = await act_as(request, sender, did, "/staking/claim-rewards")
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    if answer.document["transaction_id"] is not None:
        return see_other(address_of(did, PAGE, "claimed"))
    return see_other(address_of(did, PAGE, "unpaid" if answer.document["due"] != "0" else "unearned"))


@router.post("/account/agents/{did}/wallet/stakes/compound", dependencies=ACTS)
async def compound(did: MyDid, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Let the rewards of a position be added to it, or no longer."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    is_on = form.value("auto_compound") == "on"
    path = f"/staking/my-positions/{quote(form.value('position_id'), safe='')}"
    answer = await act_as(request, sender, did, path, {"auto_compound": is_on}, method="PATCH")
    if answer.is_refused:
        refused = answer.on(form)
        return await _page(
            request, sender.person, agent, refused, db, settings=settings, status=answer.status
        )
    return see_other(address_of(did, PAGE, "compounding" if is_on else "paid"))


async def _page(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    in_force = await db.query(lambda tx: parameters.in_force(tx, settings))
    policy = ledger.StakingPolicy.of(in_force)
    stats, positions, total = await db.read(
        lambda tx: ledger.read_stakes(tx, agent.did, policy, POSITIONS_SHOWN)
    )
    return agent_page(
        request,
        "wallet/stakes.html",
        person,
        agent,
        form,
        status=status,
        stats=stats,
        holdings=stats.holdings,
        positions=positions,
        total=total,
        policy=policy,
        currency=settings.settlement_currency,
    )
