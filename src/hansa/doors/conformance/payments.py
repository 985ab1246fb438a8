"""Suite `payments`: payment tokens for calls, by a payer and a payee of the implementation (Specification 2, payment routes).

Each rule makes tokens of its own and ends them: it settles or releases them. What a run pays stays with the payee.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from time import sleep
from typing import Any
from uuid import uuid4

from hansa.doors.conformance.facilitator import PREFIX, Facilitator
from hansa.doors.conformance.rules import NotChecked, Rule, require, require_refused, require_status
from hansa_verify.canonical import read_moment

ANOTHER_DID = "did:web:another-payee.example"
UNKNOWN = "apt_" + "0" * 64
TTL_SECONDS = 60
EXPIRY_WAIT_SECONDS = 90
MEMBERS = (
    "token", "token_id", "amount", "currency", "target_agent_did", "expires_at", "contract_id", "issuer", "issuer_header",
)  # fmt: skip
AMOUNTS_REFUSED = ("0", "-1", "1e3", "NaN", "", "one")
BODIES_REFUSED = (b"", b"{", b"[]", b"{}", b'{"token": 1}', b'{"token": null}')


def _require_error(said: dict[str, Any], error: str) -> None:
    require(
        said.get("valid") is False and said.get("error") == error,
        f"verify: expected valid false and {error!r}, got {said.get('valid')!r} and {said.get('error')!r}",
    )


def authorizes(one: Facilitator) -> str:
    answer = one.ask(ttl_seconds=TTL_SECONDS)
    require_status(answer, {200})
    made = answer.members()
    one.release(made.get("token"))
    missing = [name for name in MEMBERS if name not in made]
    require(not missing, f"the answer has no {', '.join(missing)}")
    require(made["target_agent_did"] == one.payee_did, "target_agent_did is not the one of the request")
    _require_amount(made, one)
    require(read_moment(made["expires_at"]), "expires_at is not ISO 8601 with an offset from UTC")
    return f"token {made['token_id']}"


def _require_amount(said: dict[str, Any], one: Facilitator) -> None:
    try:
        is_same = Decimal(str(said.get("amount"))) == Decimal(one.parties.amount)
    except InvalidOperation:
        is_same = False
    require(is_same, f"expected the amount {one.parties.amount}, got {said.get('amount')!r}")


def needs_credentials(one: Facilitator) -> str:
    order = {"target_agent_did": one.payee_did, "amount": one.parties.amount}
    for by in ({}, {"Authorization": "Bearer x"}):
        require_status(one.post("authorize", order, by), {401})
        require_status(one.post("settle", {"token": UNKNOWN}, by), {401})
        require_status(one.post("release", {"token": UNKNOWN}, by), {401})
    return "status 401"


def refuses_amounts(one: Facilitator) -> str:
    for amount in AMOUNTS_REFUSED:
        require_status(one.ask(amount=amount), {400, 422})
    return f"{len(AMOUNTS_REFUSED)} amounts were refused"


def refuses_target(one: Facilitator) -> str:
    require_status(one.ask(target_agent_did="did:x:y"), {400, 422})
    return "refused"


def refuses_uncovered(one: Facilitator) -> str:
    require_status(one.ask(amount=f"{one.payer_balance() + 1:f}"), {402, 403})
    return "refused"


def repeats(one: Facilitator) -> str:
    key = str(uuid4())
    first, again = one.authorized(key=key), one.ask(key=key)
    other = one.ask(key=key, ttl_seconds=TTL_SECONDS + 1)
    one.release(first.get("token"))
    require_status(again, {200})
    require(again.members().get("token") == first.get("token"), "the repeated request has another token")
    require_status(other, {422})
    return "same token"


def verifies(one: Facilitator) -> str:
    made = one.authorized()
    for _ in range(2):
        said = one.verified(made["token"], target_agent_did=one.payee_did)
        require(said.get("valid") is True, f"verify: expected valid true, got {said.get('error')!r}")
        require(said.get("target_agent_did") == one.payee_did, "verify names another payee")
        _require_amount(said, one)
    one.settle(made["token"], success=False)
    return "valid twice"


def refuses_unknown(one: Facilitator) -> str:
    _require_error(one.verified(UNKNOWN, target_agent_did=one.payee_did), "Token not found")
    require_status(one.settle(UNKNOWN), {404})
    require_status(one.release(UNKNOWN), {404})
    return "status 404"


def refuses_other_payee(one: Facilitator) -> str:
    made = one.authorized()
    said = one.verified(made["token"], target_agent_did=ANOTHER_DID)
    released = one.release(made["token"])
    _require_error(said, "Token not issued for this agent")
    # Only a token that no verification consumed is released.
    require_status(released, {200})
    return "refused, not consumed"


def refuses_other_caller(one: Facilitator) -> str:
    made = one.authorized()
    settled, released = one.settle(made["token"], one.payee), one.release(made["token"], one.payee)
    one.release(made["token"])
    require_status(settled, {403})
    require_status(released, {403})
    return "status 403"


def pays_once(one: Facilitator) -> str:
    made, before = one.authorized(), one.payee_balance()
    first = one.settled(made["token"])
    again = one.settled(made["token"])
    require(first.get("settlement_tx_id"), "a settled token has no settlement_tx_id")
    require(
        again.get("settlement_tx_id") == first["settlement_tx_id"], "it was settled by another transaction"
    )
    _require_amount(first, one)
    return _require_paid(one, before)


def _require_paid(one: Facilitator, before: Decimal) -> str:
    paid = one.payee_balance() - before
    require(paid == Decimal(one.parties.amount), f"the payee received {paid}, not {one.parties.amount}")
    return f"the payee received {paid}"


def pays_once_at_once(one: Facilitator) -> str:
    made, before = one.authorized(), one.payee_balance()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(one.settle, [made["token"]] * 4))
    for answer in answers:
        require_status(answer, {200, 409})
    one.settled(made["token"])
    return _require_paid(one, before)


def ends_with_settlement(one: Facilitator) -> str:
    made = one.authorized()
    one.settled(made["token"])
    _require_error(one.verified(made["token"], target_agent_did=one.payee_did), "Token status: settled")
    require_status(one.release(made["token"]), {400})
    return "not valid, not released"


def releases(one: Facilitator) -> str:
    made = one.authorized()
    released = one.release(made["token"])
    require_status(released, {200})
    require(released.members().get("status") == "released", "expected the status released")
    _require_error(one.verified(made["token"], target_agent_did=one.payee_did), "Token status: released")
    before = one.payee_balance()
    require_status(one.settle(made["token"]), {400})
    require(one.payee_balance() == before, "a released token was paid")
    return "released"


def releases_consumed(one: Facilitator) -> str:
    made, before = one.authorized(), one.payee_balance()
    one.verified(made["token"], target_agent_did=one.payee_did)
    released, settled = one.release(made["token"]), one.settle(made["token"], success=False)
    require_status(released, {400})
    require_status(settled, {200})
    require(settled.members().get("status") == "released", "settle with success false: expected released")
    require(one.payee_balance() == before, "a token without success was paid")
    return "released by settle alone"


def expires(one: Facilitator) -> str:
    if not one.parties.waits_for_expiry:
        raise NotChecked("it takes a minute: add --wait-for-expiry")
    made = one.authorized(ttl_seconds=TTL_SECONDS)
    expires_at, before = read_moment(made.get("expires_at")), one.payee_balance()
    seconds = (expires_at - datetime.now(UTC)).total_seconds() + 1 if expires_at else EXPIRY_WAIT_SECONDS
    require(seconds <= EXPIRY_WAIT_SECONDS, f"ttl_seconds {TTL_SECONDS}: the token ends in {seconds:.0f} s")
    sleep(max(seconds, 0))
    said = one.verified(made["token"], target_agent_did=one.payee_did)
    _require_error(said, "Token expired")
    require(said.get("status") == "expired", f"expected the status expired, got {said.get('status')!r}")
    require_status(one.settle(made["token"]), {400})
    require(one.payee_balance() == before, "an expired token was paid")
    return "refused"


def lists(one: Facilitator) -> str:
    first, second = one.authorized(), one.authorized()
    answer = one.host.get(f"{PREFIX}/my-tokens?limit=2&status=authorized", headers=one.payer)
    unnamed = one.host.get(f"{PREFIX}/my-tokens")
    for made in (first, second):
        one.release(made["token"])
    require_status(answer, {200})
    listed = answer.json()
    require(isinstance(listed, list), "the answer is no list")
    found = [token.get("token_id") for token in listed if isinstance(token, dict)]
    require(found == [second["token_id"], first["token_id"]], "the two newest tokens are not listed in order")
    require("apt_" not in answer.content.decode(errors="replace"), "the list has a token itself")
    require_status(unnamed, {401})
    return "newest first"


def refuses_bodies(one: Facilitator) -> str:
    sent = {"Content-Type": "application/json"}
    for body in BODIES_REFUSED:
        require_refused(one.host.call("POST", f"{PREFIX}/verify", content=body, headers=sent))
        for path in ("authorize", "settle", "release"):
            refused = one.host.call("POST", f"{PREFIX}/{path}", content=body, headers=sent | one.payer)
            require_refused(refused)
    return f"{len(BODIES_REFUSED)} bodies were refused"


def states_problem(one: Facilitator) -> str:
    answer = one.settle(UNKNOWN)
    kind = answer.media_type()
    require(kind == "application/problem+json", f"expected application/problem+json, got {kind!r}")
    said = answer.members()
    require(said.get("status") == answer.status, "the member status is not the status of the answer")
    require(isinstance(said.get("detail"), str), "the problem has no detail")
    return str(said["detail"])


RULES = (
    Rule(
        "PAY-01",
        "`authorize` answers 200 with every member of the specification, the payee and the amount of the request.",
        authorizes,
    ),
    Rule(
        "PAY-02",
        "`authorize`, `settle` and `release` refuse an absent or unknown credential with 401.",
        needs_credentials,
    ),
    Rule(
        "PAY-03", "An amount that is no decimal greater than 0 is refused with 400 or 422.", refuses_amounts
    ),
    Rule(
        "PAY-04",
        "A `target_agent_did` of fewer than 10 characters is refused with 400 or 422.",
        refuses_target,
    ),
    Rule(
        "PAY-05", "An amount beyond the balance of the payer is refused with 402 or 403.", refuses_uncovered
    ),
    Rule(
        "PAY-06",
        "Under one `Idempotency-Key` the same body has the same token, and another body is refused with 422.",
        repeats,
    ),
    Rule(
        "PAY-07",
        "`verify` is valid for the payee with the authorized amount, also a second time before the settlement.",
        verifies,
    ),
    Rule(
        "PAY-08",
        "An unknown token: `verify` answers 200 with `Token not found`, `settle` and `release` 404.",
        refuses_unknown,
    ),
    Rule(
        "PAY-09",
        "For another payee `verify` answers `Token not issued for this agent`, and the token is not consumed.",
        refuses_other_payee,
    ),
    Rule(
        "PAY-10",
        "`settle` and `release` of another agent's token are refused with 403.",
        refuses_other_caller,
    ),
    Rule(
        "PAY-11",
        "`settle` pays the payee the authorized amount; repeated, it answers the same `settlement_tx_id` and pays nothing.",
        pays_once,
    ),
    Rule("PAY-12", "Four settlements of one token at the same moment pay it once.", pays_once_at_once),
    Rule(
        "PAY-13",
        "A settled token is not valid, `Token status: settled`, and its release is refused with 400.",
        ends_with_settlement,
    ),
    Rule(
        "PAY-14",
        "A released token is not valid, `Token status: released`, and its settlement is refused with 400.",
        releases,
    ),
    Rule(
        "PAY-15",
        "`release` refuses a verified token with 400; `settle` with `success` false releases it and pays nothing.",
        releases_consumed,
    ),
    Rule(
        "PAY-16",
        "After `expires_at` `verify` answers `Token expired` with status `expired`, and `settle` is refused with 400.",
        expires,
    ),
    Rule(
        "PAY-17",
        "`my-tokens` lists the payer's tokens without their secrets, the newest first, by `status` and `limit`.",
        lists,
    ),
    Rule(
        "PAY-18",
        "Bodies that are no JSON, no object or have no token are refused with 400 to 499.",
        refuses_bodies,
    ),
    Rule(
        "PAY-19",
        "A refusal is a problem document, `application/problem+json` with `status` and `detail`.",
        states_problem,
    ),
)
