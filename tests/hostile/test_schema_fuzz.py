"""Answers conform to the served description: random requests of every kind get only declared answers."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.errors import FailureGroup
from schemathesis.generation.meta import CoveragePhaseData, CoverageScenario
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hansa.foundation.plumbing.web.bodies import NUMBER_MAX_DIGITS
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.hostile.served import Served, serve
from tests.house.rights import read_rights
from tests.properties.scale import TIER, by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

EXAMPLES = by_tier(1, 200, 1000)
# tests/openapi/test_examples.py sends each example of the description with each commit.
EXAMPLES_TOO = by_tier(commit=False, daily=True, release=True)
# Sequences by the links of the description: what an operation returns is asked for again by the conversations with each commit.
LINKED_TOO = by_tier(commit=False, daily=True, release=True)
# test_paths_and_methods.py tries every other method of every path with each commit.
EVERY_METHOD = ["get", "put", "post", "delete", "options", "patch", "trace", "query"]
METHODS_NOT_DECLARED = by_tier([], EVERY_METHOD, EVERY_METHOD)
# Many operations share members such as `limit`, a body and a media type: so many of them get a form of one, in so many values.
SHARING, VALUES = by_tier((1, 1), (10_000, 10_000), (10_000, 10_000))
# For each commit the first request to each operation is sent without one, and the rights matrix says which are refused.
WITHOUT_A_CREDENTIAL_TOO = by_tier(commit=False, daily=True, release=True)
CREDENTIALS = ("none", "developer", "agent")
NO_ACCESS = ("401", "403")
# Operations that end the credential that they are tried with.
LEAVE = ("/auth/logout", "DELETE /api/v1/agents/me", "/change-password", "/sessions/end-all")
# What the description declares of an answer, to whomever it is given.
DECLARED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Operations, by a form of a member and how often each was sent it.
Tried = defaultdict[tuple[Any, ...], Counter[str]]
# A bound on what hangs, on a machine with much else to do.
ANSWER_SECONDS = 60

# A 503 is the specified answer to every request.
NEVER_SERVED = {"POST /api/v1/agora/passport/inbound"}
# Requests that fit the description and are still refused: by the state of the registry, by rules between members,
# by words that a pattern does not know. Nothing else may refuse a request of the described form.
REFUSED_BY_STATE = ["2xx", "400", "401", "402", "403", "404", "409", "429"]
REFUSED_BY_RULES = {
    "POST /api/v1/admin/zkp/circuits": "points are on their curves; a source is at an https address; a text can be seen",
    "POST /api/v1/attestations/submit": "inputs are of the caller and of the circuit",
    "POST /api/v1/disputes/{dispute_id}/evidence": "a digest or attestations, which exist",
    "POST /api/v1/agents/me/rotate-signing-key": "a key is a sound point of the curve",
    "POST /api/v1/achievements/flares/purchase": "an amount is greater than zero and has a maximum",
    "PUT /api/v1/achievements/flares/selection": "each flare stands in its slot, an overlay with an encirclement",
    "POST /api/v1/agents/capabilities": "an amount is greater than zero and has a maximum",
    "POST /api/v1/agents/capabilities/{capability_id}/attenuate": "an amount is greater than zero and has a maximum",
    "POST /api/v1/agents/{did}/reputation-bond/deposit": "an amount is greater than zero and has a maximum",
    "POST /api/v1/agents/capabilities/{capability_id}/consume": "an amount is greater than zero and has a maximum",
    "PUT /api/v1/agents/{did}/authz": "an amount has a maximum",
    "POST /api/v1/agents/{did}/spawn": "an amount is greater than zero and has a maximum; a text can be seen; a card is one",
    "POST /api/v1/agents/{did}/logs": "one entry by its members, or several in a list",
    "POST /api/v1/agents/{did}/deployments": "an address is one that the registry calls; a note has no control characters",
    "POST /api/v1/agent-builder/generate": "a type has members of its own; a text has no control characters",
    "POST /api/v1/agents/import": "a bundle has the signature of a registry",
    "POST /api/v1/agents/bundles/{bundle_id}/fork": "a text has no control characters",
    "POST /api/v1/agents/{did}/versions": "an artifact is at an https address; notes have no control characters",
    "POST /api/v1/agents/self/version": "an artifact is at an https address; notes have no control characters",
    "POST /api/v1/auth/agent/token": "the members depend on the grant type",
    "POST /api/v1/admin/incidents": "a text can be seen; times fit the kind and each other",
    "POST /api/v1/admin/incidents/{incident_id}/updates": "a text can be seen",
    "PUT /api/v1/admin/showcase": "an agent is pinned once; a note has no control characters",
    "PUT /api/v1/admin/registry-card": "a block has the form that the schema of the card gives it",
    "POST /api/v1/admin/jurisdiction/authorizations": "evidence has what its tier needs; a text can be seen",
    "POST /api/v1/admin/registry-card/icon": "an icon is an image",
    "POST /api/v1/auth/change-password": "a password has classes of characters",
    "POST /api/v1/auth/forgot-password": "an e-mail address has a syntax",
    "POST /api/v1/auth/recover-account": "an e-mail address has a syntax",
    "POST /api/v1/auth/set-new-password": "a password has classes of characters",
    "POST /api/v1/auth/login": "a form cannot say null",
    "POST /api/v1/auth/register": "a password has classes of characters, an e-mail address has a syntax",
    "POST /api/v1/onboard/create_agent": "exactly one of two members; a card of the A2A form",
    "POST /api/v1/admin/balance-corrections": "an amount is greater than zero and has a maximum; a reference is printable",
    "POST /api/v1/staking/stake": "an amount is greater than zero and has a maximum",
    "POST /api/v1/staking/unstake": "an amount is greater than zero and has a maximum",
    "POST /api/v1/teg/send": "exactly one of two members; an amount as below",
    "POST /api/v1/teg/transfer": "an amount is greater than zero and has a maximum",
    "GET /api/v1/teg/balance": "a moment is a past time, or a sequence number that was reached",
    "POST /api/v1/agent-cards/": "a card of the A2A form",
    "PUT /api/v1/agent-cards/{card_id}": "a card of the A2A form",
    "POST /api/v1/agent-cards/import-mcp": "exactly one of two members; an address answers with a server.json",
    "GET /v0.1/servers": "a cursor is one that the registry gave out",
    "GET /api/v1/agent-cards/": "a cursor is one that the registry gave out",
    "GET /api/v1/discover": "what is looked for holds a word",
    "GET /api/v1/agents/me/events": "a cursor is one that the registry returned",
    "GET /api/v1/a2a-payment/quote": "a firm quote is of a price in the unit of the registry",
    "POST /api/v1/a2a-payment/authorize": "an amount has a maximum; a quote is one that the registry signed",
    "POST /api/v1/a2a-payment/buy": "the payee states a price and an address that can be called",
    "POST /api/v1/agents/me/wallets/challenge": "a mixed-case address has a checksum",
    "POST /api/v1/agents/me/wallets": "a mixed-case address has a checksum",
    "DELETE /api/v1/agents/me/wallets/{address}": "a mixed-case address has a checksum",
    "POST /api/v1/contracts": "dates stand in order, milestones sum to the amount, which has a maximum",
    "POST /api/v1/disputes/": "at most one of contract, token and transaction, whose other party is the defendant",
    "PUT /api/v1/admin/disputes/{dispute_id}/ruling": "amounts within the bound, and none but for the complainant",
    "POST /api/v1/contracts/malpractice": "damages have a maximum, and a text is not blank",
    "POST /api/v1/contracts/{contract_id}/submit-federated": "a deliverable is named by an address or a digest",
    "POST /api/v1/bridge/transfer": "an amount is greater than zero and has a maximum",
    "POST /api/v1/bridge/redeem": "an amount is greater than zero and has a maximum",
    "POST /api/v1/teg/cross-registry-transfer": "an amount is greater than zero and has a maximum",
    "POST /api/v1/teg/fx/quote": "exactly one of two members; an amount as above",
    "POST /api/v1/admin/fx/pools": "an amount is greater than zero and has a maximum",
    "POST /api/v1/admin/fx/pools/{currency}/fund": "an amount is greater than zero and has a maximum",
    "POST /api/v1/admin/fx/pools/{currency}/drain": "an amount is greater than zero and has a maximum",
    "PUT /api/v1/admin/fx/rates/{currency}": "a rate is greater than zero",
    "POST /api/v1/federation/fx/acts": "an amount has a maximum",
    "POST /api/v1/federation/invitations/redeem": "an acceptance is one that another registry signed",
    "POST /api/v1/admin/federation/invitations/accept": "an invitation is one that another registry signed",
    "POST /api/v1/governance/proposals/{proposal_id}/vote": "exactly one of two members",
    "POST /api/v1/agora/listings": "terms fit each other, and moments are ahead",
    "POST /api/v1/agora/orders": "a limit order has a price, a market order has none",
    "PATCH /api/v1/agora/listings/{ref}": "terms fit each other, and moments are ahead",
    "POST /api/v1/governance/proposals": "a change of policy names settings within their bounds, a signal none",
    "POST /api/v1/work-orders/{work_order_id}/bids": "a price is greater than zero and at most the amount of the order",
    "POST /api/v1/agents/{did}/pipelines": "a message or a request; steps form a graph; amounts have a maximum; names can be seen",
    "PUT /api/v1/agents/{did}/pipelines/{pipeline_id}": "a message or a request; steps form a graph; amounts have a maximum; names can be seen",
    "POST /api/v1/agents/{did}/pipelines/{pipeline_id}/runs": "an amount is greater than zero and has a maximum",
    "POST /api/v1/agents/{did}/pipelines/{pipeline_id}/runs/{run_id}/resume": "an amount is greater than zero and has a maximum",
    "POST /api/v1/pipeline-templates/{template_id}/instantiate": "parameters are those of the template",
    "POST /api/v1/teg/transfers": "an amount is greater than zero and has a maximum",
}


CONVERTER = re.compile(r":\w+\}")
WHOLE_NUMBER_WITH_POINT = re.compile(r": -?[0-9]+\.0[,}]")
REPEATED_KEY = '"IDEMPOTENCY_KEY_REUSED"'
ENDLESS_NUMBER = re.compile(rf"[0-9]{{{NUMBER_MAX_DIGITS + 1}}}")


@pytest.fixture(scope="module")
async def fuzzed_registry(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[TestRegistry, Served]]:
    """A registry and the server of its database, for each credential in turn."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("fuzzed"))
    registry = await registries.start(public_base_url="http://registry.test")
    async with serve(registry, IS_CENTRAL_REGISTRY="true", SOVEREIGN_MAINFRAMES="hansa.local") as served:
        yield registry, served
    await registries.end()


