"""Attacks on the tools: tokens of another audience, limits under many payments at once; and good documents of each kind."""

import json
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hansa.doors.mcp.exchange import CALLS, MONEY_CALLS
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.web.limits import LeasedLimit
from hansa.rooms import auditor
from hansa_verify import read_certificate
from tests.connections import connect
from tests.conversations.mcp_client import McpClient
from tests.conversations.test_buying import Service, service
from tests.conversations.test_jurisdiction import PROFILE, record
from tests.conversations.test_licence_certificates import Issuer, genesis, list_of
from tests.registry import DatabaseFarm, TestRegistry, at_once
from tests.rooms.commerce.agreements import in_days, open_agreements, proposal

__all__ = ["genesis", "service"]

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PAYING = ("mcp:read", "wallet:read", "wallet:pay", "contracts:act")


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


async def test_a_token_of_another_audience_issuer_or_type_is_an_invalid_token(registry_of_file: TestRegistry):
    registry, base = registry_of_file, registry_of_file.settings.base_url
    client = await connect(registry)
    genuine, tokens = claims_of(client.access_token), registry.runtime.tokens
    assert genuine["aud"] == f"{base}/mcp"

    async def status(token: str) -> int:
        answers = [await McpClient(registry, token, path).post(LIST) for path in ("/mcp", "/mcp/rpc")]
        (code,) = {answer.status_code for answer in answers}
        if code == 401:
            assert all('error="invalid_token"' in one.headers["www-authenticate"] for one in answers)
        return code

    assert await status(tokens.sign(TokenKind.ACCESS, "at+jwt", genuine)) == 200
    for changed in (
        {"aud": base},
        {"aud": f"{base}/mcp/"},
        {"aud": f"{base}/mcp/rpc"},
        {"aud": "https://other.example/mcp"},
        {"aud": [f"{base}/mcp", "https://other.example/mcp"]},
        {"aud": None},
        {"iss": "https://other.example"},
        {"exp": genuine["iat"] - 1},
        {"exp": "never"},
        {"grant": "00000000-0000-4000-8000-000000000000"},
        {"grant": None},
        {"sid": "agent-0000000000000001.1"},
    ):
        token = tokens.sign(TokenKind.ACCESS, "at+jwt", genuine | changed)
        assert await status(token) == 401, changed
    assert await status(tokens.sign(TokenKind.ACCESS, "JWT", genuine)) == 401
    for kind in set(TokenKind) - {TokenKind.ACCESS}:
        assert await status(tokens.sign(kind, "at+jwt", genuine)) == 401, kind
    head, _, signature = client.access_token.rpartition(".")
    assert await status(f"{head}.{signature[::-1]}") == 401


async def test_fifty_payments_at_once_over_three_tools_reach_the_limit_of_the_day_and_never_pass_it(
    service: Service,
):
    registry, payee = service.payments.registry, service.payments.service
    client = await connect(registry, *PAYING, per_call="2.5", per_day="10", ask_above="2.5")
    assert client.agent
    for limit in (CALLS, MONEY_CALLS):
        limit.put(registry.runtime, LeasedLimit(registry.database, limit.name, 0))
    tools = McpClient(registry, client.access_token)
    call = {"agent": payee.did, "message": "good morning"}
    transfer = {"receiver": payee.did, "amount": "2.5"}
    calls = [(await tools.done("preview_call", **call))["intent"] for _ in range(10)]
    transfers = [(await tools.done("preview_transfer", **transfer))["intent"] for _ in range(10)]
    work = proposal(payee, amount="2.5", funded=True, review_by=in_days(20))
    results = await at_once(
        *(tools.call("buy_call", intent=intent) for intent in calls * 2),
        *(tools.call("send_units", intent=intent) for intent in transfers * 2),
        *(tools.call("propose_contract", **work, request_id=f"work-{number}") for number in range(10)),
    )
    assert len(results) == 50
    codes = {one["structuredContent"]["code"] for one in results if one["isError"]}
    assert codes <= {"SPEND_OVER_PER_DAY_MAX", "IDEMPOTENCY_KEY_IN_PROGRESS"}
    assert await client.spent() == "10"
    # Four were made: what is paid has left the account with its fee, a proposal is counted and holds its amount once it is accepted.
    bound = len((await tools.done("list_contracts"))["items"])
    paid = (100 - Decimal(await client.agent.balance())) / Decimal("2.5125")
    assert paid + bound == 4
    assert len(service.calls) == len({one["id"] for one in service.calls}) <= 4
    assert (await registry.supply())["delta"] == "0"


