"""The credentials of an own agent: client secret, signing keys, workload identity, and a test of the secret."""

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    act_once,
    see_other,
)
from hansa.doors.console.account.text_file import environment_file, text_file
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import require_permission
from hansa.foundation.plumbing.web.entity_tags import tag_of
from hansa.foundation.plumbing.web.limits import admit, limited
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents

from .pages import MyDid, acting_as, agent_page, own_agent, path_of, settings_router

router = settings_router()

KEYS_SHOWN = 20
ENROLS = "identity.mtls"


@router.get("/credentials")
async def show_credentials(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The client id, the signing keys and the workload identity; no secret."""
    return await _credentials(request, person, db, did)


@router.post("/rotate-secret")
async def rotate_secret(
    did: MyDid, sender: ProvedAct, request: Request, db: Db, settings: Config
) -> Response:
    """Replace the client secret and show the new one; the former one and its tokens end."""
    person = sender.person
    agent = await own_agent(db, person, did)
    secret = agents.new_client_secret()
    seen = tag_of(sender.form.value("version"))

    async def rotated(tx: Tx) -> agents.RotateSecretOut:
        client_id = await agents.rotate_secret(tx, person.developer, did, secret, seen)
        return agents.RotateSecretOut(agent_did=did, client_id=client_id, client_secret=secret)

    try:
        if sender.form.value("typed_name").strip() != agent.name:
            raise FormRefused(
                {"typed_name": "The name of the agent confirms this act; another one was typed."}
            )
        new = await act_once(request, sender, agents.RotateSecretOut, rotated)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _credentials(request, person, db, did, refused, status=refusal.status)
    variables = {
        "HANSA_REGISTRY": settings.base_url,
        "HANSA_AGENT_DID": did,
        "HANSA_CLIENT_ID": new.client_id,
        "HANSA_CLIENT_SECRET": new.client_secret,
    }
    return agent_page(
        request,
        "own_agents/secret-shown.html",
        person,
        agent,
        new=new,
        environment=environment_file(variables),
    )


@router.post("/rotate-signing-key")
async def rotate_signing_key(did: MyDid, sender: ProvedAct, request: Request, db: Db) -> Response:
    """Replace the signing key, in the name of the agent, and show the private key."""
    person = sender.person
    agent = await own_agent(db, person, did)
    public_key, private_key = agents.own_or_new_key(None)
    seen = tag_of(sender.form.value("version"))

    async def rotated(tx: Tx) -> agents.RotateKeyOut:
        await agents.act_as(tx, person.developer, did)
        key = await agents.rotate_key(tx, did, public_key, seen)
        return agents.RotateKeyOut.with_private_key(did, key, private_key)

    try:
        await admit(db, agents.KEY_ROTATIONS, did)
        new = await act_once(request, sender, agents.RotateKeyOut, rotated)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _credentials(request, person, db, did, refused, status=refusal.status)
    return agent_page(
        request,
        "own_agents/key-shown.html",
        person,
        agent,
        new=new,
        private_key=text_file((new.private_key_pem or "").rstrip("\n")),
    )


@router.post("/enable-mtls")
async def enable_mtls(
    did: MyDid,
    sender: ProvedAct,
    request: Request,
    authority: agents.EnrollingAuthority,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Enrol the agent, or renew its certificate, in its name, and show the certificate with its key."""
    person = sender.person
    agent = await own_agent(db, person, did)

    async def enrolled(tx: Tx) -> agents.EnableMtlsOut:
        await agents.act_as(tx, person.developer, did)
        enrolment = await agents.enable_mtls(tx, did, settings)
        return agents.EnableMtlsOut.of(authority, enrolment)

    try:
        require_permission(acting_as(agent, person), ENROLS, settings.agent_rbac_mode)
        await admit(db, agents.CERTIFICATES, did)
        new = await act_once(request, sender, agents.EnableMtlsOut, enrolled)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _credentials(request, person, db, did, refused, status=refusal.status)
    svid = new.svid
    if svid is None:
        return see_other(f"{path_of(did)}/credentials?done=mtls-enabled")
    return agent_page(
        request,
        "own_agents/certificate-shown.html",
        person,
        agent,
        svid=svid,
        files=[
            (label, name, text_file(text.rstrip("\n")))
            for label, name, text in (
                ("Download the certificate", "agent-certificate.pem", svid.svid_pem),
                ("Download the private key", "agent-certificate-key.pem", svid.key_pem),
                ("Download the trust bundle", "trust-bundle.pem", svid.bundle_pem),
            )
        ],
    )


@router.post("/disable-mtls")
async def disable_mtls(did: MyDid, sender: ProvedAct, request: Request, db: Db) -> Response:
    """Disable the workload identity, in the name of the agent."""
    person = sender.person
    await own_agent(db, person, did)

    async def disabled(tx: Tx) -> None:
        await agents.act_as(tx, person.developer, did)
        await agents.disable_mtls(tx, did)

    try:
        await db.transaction(disabled)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _credentials(request, person, db, did, refused, status=refusal.status)
    return see_other(f"{path_of(did)}/credentials?done=mtls")


@router.post("/test-call", dependencies=[Depends(limited(agents.AGENT_TOKENS))])
async def test_credentials(did: MyDid, sender: Act, request: Request, db: Db) -> Response:
    """Log in as the agent with its credentials, as its program does, and show the outcome."""
    person, form = sender.person, sender.form
    agent = await own_agent(db, person, did)
    refusal: Refused | None = None
    try:
        signed_in = await db.transaction(
            lambda tx: agents.sign_in(tx, agent.client_id, form.value("client_secret"))
        )
        assert signed_in.did == did
    except Refused as refused:
        refusal = refused
    return agent_page(
        request,
        "own_agents/test-call.html",
        person,
        agent,
        status=200 if refusal is None else refusal.status,
        refusal=refusal,
    )


async def _credentials(
    request: Request, person: SignedIn, db: Db, did: str, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    agent = await own_agent(db, person, did)
    keys, total = await db.read(lambda tx: agents.keys_of(tx, did, limit=KEYS_SHOWN, offset=0))
    enrolment = await db.read(lambda tx: agents.enrolment_of(tx, did))
    return agent_page(
        request,
        "own_agents/credentials.html",
        person,
        agent,
        form,
        status=status,
        keys=[agents.HeldKeyOut.of(did, key) for key in keys],
        total=total,
        enrolment=enrolment,
        done=request.query_params.get("done", ""),
    )