@pytest.fixture(scope=by_tier("module", "function", "function"))
def tried() -> Tried:
    """Counters of the requests already sent; for each commit the credentials share them."""
    return defaultdict(Counter)


@pytest.mark.parametrize("who", CREDENTIALS)
async def test_no_request_gets_an_answer_that_the_description_does_not_declare(
    who: str, fuzzed_registry: tuple[TestRegistry, Served], tried: Tried
):
    registry, served = fuzzed_registry
    run = fuzzed(served, await headers_of(registry, who), left_out_for(who), printed_seed(), tried)
    assert not run.failures, "\n\n".join(run.failures)
    assert run.judged["not_a_server_error"] > EXAMPLES
    others = [other for other in CREDENTIALS if other != who and not TIER]
    for other in others:
        failures = asked_again(run.first, await headers_of(registry, other))
        assert not failures, "\n\n".join(failures)
    print(f"{who}: {run.judged['not_a_server_error']} requests, {len(run.first)} again as each of {others}")


async def headers_of(registry: TestRegistry, who: str) -> dict[str, str]:
    """A credential of somebody new: some operations end the one that they are tried with."""
    if who == "none":
        return {}
    developer = await registry.developer()
    return developer.headers if who == "developer" else (await developer.agent()).headers


def asked_again(cases: Mapping[str, schemathesis.Case[Any]], credential: Mapping[str, str]) -> list[str]:
    """Send each request with this credential, and return the answers that the description does not declare."""
    failures = []
    with requests.Session() as session:
        session.trust_env = False
        for label, case in sorted(cases.items(), key=lambda item: item[0].endswith(LEAVE)):
            case.headers = {name: value for name, value in case.headers.items() if name != "Authorization"}
            answer = case.call(session=session, headers=dict(credential), timeout=ANSWER_SECONDS)
            try:
                checks = [
                    one for one in DECLARED if one is not not_a_server_error or label not in NEVER_SERVED
                ]
                case.validate_response(answer, checks=checks)
            except FailureGroup as found:
                failures += [f"{label}: {failure}\n{answer.content!r}" for failure in found.exceptions]
    return failures


