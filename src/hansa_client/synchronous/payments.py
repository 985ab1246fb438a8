# Generated from hansa_client/asynchronous/payments.py by `python -m tests.house.synchronous`.
"""Payment tokens: a caller authorizes one for a payee, the payee verifies it, one of them settles it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote as quoted

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.payments import (
    AuthorizedToken,
    ListedToken,
    PaymentQuote,
    Purchase,
    ReleasedToken,
    SettledMany,
    Settlement,
    TokenToSettle,
    Verification,
)

from .session import Session
from .transport import Transport

PREFIX = "/api/v1/a2a-payment"
WAIT_SECONDS = 30
CALL_SECONDS = 30


class Payments:
    """Quote, authorize, verify, settle and release payments."""

    def __init__(self, transport: Transport, agent: Session) -> None:
        self._transport = transport
        self._agent = agent

    def quote(
        self,
        target_agent_did: str,
        *,
        amount: Amount | None = None,
        firm: bool = False,
        gross_up: bool = False,
    ) -> PaymentQuote:
        """The price on an agent's card, or the amount that is named instead, with the fee of now.

        With `firm` the registry signs it: `authorize` with its `quote_token` pays this amount and this fee. With `gross_up` the
        amount is raised, so that a payee of another registry gets its price.

        Raises: NotFound, BadRequest, Invalid where it cannot be firm.
        """
        query = {
            "target_agent_did": target_agent_did,
            "amount": None if amount is None else amount_text(amount),
            "firm": "true" if firm else None,
            "gross_up": "true" if gross_up else None,
        }
        call = Call("GET", f"{PREFIX}/quote", query=query)
        return self._transport.answer(call, PaymentQuote, self._agent)

    def authorize(
        self,
        target_agent_did: str,
        amount: Amount,
        *,
        ttl_seconds: int | None = None,
        contract_id: int | None = None,
        resource: str | None = None,
        request_digest: str | None = None,
        capture_by: str | None = None,
        reserve: bool | None = None,
        quote_token: str | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> AuthorizedToken:
        """A token for one payment. With the same `key` and body the same token is returned for 24 hours.

        Where the owner has to approve, Forbidden has the code SPEND_APPROVAL_REQUIRED and the `approval_id` in its
        `context`; repeat the call with it once it is approved.

        Raises: InsufficientBalance, Forbidden, TooManyRequests, OutcomeUnknown.
        """
        body = {
            "target_agent_did": target_agent_did,
            "amount": amount_text(amount),
            "ttl_seconds": ttl_seconds,
            "contract_id": contract_id,
            "resource": resource,
            "request_digest": request_digest,
            "capture_by": capture_by,
            "reserve": reserve,
            "quote_token": quote_token,
            "approval_id": approval_id,
        }
        call = Call("POST", f"{PREFIX}/authorize", json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, AuthorizedToken, self._agent)

    def buy(
        self,
        target_agent_did: str,
        message: str | Mapping[str, Any] | None = None,
        *,
        max_amount: Amount,
        request: Mapping[str, Any] | None = None,
        ttl_seconds: int | None = None,
        timeout_seconds: int = CALL_SECONDS,
        settle_on_timeout: bool = False,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> Purchase:
        """Let the registry pay for one call, make it, and return its answer.

        Send a `message` (a text, or a message of A2A), or a JSON-RPC `request` {method, params}. With the same `key`
        the service is called and paid once. Raises: PaymentRequired, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {
            "target_agent_did": target_agent_did,
            "message": message,
            "request": request,
            "max_amount": amount_text(max_amount),
            "ttl_seconds": ttl_seconds,
            "timeout_seconds": timeout_seconds,
            "settle_on_timeout": settle_on_timeout,
            "approval_id": approval_id,
        }
        call = Call(
            "POST",
            f"{PREFIX}/buy",
            json=body,
            key=new_key() if key is None else key,
            extra_seconds=timeout_seconds + WAIT_SECONDS,
        )
        return self._transport.answer(call, Purchase, self._agent)

    def verify(
        self, token: str, *, target_agent_did: str | None = None, use_id: str | None = None
    ) -> Verification:
        """The verdict on a token; needs no credential. A verdict is never cached.

        `use_id` names this use: with the same one, `first_use` is true again after a lost answer.
        """
        body = {"token": token, "target_agent_did": target_agent_did, "use_id": use_id}
        call = Call("POST", f"{PREFIX}/verify", json=body, is_idempotent=True)
        return self._transport.answer(call, Verification)

    def settle(
        self,
        token: str,
        *,
        task_id: str | None = None,
        success: bool = True,
        capture_amount: Amount | None = None,
        wait_seconds: int = WAIT_SECONDS,
    ) -> Settlement:
        """Pay a token, or with `success` False free it. Waits for the outcome up to `wait_seconds` (at most 30).

        Funds move at most once per token, however often this is called. `settling` means: not known yet, call again. A
        token that was released before is `released` again with `success` False, and refused otherwise.
        """
        body = {
            "token": token,
            "task_id": task_id,
            "success": success,
            "capture_amount": None if capture_amount is None else amount_text(capture_amount),
        }
        call = Call(
            "POST",
            f"{PREFIX}/settle",
            json=body,
            headers={"Prefer": f"wait={wait_seconds}"},
            is_idempotent=True,
            extra_seconds=wait_seconds,
        )
        return self._transport.answer(call, Settlement, self._agent)

    def settle_many(
        self, tokens: Sequence[str | TokenToSettle], *, wait_seconds: int = WAIT_SECONDS
    ) -> SettledMany:
        """Settle up to 500 tokens, each as `settle` does. A refused one is named in its line and does not affect the others."""
        lines = [TokenToSettle(token=one) if isinstance(one, str) else one for one in tokens]
        call = Call(
            "POST",
            f"{PREFIX}/settle-many",
            json={"tokens": lines},
            headers={"Prefer": f"wait={wait_seconds}"},
            is_idempotent=True,
            extra_seconds=wait_seconds,
        )
        return self._transport.answer(call, SettledMany, self._agent)

    def release(self, token_id: str, *, key: str | None = None) -> ReleasedToken:
        """Give up an authorized token, by its id; a consumed one is freed by `settle(token, success=False)`."""
        call = Call(
            "POST",
            f"{PREFIX}/release-by-id/{quoted(token_id, safe='')}",
            json={},
            key=new_key() if key is None else key,
        )
        return self._transport.answer(call, ReleasedToken, self._agent)

    def tokens(
        self,
        *,
        status: str | None = None,
        role: str | None = None,
        token_id: str | None = None,
        limit: int = 50,
    ) -> Sequence[ListedToken]:
        """The tokens that this agent authorized, or with the role `payee` those that pay it, newest first; at most 200.

        With `token_id` that one alone, however old; a registry that does not know this filter ignores or refuses it.
        """
        query = {"status": status, "role": role, "token_id": token_id, "limit": limit}
        call = Call("GET", f"{PREFIX}/my-tokens", query=query)
        return self._transport.answer(call, list[ListedToken], self._agent)
