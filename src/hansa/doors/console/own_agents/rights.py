"""Rights of an own agent: its roles and its spend policy."""

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, ProvedAct, SentForm, SignedIn, SignedInPerson, see_other
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.roles import PERMISSIONS_OF_ROLE
from hansa.rooms import agents

from .pages import MyDid, agent_page, own_agent, path_of, settings_router
from .picker import with_dids

router = settings_router()

LIMITS = ("per_tx_max", "per_day_max", "approval_over")
PAYEES = "allowlist"
LIMITS_PAYEES = "limits_payees"


@router.get("/rights")
async def show_rights(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The roles and the spend policy."""
    return await _rights(request, person, db, did)


@router.post("/rights")
async def change_rights(did: MyDid, sender: ProvedAct, request: Request, db: Db) -> Response:
    """Replace the roles and the spend policy, with effect from the agent's next request."""
    person, form = sender.person, (await with_dids(db, sender, PAYEES)).form
    await own_agent(db, person, did)
    try:
        replacement = _requested(form).replacement()
        await db.transaction(lambda tx: agents.replace_authz(tx, person.developer, did, replacement))
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _rights(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}/rights?done=saved")


def _requested(form: SentForm) -> agents.AuthzIn:
    """Return the rights that the form requests; without a limit there is no policy. Raises: FormRefused."""
    limits: dict[str, object] = {
        name: form.value(name).strip() for name in LIMITS if form.value(name).strip()
    }
    if form.value(LIMITS_PAYEES) != "true" and form.value(PAYEES).strip():
        raise FormRefused({LIMITS_PAYEES: "Check this box to allow only these payees, or remove them."})
    if form.value(LIMITS_PAYEES) == "true":
        limits[PAYEES] = form.value(PAYEES).split()
    members = {**dict.fromkeys((*LIMITS, PAYEES)), **limits}
    # The policy is judged by itself, so that each message stands beside its field.
    policy = form.read_as(agents.SpendPolicyIn, **members) if limits else None
    return form.read_as(agents.AuthzIn, roles=form.values("roles"), spend_policy=policy)


async def _rights(
    request: Request,
    person: SignedIn,
    db: Db,
    did: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    authz = await db.read(lambda tx: agents.authz_of(tx, person.developer, did))
    return agent_page(
        request,
        "own_agents/rights.html",
        person,
        agent,
        form,
        status=status,
        rights=agents.AuthzOut.under(runtime_of(request).settings.agent_rbac_mode, did, authz),
        permissions_of=PERMISSIONS_OF_ROLE,
        done=request.query_params.get("done", ""),
    )