def left_out_for(who: str) -> list[str]:
    """The operations that are not tried with this credential, as the description names them.

    For each commit an operation is tried with the first credential that the table of rights admits, and its first
    request is sent with each of the others. The deeper tiers try every operation with each.
    """
    return [
        CONVERTER.sub("}", row.operation)
        for row in read_rights()
        if not TIER and first_admitted(row.expected) != who
    ]


def first_admitted(expected: Mapping[str, str]) -> str:
    return next((who for who in CREDENTIALS if expected[who] not in NO_ACCESS), "developer")


@dataclass
class Run:
    """Number of judgements of each check, its failures, and the first request to each operation."""

    judged: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    first: dict[str, schemathesis.Case[Any]] = field(default_factory=dict)


def fuzzed(
    served: Served, credential: Mapping[str, str], left_out: list[str], seed: int, tried: Tried
) -> Run:
    """Try every operation but these with one credential."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "base-url": served.url,
            "headers": dict(credential),
            "continue-on-failure": True,
            "request-timeout": ANSWER_SECONDS,
            # NUL has tests of its own: no schema can say that it is refused everywhere.
            "generation": {"max-examples": EXAMPLES, "database": "none", "allow-x00": False},
            "phases": {
                "coverage": {"unexpected-methods": METHODS_NOT_DECLARED},
                "examples": {"enabled": EXAMPLES_TOO},
                "stateful": {"enabled": LINKED_TOO},
            },
            "checks": {
                "positive_data_acceptance": {"expected-statuses": REFUSED_BY_STATE},
                # It cannot leave out a header that every request of the run carries; "none" asks without.
                "missing_required_header": {"enabled": not credential},
                "ignored_auth": {"enabled": WITHOUT_A_CREDENTIAL_TOO},
            },
            "operations": [
                *([{**one_of(left_out), "enabled": False}] if left_out else []),
                {
                    **one_of(REFUSED_BY_RULES.keys() - set(left_out)),
                    "checks": {"positive_data_acceptance": {"enabled": False}},
                },
                {
                    **one_of(NEVER_SERVED),
                    "checks": {
                        "positive_data_acceptance": {"enabled": False},
                        "not_a_server_error": {"enabled": False},
                    },
                },
            ],
        }
    )
    schema = schemathesis.openapi.from_url(
        f"{served.url}/api/v1/openapi.json", config=config, timeout=ANSWER_SECONDS
    )
    listed = names_of_lists(schema.raw_schema)
    declared = operations_of(schema.raw_schema)
    run = Run()
    with from_many_addresses(), without_repetitions(tried):
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioFinished):
                for node in event.recorder.cases.values():
                    run.first.setdefault(node.value.operation.label, node.value)
                for check, answer in judgements(event):
                    run.judged[check.name] += 1
                    found = check.failure_info
                    if found and not no_schema_says_it(
                        check.name, found.code_sample, answer, listed, declared
                    ):
                        run.failures.append(f"{event.label}: {found.failure}\n{found.code_sample}\n{answer}")
            elif isinstance(event, events.NonFatalError | events.FatalError):
                run.failures.append(f"the run itself failed: {vars(event)}")
    return run


def one_of(names: Collection[str]) -> dict[str, str]:
    """Return the filter for these operations. It is one expression: the tool compares each operation with each filter for every request."""
    return {"include-name-regex": f"^(?:{'|'.join(map(re.escape, sorted(names)))})$"}


def judgements(scenario: events.ScenarioFinished) -> Iterator[tuple[Any, str]]:
    """Each check of a scenario, with the text of the answer that it judged."""
    for case, checks in scenario.recorder.checks.items():
        response = scenario.recorder.find_response(case_id=case)
        answer = response.content.decode(errors="replace") if response else ""
        yield from ((check, answer) for check in checks)


def names_of_lists(description: Mapping[str, Any]) -> set[str]:
    """The query parameters that may be said several times."""
    operations = (operation for path in description["paths"].values() for operation in path.values())
    parameters = (parameter for operation in operations for parameter in operation.get("parameters", []))
    return {
        one["name"] for one in parameters if one["in"] == "query" and one["schema"].get("type") == "array"
    }


def operations_of(description: Mapping[str, Any]) -> list[tuple[str, re.Pattern[str]]]:
    """The method and the form of the path of each operation."""
    return [
        (method.upper(), re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)))
        for path, operations in description["paths"].items()
        for method in operations
    ]


def no_schema_says_it(
    check: str, code_sample: str, answer: str, listed: set[str], declared: list[tuple[str, re.Pattern[str]]]
) -> bool:
    """Return whether the answer follows a rule of all routes that the schema of one cannot express."""
    if check == "unsupported_method":
        return is_another_operation(code_sample, declared)
    if check == "negative_data_rejection":
        return says_twice(code_sample, listed)
    # Numbers of members, too, that a route does not know. Cases share keys; the tool may name a resource that it lost `None`.
    return check == "positive_data_acceptance" and bool(
        ENDLESS_NUMBER.search(code_sample)
        or WHOLE_NUMBER_WITH_POINT.search(code_sample)
        or REPEATED_KEY in answer
        or "/None" in code_sample
    )


def is_another_operation(code_sample: str, declared: list[tuple[str, re.Pattern[str]]]) -> bool:
    """Return whether the path, which lacks this method, matches another declared operation with it."""
    method = re.search(r"-X ([A-Z]+)", code_sample)
    assert method, code_sample
    # The body before it may hold addresses too.
    path = urlsplit(re.findall(r"https?://[^' ]+", code_sample)[-1]).path
    return any(one == method[1] and form.fullmatch(path) for one, form in declared)


def says_twice(code_sample: str, listed: set[str]) -> bool:
    """Return whether the request repeats a query parameter that is no list; the last value counts, as everywhere."""
    address = re.search(r"https?://[^' ]+", code_sample)
    assert address, code_sample
    said = Counter(name for name, _ in parse_qsl(urlsplit(address[0]).query, keep_blank_values=True))
    return any(times > 1 for name, times in said.items() if name not in listed)


@contextmanager
def without_repetitions(tried: Tried) -> Iterator[None]:
    """Limit the requests with one form of one member, right or wrong, to a few, sent to the first operations that have it.

    For each commit with any credential: it is judged before a member is read, and is sent to every operation besides.
    """

    def filter_case(context: Any, case: schemathesis.Case[Any]) -> bool:
        form = case.meta.phase.data if case.meta else None
        if not isinstance(form, CoveragePhaseData) or form.scenario == CoverageScenario.DEFAULT_POSITIVE_TEST:
            return True
        operations, label = (
            tried[form.parameter_location, form.parameter, form.description],
            case.operation.label,
        )
        if label in operations or len(operations) < SHARING:
            operations[label] += 1
        return 0 < operations[label] <= VALUES

    schemathesis.hook(filter_case)
    try:
        yield
    finally:
        schemathesis.hooks.unregister(filter_case)


@contextmanager
def from_many_addresses() -> Iterator[None]:
    """Each request comes from an address of its own, past the limits that count addresses."""

    def before_call(context: Any, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
        case.headers["X-Forwarded-For"] = ".".join(str(random.randrange(1, 255)) for _ in range(4))

    schemathesis.hook(before_call)
    try:
        yield
    finally:
        schemathesis.hooks.unregister(before_call)
