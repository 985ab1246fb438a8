"""A narrower capability, drawn from one that an own agent may use; its token is shown once."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import ProvedAct, SentForm, SignedIn, SignedInPerson, act_once
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.limits import limited
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents

from .capabilities import NAMED, requested
from .pages import MyDid, agent_page, own_agent, settings_router
from .picker import suggestions, with_dids

router = settings_router()

CapabilityId = Annotated[UUID, Path()]
# Field of a caveat, where it has another name.
FIELD_OF_CAVEAT = {"counterparty_allow": "payees"}


@router.get("/capabilities/{capability_id:uuid}/narrow")
async def show_narrowing(
    did: MyDid, capability_id: CapabilityId, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The form, filled in with the limits of the capability. Raises: CapabilityAbsent, CapabilityUnknown."""
    return await _page(request, person, db, did, capability_id)


@router.post("/capabilities/{capability_id:uuid}/narrow", dependencies=[Depends(limited(agents.ACT_TOKENS))])
async def narrow_capability(
    did: MyDid, capability_id: CapabilityId, sender: ProvedAct, request: Request, db: Db
) -> Response:
    """Draw a capability within the limits of another one, and show its token."""
    person, sender = sender.person, await with_dids(db, sender, *NAMED)
    own = await own_agent(db, person, did)
    presenter = agents.CapabilityPresenter(did)

    async def narrowed(tx: Tx) -> agents.CapabilityIssuedOut:
        await agents.act_as(tx, person.developer, did)
        return agents.CapabilityIssuedOut.of(
            await agents.attenuate_capability(tx, capability_id, presenter, body.narrowing(), body.recipient)
        )

    try:
        body = requested(sender.form, agents.AttenuationIn, agents.NarrowerCaveatsIn)
        new = await act_once(request, sender, agents.CapabilityIssuedOut, narrowed)
    except agents.CapabilityAbsent:
        raise
    except Refused as refusal:
        refused = _refused(sender.form, refusal)
        return await _page(request, person, db, did, capability_id, form=refused, status=refusal.status)
    return agent_page(request, "own_agents/capability-shown.html", person, own, new=new)


def _refused(form: SentForm, refusal: Refused) -> SentForm:
    """The form with its errors; a limit that is wider than its parent has the sentence beside its field."""
    if not isinstance(refusal, agents.CapabilityWidened):
        return form.refused(refusal)
    caveat = str((refusal.context or {}).get("caveat"))
    return SentForm(form.fields, {FIELD_OF_CAVEAT.get(caveat, caveat): refusal.detail}, refusal.detail)


async def _page(
    request: Request,
    person: SignedIn,
    db: Db,
    did: str,
    capability_id: UUID,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    agent, chain, suggested = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: agents.own_capability(tx, capability_id, did),
            lambda tx: suggestions(tx, person, did),
        )
    )
    if chain.leaf.holder_did not in {None, did}:
        raise agents.CapabilityUnknown
    return agent_page(
        request,
        "own_agents/capability-narrow.html",
        person,
        agent,
        form,
        status=status,
        parent=agents.CapabilityOut.seen_by(did, chain),
        suggested=suggested,
    )
