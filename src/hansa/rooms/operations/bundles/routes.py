"""Bundles over HTTP. Answers to import and fork hold secrets: under an Idempotency-Key they are stored sealed."""

from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import JSONResponse, Response

from hansa.foundation.plumbing.process.runtime import Db, Sealing, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute, takes_cards
from hansa.foundation.plumbing.web.caller import (
    Agent,
    Developer,
    ScopeMissing,
    agent_holding,
    developer_acting,
)
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    once,
    repeatable,
)
from hansa.foundation.plumbing.web.limits import client_site, limited
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable, once_sealed
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import (
    Conflict,
    DeveloperSuspended,
    Forbidden,
    Invalid,
    OrgRoleRequired,
    PayloadTooLarge,
    ReplacedMeanwhile,
    TooManyRequests,
    Unauthorized,
)
from hansa.rooms import agents, catalogue, federation

from .errors import BundleRefused, BundleTooLarge, BundleUnknown, SecretInBundle
from .exporting import export_agent
from .importing import ForkRequest, Imported, fork_bundle, import_agent
from .judging import judge_bundle
from .pipelines import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from .records import JudgedBundle
from .schemas import BundleForkIn, BundleImportIn, BundlePreviewOut, ExportOut, ImportedAgentOut

router = APIRouter(tags=["agents"], route_class=GuardedRoute)

Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Owner = Annotated[Developer, developer_acting("agents:write")]
Importer = Annotated[Developer, developer_acting("agents:create")]
Forker = Annotated[Agent, agent_holding("bundle.write")]
Pipelines = Annotated[PipelinesOfBundle, Depends(PIPELINES_OF_BUNDLE.given)]
_CREATING = (
    Unauthorized,
    Forbidden,
    catalogue.CardInvalid,
    catalogue.HumanReadableIdTaken,
    federation.DidClaimed,
    StoredAnswerUnreadable,
    KeyReused,
    KeyInProgress,
    Invalid,
    BodyInvalid,
    TooManyRequests,
)
SEALED_FOR = "agent of a bundle"


@router.post(
    "/agents/{did}/export",
    response_model=ExportOut,
    responses=problems(
        Unauthorized,
        Forbidden,
        agents.AgentUnknown,
        OrgRoleRequired,
        catalogue.CardUnknown,
        federation.KeyDoesNotOpen,
        SecretInBundle,
        BundleTooLarge,
        KeyReused,
        KeyInProgress,
        Invalid,
    ),
)
async def export_bundle(
    did: Did,
    owner: Owner,
    request: Request,
    db: Db,
    seal: Sealing,
    *,
    pipelines: Pipelines,
    key: IdempotencyKey = None,
) -> Response:
    """Export an agent as a signed bundle: card, roles, spend policy, versions and pipelines, without secrets."""

    async def exported(tx: Tx) -> ExportOut:
        made = await export_agent(tx, owner, did, pipelines, seal)
        return ExportOut(bundle_id=made.id, bundle=made.bundle)

    return await once(db, repeatable(owner, request, key), exported)


@router.post(
    "/agents/import",
    status_code=201,
    response_model=ImportedAgentOut | BundlePreviewOut,
    dependencies=[Depends(limited(agents.CREATIONS))],
    responses=problems(
        *_CREATING,
        ScopeMissing,
        agents.DeveloperUnverified,
        DeveloperSuspended,
        BundleRefused,
        PayloadTooLarge,
    ),
)
@takes_cards
async def import_bundle(
    body: BundleImportIn,
    developer: Importer,
    db: catalogue.CardWrites,
    seal: Sealing,
    request: Request,
    *,
    key: IdempotencyKey = None,
) -> Response:
    """Create an agent of a bundle that this registry or a peer signed. With `dry_run` nothing is created: the answer is 200."""
    runtime = runtime_of(request)
    bundle = await judge_bundle(runtime, body.bundle)
    site = client_site(request)
    if body.dry_run:
        return await _previewed(db, bundle, lambda tx: import_agent(tx, runtime, developer, bundle, site))

    async def imported(tx: Tx) -> ImportedAgentOut:
        return _answer(await import_agent(tx, runtime, developer, bundle, site))

    answer = await once_sealed(db, repeatable(developer, request, key, body), seal, SEALED_FOR, imported)
    answer.status_code = 201
    return answer


@router.post(
    "/agents/bundles/{bundle_id}/fork",
    response_model=ImportedAgentOut,
    dependencies=[Depends(limited(agents.CREATIONS))],
    responses=problems(
        *_CREATING,
        DeveloperSuspended,
        BundleUnknown,
        agents.SpawnQuotaReached,
        agents.ChildEnding,
        Conflict,
        ReplacedMeanwhile,
    ),
)
async def fork_stored_bundle(
    bundle_id: UUID,
    body: BundleForkIn,
    agent: Forker,
    db: catalogue.CardWrites,
    seal: Sealing,
    *,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Create an agent of a stored bundle of the owner; it counts in the quotas of children and in those of an organization."""
    texts = {"name": body.name, **({"description": body.description} if body.description else {})}
    asked = ForkRequest(bundle_id, texts)

    async def forked(tx: Tx) -> ImportedAgentOut:
        return _answer(await fork_bundle(tx, runtime_of(request), agent, asked))

    return await once_sealed(db, repeatable(agent, request, key, body), seal, SEALED_FOR, forked)


class _Undone(Exception):
    """Result of a dry run, whose transaction is rolled back."""

    def __init__(self, imported: Imported) -> None:
        self.imported = imported
        super().__init__()


async def _previewed(
    db: catalogue.CardWrites, bundle: JudgedBundle, importing: Callable[[Tx], Awaitable[Imported]]
) -> Response:
    """Carry out an import, and undo it."""

    async def undone(tx: Tx) -> NoReturn:
        raise _Undone(await importing(tx))

    try:
        await db.transaction(undone)
    except _Undone as result:
        made = result.imported
    preview = BundlePreviewOut(
        agent_card_name=made.onboarded.card.name, imported_from=bundle.origin, warnings=made.warnings
    )
    return JSONResponse(preview.model_dump(mode="json"))


def _answer(made: Imported) -> ImportedAgentOut:
    created = agents.CreateAgentOut.of(made.identity, made.onboarded)
    return ImportedAgentOut(**created.model_dump(), warnings=made.warnings)
