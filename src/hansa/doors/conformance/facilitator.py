"""Payment routes of an implementation, as the suite `payments` calls them for a payer and a payee."""

from decimal import Decimal, InvalidOperation
from functools import cached_property
from time import monotonic, sleep
from typing import Any

import msgspec
from httpx2 import codes

from hansa.doors.conformance.calling import Answer, Broken, Host
from hansa.doors.conformance.rules import NotChecked, require, require_status

PREFIX = "api/v1/a2a-payment"
BALANCE = "api/v1/teg/balance"
SETTLED_WITHIN_SECONDS = 30


class Parties(msgspec.Struct, frozen=True):
    """Bearer tokens of payer and payee, the amount of each payment, and whether to wait for the end of a token."""

    payer_token: str
    payee_token: str
    amount: str
    waits_for_expiry: bool


class Facilitator:
    """The payment routes of a host, for a payer and a payee."""

    def __init__(self, host: Host, parties: Parties) -> None:
        self.host, self.parties = host, parties
        self.payer = {"Authorization": f"Bearer {parties.payer_token}"}
        self.payee = {"Authorization": f"Bearer {parties.payee_token}"}

    @cached_property
    def payee_did(self) -> str:
        """DID of the payee, as its balance names it. Raises: Broken."""
        return str(self._balance(self.payee).get("agent_id"))

    def payee_balance(self) -> Decimal:
        """Units of the payee. Raises: Broken."""
        return self._units(self.payee)

    def payer_balance(self) -> Decimal:
        """Units of the payer. Raises: Broken."""
        return self._units(self.payer)

    def post(self, path: str, body: object, by: dict[str, str] | None = None, **headers: str) -> Answer:
        """The answer of a payment route. Raises: Broken, CannotRead."""
        return self.host.call("POST", f"{PREFIX}/{path}", json=body, headers={**(by or {}), **headers})

    def ask(self, **members: Any) -> Answer:
        """The answer to a request for a token."""
        key = members.pop("key", None)
        body = {"target_agent_did": self.payee_did, "amount": self.parties.amount, **members}
        return self.post("authorize", body, self.payer, **({"Idempotency-Key": key} if key else {}))

    def authorized(self, **members: Any) -> dict[str, Any]:
        """A new token. Raises: NotChecked."""
        answer = self.ask(**members)
        if answer.status != codes.OK:
            raise NotChecked(f"no token: {answer.name} answers {answer.status}")
        return answer.members()

    def verified(self, token: object, **members: Any) -> dict[str, Any]:
        """The answer to a verification, which is always 200. Raises: Broken."""
        answer = self.post("verify", {"token": token, **members})
        require_status(answer, {200})
        return answer.members()

    def settle(self, token: object, by: dict[str, str] | None = None, **members: Any) -> Answer:
        """The answer to a settlement, which may wait for its outcome."""
        return self.post("settle", {"token": token, **members}, by or self.payer, Prefer="wait=10")

    def settled(self, token: object) -> dict[str, Any]:
        """The settlement of a token, asked for until it is settled. Raises: Broken."""
        deadline = monotonic() + SETTLED_WITHIN_SECONDS
        while True:
            answer = self.settle(token)
            # A settlement that is still going on may be a conflict.
            require_status(answer, {200, 409})
            outcome = answer.members()
            if outcome.get("status") == "settled":
                return outcome
            is_open = answer.status == codes.CONFLICT or outcome.get("status") == "settling"
            require(is_open and monotonic() < deadline, f"{answer.name}: status {outcome.get('status')!r}")
            sleep(0.2)

    def release(self, token: object, by: dict[str, str] | None = None) -> Answer:
        """The answer to the release of a token."""
        return self.post("release", {"token": token}, by or self.payer)

    def _balance(self, by: dict[str, str]) -> dict[str, Any]:
        answer = self.host.get(BALANCE, headers=by)
        require_status(answer, {200})
        return answer.members()

    def _units(self, by: dict[str, str]) -> Decimal:
        try:
            return Decimal(str(self._balance(by).get("balance")))
        except InvalidOperation:
            raise Broken(f"GET {BALANCE}: balance is no decimal string") from None
