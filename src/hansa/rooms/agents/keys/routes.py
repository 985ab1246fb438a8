"""Agents' keys over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, Public
from hansa.foundation.plumbing.web.entity_tags import IfVersion, PreconditionFailed
from hansa.foundation.plumbing.web.limits import Limit, admit, within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import federation
from hansa.rooms.agents.credentials import own_or_new_key
from hansa.rooms.agents.errors import AgentRevoked, AgentSuspended, AgentUnknown

from .held_key import KeyHeldBefore
from .reading import keys_of, public_key_of, rotate_key
from .schemas import HeldKeyOut, KeyStatement, PublicKey, RotateKeyIn, RotateKeyOut
from .statements import settled_keys, statement_of

# Every key stays on record for ever, and in the DID document.
ROTATIONS = Limit("rotate-key", 20, seconds=3600)
OFFSET_MAX = 2**31 - 1
PAGE_MAX = 100

router = APIRouter(route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=512)]


@router.post("/agents/self/rotate-signing-key", include_in_schema=False)
@router.post(
    "/agents/me/rotate-signing-key",
    responses=problems(
        Unauthorized,
        AgentSuspended,
        AgentRevoked,
        KeyHeldBefore,
        PreconditionFailed,
        Invalid,
        BodyInvalid,
        TooManyRequests,
    ),
)
async def rotate_signing_key(
    agent: CurrentAgent, db: Db, body: RotateKeyIn, if_match: IfVersion
) -> RotateKeyOut:
    """Rotate the signing key. Signatures of the former key stay verifiable.

    If-Match with the `kid` of the present key refuses a request that was sent before another one rotated the key.
    """
    await admit(db, ROTATIONS, agent.did)
    public_key, private_key_pem = own_or_new_key(body.brought_key)
    key = await db.transaction(lambda tx: rotate_key(tx, agent.did, public_key, if_match))
    return RotateKeyOut.with_private_key(agent.did, key, private_key_pem)


@router.get(
    "/agents/{did}/public-key",
    dependencies=[Depends(within_read_limit)],
    responses=problems(AgentUnknown, Invalid, TooManyRequests),
)
async def read_public_key(did: Did, db: Db, _: Public) -> PublicKey:
    """An agent's Ed25519 public key, whatever its status."""
    return PublicKey.of(await db.read(lambda tx: public_key_of(tx, did)))


@router.get(
    "/agents/{did}/keys",
    dependencies=[Depends(within_read_limit)],
    responses=problems(AgentUnknown, Invalid, TooManyRequests),
)
async def read_keys(
    did: Did,
    db: Db,
    _: Public,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE_MAX,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[HeldKeyOut]:
    """All keys of an agent with their validity, newest first, to verify old signatures."""
    keys, total = await db.read(lambda tx: keys_of(tx, did, limit=limit, offset=offset))
    return Page(
        items=[HeldKeyOut.of(did, key) for key in keys],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get(
    "/agents/{did}/key-statement",
    response_model=KeyStatement,
    dependencies=[Depends(within_read_limit)],
    responses=problems(AgentUnknown, federation.KeyDoesNotOpen, Invalid, TooManyRequests),
)
async def read_key_statement(did: Did, db: Db, config: Config, _: Public, *, request: Request) -> Response:
    """The keys of an agent as of about two minutes ago, signed by the registry, to prove which one it had at a time."""
    as_of, keys = await db.read_replicated(lambda tx: settled_keys(tx, did))
    signing = await federation.SIGNATORY.of(runtime_of(request)).present_key()
    return JSONResponse(statement_of(did, as_of, keys, signing, config.ledger_id))