async def verdicts(tools: McpClient, kind: str, name: str, document: Any) -> list[tuple[bool, str]]:
    """The verdicts on a document by its name, by itself and as text."""
    found = []
    for subject in (name, document, json.dumps(document)):
        verdict = await tools.done("verify", kind=kind, subject=subject)
        found.append((verdict["valid"], verdict["code"]))
    return found


GOOD = [(True, "verified")] * 3


async def test_good_attestations_and_proofs_of_contracts_and_of_the_log_are_verified(
    database_farm: DatabaseFarm, tmp_path: Path
):
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps(PROFILE))
    async with open_agreements(database_farm, tmp_path, jurisdiction_profile=profile) as agreements:
        registry = agreements.registry
        alice, bob = await agreements.contractor(), await agreements.provider()
        contract = await agreements.accepted(
            alice, bob, contract_type="attestation", title="Licence to trade"
        )
        admin = await registry.administrator("admin_platform")
        evidence = {"tier": "contract", "contract_id": contract["id"]}
        await record(registry, admin, action="exchange.listing", subject="PROOF", evidence=evidence)
        await auditor.run_cycle(registry.runtime)
        tools = McpClient(registry, path="/mcp/public", headers=registry.elsewhere())
        proof = (await registry.get(f"/jurisdiction/contracts/{contract['id']}")).json()
        assert await verdicts(tools, "contract", str(contract["id"]), proof) == GOOD
        attestation = (await registry.http.get("/api/auditor/attestations/1")).json()
        assert await verdicts(tools, "attestation", "1", attestation) == GOOD
        inclusion = (await registry.http.get("/log/proof?kind=attestation&id=1")).json()
        assert await verdicts(tools, "log", "attestation:1", inclusion) == GOOD
        for kind, document in (("contract", proof), ("attestation", attestation), ("log", inclusion)):
            member = next(name for name in ("digest", "entry") if name in document)
            changed = document | {member: document[member].replace("1", "2", 1).replace("a", "b", 1)}
            assert (await tools.done("verify", kind=kind, subject=changed))["valid"] is False, kind


async def test_a_good_licence_is_verified_by_the_lists_that_are_stored_here(genesis: Issuer):
    registry = genesis.registry
    held = (await registry.http.get("/.well-known/federation-licence.json")).json()
    # Peers ask for the list of an issuer, which signs it then.
    await list_of(registry)
    tools = McpClient(registry, path="/mcp/public", headers=registry.elsewhere())
    assert await verdicts(tools, "licence", held["hash"], held) == GOOD
    changed = held | {"hash": held["hash"][::-1]}
    assert (await tools.done("verify", kind="licence", subject=changed))["valid"] is False
    issued_at = read_certificate(held["certificate"]).payload["iat"]
    for seconds, code, then in ((-1, "not_yet_valid", "not valid"), (0, "verified", "valid")):
        at = datetime.fromtimestamp(issued_at + seconds, UTC).isoformat()
        verdict = await tools.done("verify", kind="licence", subject=held["hash"], at=at)
        assert (verdict["code"], verdict["then"], verdict["at"]) == (code, then, at)
    refused = await tools.refused("verify", kind="log", subject="0", at=at)
    assert refused["code"] == "SUBJECT_MALFORMED"
