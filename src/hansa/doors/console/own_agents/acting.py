"""Acts of an owner as an own agent: a call of the API in this process, with an act token.

The route of the API judges the token, the permissions, the spend policy and the limits as it does for every client; the key
of the form is the idempotency key. Nothing of an agent's business is decided by a page.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Acting, SentForm, SignedIn
from hansa.doors.console.access.form_acts import PAUSES_SECONDS
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within
from hansa.rooms import agents

from .pages import agent_page

API = "/api/v1"
APPROVAL_REQUIRED = "SPEND_APPROVAL_REQUIRED"
IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS"
ACCEPTED, FIRST_REFUSAL = 202, 400
OF_A_PATTERN = "String should match pattern"
# What a pattern of the API means, by the member of the request.
FORMATS = {
    "amount": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "claimed_amount": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "sha256": "64 hexadecimal digits in lower case are required.",
    "provider_did": "A DID is required.",
    "contract_type": "Lower-case letters, digits and hyphens are required.",
    "title": "Visible text is required.",
}


class ApiAnswer(msgspec.Struct, frozen=True):
    """Answer of the API: a result, or a problem document."""

    status: int
    document: Mapping[str, Any]

    @property
    def is_refused(self) -> bool:
        """Return whether nothing was done, for another reason than a missing approval."""
        return self.status >= FIRST_REFUSAL and not self.awaits_owner

    @property
    def awaits_owner(self) -> bool:
        """Return whether the owner has to approve first."""
        return self.status == ACCEPTED or (self.status >= FIRST_REFUSAL and self.code == APPROVAL_REQUIRED)

    @property
    def approval(self) -> Mapping[str, Any]:
        """The approval that the owner has to give: `approval_id` and `expires_at`."""
        approval: Mapping[str, Any] = (
            self.document if self.status == ACCEPTED else self.document["error"]["context"]
        )
        return approval

    @property
    def code(self) -> str:
        """The error code of a refusal."""
        return str(self.document["error"]["code"])

    def on(self, form: SentForm, **fields: str) -> SentForm:
        """The form with the refusal; `fields` maps members of the request, by name or path, to fields of the form."""
        detail, member = str(self.document["detail"]), self.document["error"]["field"]
        path = str(member or "")
        name = path.rpartition(".")[2]
        field = fields.get(path, fields.get(name, name))
        said = detail.removeprefix(f"{member}: ")
        if said.startswith(OF_A_PATTERN):
            said = FORMATS.get(name, said)
        sentence = f"{said[:1].upper()}{said[1:]}"
        return SentForm(form.fields, {field: sentence} if field else {}, sentence)


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
    for pause in (*PAUSES_SECONDS, 0.0):
        inner = await call_within(request, call, None)
        answer = ApiAnswer(inner.status, inner.content)
        if not answer.is_refused or answer.code != IN_PROGRESS:
            break
        # The second of two clicks waits for the first.
        await asyncio.sleep(pause)
    return answer


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
        payee=payee,
        amount=amount,
        currency=runtime_of(request).settings.settlement_currency,
        action=request.url.path,
        kept=kept,
        verb=verb,
    )


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
