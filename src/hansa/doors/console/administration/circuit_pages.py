"""Circuits in the administration: an administrator of the platform registers them with their verification keys, and retires them."""

import json

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn, whole_number
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Refused
from hansa.rooms import proofs

from .pages import PlatformAct, PlatformAdministrator, administration_page, administration_router, carry_out

router = administration_router()

PAGE = "/administration/circuits"
SHOWN = 200


@router.get(PAGE)
async def show_circuits(person: PlatformAdministrator, request: Request, db: Db) -> HTMLResponse:
    """The circuits, and a form for a new one."""
    return await _page(request, person, db)


@router.post(PAGE)
async def register_circuit(sender: PlatformAct, request: Request, db: Db) -> Response:
    """Register a circuit."""

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, form, status=status)

    try:
        circuit = _read(sender.form).new()
        await proofs.require_usable(circuit, sender.person.developer, proofs.VERIFIER.of(runtime_of(request)))
    except Refused as refusal:
        return await refused(sender.form.refused(refusal), refusal.status)
    return await carry_out(
        request,
        sender,
        lambda tx: proofs.register(tx, sender.person.developer, circuit),
        done=f"{PAGE}?done=register",
        refused=refused,
    )


@router.post(f"{PAGE}/{{circuit_id}}/retire")
async def retire_circuit(
    circuit_id: proofs.CircuitInPath, sender: PlatformAct, request: Request, db: Db
) -> Response:
    """Retire a circuit."""

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, form, status=status)

    return await carry_out(
        request,
        sender,
        lambda tx: proofs.retire(tx, sender.person.developer, circuit_id),
        done=f"{PAGE}?done=retire",
        refused=refused,
    )


def _read(form: SentForm) -> proofs.CircuitIn:
    """The circuit of a form, whose key is the JSON that snarkjs exports. Raises: FormRefused."""
    context = form.value("context_input").strip()
    try:
        key = json.loads(form.value("verification_key"))
    except (ValueError, RecursionError):
        key = form.value("verification_key")
    return form.read_as(
        proofs.CircuitIn,
        verification_key=key,
        holder_input=whole_number(form.value("holder_input")),
        context_input=whole_number(context) if context else None,
    )


async def _page(
    request: Request, person: SignedIn, db: Database, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    circuits = await db.read(lambda tx: proofs.list_circuits(tx, None, SHOWN))
    return administration_page(
        request, "circuits.html", person, form, status=status, section=PAGE, circuits=circuits
    )
