"""Acts of an owner as an own agent: a call of the API in this process, with an act token.

The route of the API judges the token, the permissions, the spend policy and the limits as it does for every client; the key
of the form is the idempotency key. Nothing of an agent's business is decided by a page.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Acting, SentForm, SignedIn
from hansa.doors.console.access.forms import KEY_FIELD
from hansa.doors.console.api_acts import ACCEPTED, API, ApiAnswer, answered
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.in_process import InnerCall
from hansa.rooms import agents

from .pages import agent_page


async def act_as(
    request: Request,
    sender: Acting,
    did: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    method: str = "POST",
    query: Mapping[str, str] | None = None,
) -> ApiAnswer:
    """Send a request of the agent to the API, under the key of the form.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentRevoked.
    """
    call = InnerCall(
        method,
        quote(API + path),
        query or {},
        body=body,
        key=sender.key,
        headers={"authorization": await bearer_of(request, sender.person, did)},
        is_noted=True,
    )
    return await answered(request, call, None)


async def bearer_of(request: Request, person: SignedIn, did: str) -> str:
    """The Authorization field of the person who acts as an own agent. Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentRevoked."""
    runtime = runtime_of(request)
    token, _ = await agents.act_token(runtime.database, runtime.tokens, person.developer, did)
    return f"Bearer {token}"


def awaiting_page(
    request: Request,
    sender: Acting,
    agent: agents.OwnedAgent,
    answer: ApiAnswer,
    *,
    payee: str,
    amount: str,
    kept: tuple[str, ...],
    verb: str,
) -> HTMLResponse:
    """The page of a payment that awaits its owner, whose button approves it and sends the form, with its fields `kept`, again."""
    return agent_page(
        request,
        "own_agents/approve-and-pay.html",
        sender.person,
        agent,
        sender.form,
        status=ACCEPTED,
        approval=answer.approval,
        expires_at=datetime.fromisoformat(answer.approval["expires_at"]),
        payee=payee,
        amount=amount,
        currency=runtime_of(request).settings.settlement_currency,
        action=request.url.path,
        kept=kept,
        verb=verb,
    )


def fields_to_keep(form: SentForm) -> tuple[str, ...]:
    """The fields of a form that awaits its owner, each once, without those of the approval."""
    names = dict.fromkeys(name for name, _ in form.kept)
    return tuple(name for name in names if name not in {KEY_FIELD, "approval_id", "approves"})


async def approve_first(request: Request, sender: Acting, did: str) -> str:
    """Approve the payment that a form names, where its person says so, and return the id of its approval; empty without one.

    The route of the payment judges an approval that was decided before.
    """
    approval = sender.form.value("approval_id").strip()
    if approval and sender.form.value("approves") == "true":
        with suppress(agents.ApprovalDecided, ValueError):
            approval_id = UUID(approval)
            await runtime_of(request).database.transaction(
                lambda tx: agents.decide_approval(
                    tx, sender.person.developer, did, approval_id, is_approved=True, in_browser=True
                )
            )
    return approval
