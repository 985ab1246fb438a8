"""Acts of forms as calls of the API in this process: its answer, and the wait of the second of two clicks for the first."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import Request

from hansa.doors.console.access import Acting, SentForm
from hansa.doors.console.access.form_acts import PAUSES_SECONDS
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within

API = "/api/v1"
APPROVAL_REQUIRED = frozenset({"SPEND_APPROVAL_REQUIRED", "APPROVAL_REQUIRED"})
IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS"
ACCEPTED, FIRST_REFUSAL = 202, 400
OF_A_PATTERN = "String should match pattern"
# Meaning of a pattern of the API, by the member of the request.
FORMATS = {
    "amount": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "claimed_amount": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "budget": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "max_amount": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "id": "Lower-case letters, digits, hyphens and underscores are required.",
    "needs": "Lower-case letters, digits, hyphens and underscores are required.",
    "price": "A decimal number with at most 8 decimals is required, for example 1.5.",
    "sha256": "64 hexadecimal digits in lower case are required.",
    "provider_did": "A DID is required.",
    "receiver_did": "A DID is required.",
    "contract_type": "Lower-case letters, digits and hyphens are required.",
    "slug": "Lower-case letters, digits and single hyphens inside are required.",
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
        return self.status == ACCEPTED or (self.status >= FIRST_REFUSAL and self.code in APPROVAL_REQUIRED)

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
        # A member of a list has a number.
        name = next((part for part in reversed(path.split(".")) if not part.isdigit()), "")
        field = fields.get(path, fields.get(name, name))
        said = detail.removeprefix(f"{member}: ")
        if said.startswith(OF_A_PATTERN):
            said = FORMATS.get(name, said)
        sentence = f"{said[:1].upper()}{said[1:]}"
        return SentForm(form.fields, {field: sentence} if field else {}, sentence)


async def act_as_person(
    request: Request, sender: Acting, method: str, path: str, body: Mapping[str, Any] | None = None
) -> ApiAnswer:
    """Send a request of the person to the API, under the key of the form where the route takes one."""
    call = InnerCall(
        method,
        quote(API + path),
        body=body,
        key=sender.key if method == "POST" else None,
        is_noted=True,
    )
    return await answered(request, call, sender)


async def answered(request: Request, call: InnerCall, sender: Acting | None) -> ApiAnswer:
    """The answer to a call of the person who sent a form, or of the bearer in its headers."""
    caller = sender.person.developer if sender else None
    for pause in (*PAUSES_SECONDS, 0.0):
        inner = await call_within(request, call, caller)
        answer = ApiAnswer(inner.status, inner.content)
        if not answer.is_refused or answer.code != IN_PROGRESS:
            break
        # The second of two clicks waits for the first.
        await asyncio.sleep(pause)
    return answer
