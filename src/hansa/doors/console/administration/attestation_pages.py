"""Attestations of agents for administrators of enforcement, who revoke them."""

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.rooms import proofs

from .pages import SHOWN, EnforcementAct, Enforcer, administration_page, administration_router, carry_out

router = administration_router()

PAGE = "/administration/attestations"
Did = Annotated[str, Query(max_length=DID_MAX_CHARACTERS)]
Before = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


@router.get(PAGE)
async def show_attestations(
    person: Enforcer, request: Request, db: Db, *, agent: Did = "", before: Before = None
) -> HTMLResponse:
    """The attestations of an agent, the newest first; without a DID a form that asks for one."""
    return await _page(request, person, db, agent.strip(), before=before)


@router.post(f"{PAGE}/{{attestation}}/revoke")
async def revoke_attestation(
    attestation: UUID, sender: EnforcementAct, request: Request, db: Db, settings: Config
) -> Response:
    """Revoke an attestation for good. Raises: AttestationUnknown."""
    did = (await db.read(lambda tx: proofs.read_attestation(tx, attestation))).agent_did

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, did, form, status=status)

    return await carry_out(
        request,
        sender,
        lambda tx: proofs.revoke(tx, sender.person.developer, attestation, settings),
        done=f"{PAGE}?{urlencode({'agent': did, 'done': 'revoke'})}",
        refused=refused,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    form: SentForm | None = None,
    *,
    before: int | None = None,
    status: int = 200,
) -> HTMLResponse:
    found = await db.read(lambda tx: proofs.attestations_of(tx, did, before, SHOWN + 1)) if did else []
    return administration_page(
        request,
        "attestations.html",
        person,
        form,
        status=status,
        section=PAGE,
        did=did,
        attestations=found[:SHOWN],
        following=found[SHOWN - 1].seq if len(found) > SHOWN else None,
    )
