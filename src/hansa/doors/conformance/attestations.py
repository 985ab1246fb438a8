"""Suite `attestations`: the chain of supply attestations (SA-1.0) of an implementation, its liabilities and its routes."""

import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from httpx2 import codes

from hansa.doors.conformance.calling import Answer, Broken, Host
from hansa.doors.conformance.rules import (
    NotChecked,
    Rule,
    require,
    require_refused,
    require_status,
    step_of,
)
from hansa.doors.verification.attestations import KEY_SET, RECORDS, read_registry
from hansa.doors.verification.balances import LIABILITIES
from hansa.doors.verification.cards import CannotRead
from hansa_verify import (
    AuditorKey,
    ChainVerdict,
    NotAKey,
    NotCanonical,
    read_auditor_keys,
    read_export,
    verify_attestations,
    verify_liabilities,
)

HEAD = f"{RECORDS}/head"
LIMIT = 2
INNER_FROM = 3  # The shortest chain with a record between two others.
ABSENT_ID = 2**63 - 1
MALFORMED = ("limit=0", "limit=x", "before_id=0", "before_id=x")


class ServedChain:
    """The chain of a host with its keys, each read once."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @cached_property
    def keys(self) -> tuple[AuditorKey, ...]:
        """The keys of the auditor. Raises: Broken."""
        answer = self.host.get(KEY_SET)
        require_status(answer, {200})
        try:
            return read_auditor_keys(answer.json())
        except NotAKey as error:
            raise Broken(f"{answer.name}: {error}") from None

    @cached_property
    def records(self) -> list[Any]:
        """Every record, the first one first. Raises: Broken."""
        try:
            return read_registry(self.host.url)[0]
        except (CannotRead, NotCanonical) as error:
            raise Broken(f"the chain cannot be read: {error}") from None

    @cached_property
    def verdict(self) -> ChainVerdict:
        """The judgement of the verifier, without tolerance. Raises: NotChecked."""
        try:
            return verify_attestations(self.records, self.keys, exact=True)
        except Broken as failure:
            raise NotChecked(str(failure)) from None

    def require_verified(self) -> list[Any]:
        """The records of a verified chain. Raises: NotChecked."""
        if not self.verdict.is_valid:
            raise NotChecked(f"the chain is not verified: {self.verdict.code}")
        return self.records


def has_keys(chain: ServedChain) -> str:
    require(chain.keys, "the key set has no key")
    return f"{len(chain.keys)} keys"


def is_listed(chain: ServedChain) -> str:
    answer = chain.host.get(f"{RECORDS}?limit={LIMIT}")
    require_status(answer, {200})
    page = _page(answer)
    require(page, "the list has no record")
    require(len(page) <= LIMIT, f"limit={LIMIT} answers {len(page)} records")
    numbers = [_id_of(record) for record in page]
    require(numbers == sorted(numbers, reverse=True), "the records are not the newest first")
    return f"newest record {numbers[0]}"


def is_paged(chain: ServedChain) -> str:
    first = _page(chain.host.get(f"{RECORDS}?limit=1"))
    require(first, "the list has no record")
    number = _id_of(first[0])
    older = _page(chain.host.get(f"{RECORDS}?limit=1&before_id={number}"))
    require(
        all(_id_of(record) < number for record in older),
        f"before_id={number} answers a record whose id is not smaller",
    )
    return f"{len(chain.records)} records in all pages"


def _id_of(record: object) -> int:
    number = record.get("id") if isinstance(record, Mapping) else None
    if type(number) is not int:
        raise Broken("a record has no integer id")
    return number


def _page(answer: Answer) -> list[Any]:
    require_status(answer, {200})
    try:
        return read_export(answer.content)[0]
    except NotCanonical as error:
        raise Broken(f"{answer.name}: {error}") from None


def holds(check: str, chain: ServedChain) -> str:
    """A check of the verifier over every record; its finding."""
    return step_of(chain.verdict, check)


def has_head(chain: ServedChain) -> str:
    answer = chain.host.get(HEAD)
    require_status(answer, {200})
    head = answer.members()
    number = _id_of(head)
    record = _record(chain, number)
    for name in ("digest", "kid", "ts", "kind"):
        require(head.get(name) == record.get(name), f"the head and record {number} differ in {name}")
    newest = _id_of(chain.require_verified()[-1])
    require(number >= newest, f"record {number} is older than the newest of the list, {newest}")
    return f"head {number}"


def is_read_by_id(chain: ServedChain) -> str:
    listed = chain.require_verified()[-1]
    record = _record(chain, listed["id"])
    for name in ("payload", "digest", "signature", "kid", "prev_hash"):
        require(record.get(name) == listed[name], f"the list and the record differ in {name}")
    return f"record {listed['id']}"


def _record(chain: ServedChain, number: object) -> dict[str, Any]:
    answer = chain.host.get(f"{RECORDS}/{number}")
    require_status(answer, {200})
    return answer.members()


def refuses_absent(chain: ServedChain) -> str:
    require_status(chain.host.get(f"{RECORDS}/{ABSENT_ID}"), {404})
    return "status 404"


def refuses_malformed(chain: ServedChain) -> str:
    for query in MALFORMED:
        require_refused(chain.host.get(f"{RECORDS}?{query}"))
    return f"{len(MALFORMED)} requests were refused"


def changes_are_refused(chain: ServedChain) -> str:
    """Change one character of each signed part of the newest record: the verifier must refuse each chain."""
    records = chain.require_verified()
    newest = records[-1]
    for change in CHANGES:
        changed = [*records[:-1], change(newest)]
        verdict = verify_attestations(changed, chain.keys, exact=True)
        require(not verdict.is_valid, "a changed chain verifies")
    return f"{len(CHANGES)} changed chains were refused"


def _other_character(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with another first character in a text of hexadecimal digits or base64url."""
    text = record[name]
    return {**record, name: ("1" if text[0] == "0" else "0") + text[1:]}


def _other_payload(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with a payload of another time, under the old digest."""
    return {**record, "payload": record["payload"].replace(record["ts"][:4], "1999", 1)}


def _resigned_payload(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with a member more in its payload."""
    return {**record, "payload": json.dumps({**json.loads(record["payload"]), "x": 1})}


CHANGES: tuple[Callable[[Mapping[str, Any]], dict[str, Any]], ...] = (
    *(partial(_other_character, name) for name in ("digest", "signature", "prev_hash")),
    _other_payload,
    _resigned_payload,
)


def removal_is_refused(chain: ServedChain) -> str:
    records = chain.require_verified()
    if len(records) < INNER_FROM:
        raise NotChecked(f"the chain has less than {INNER_FROM} records")
    verdict = verify_attestations(records[:1] + records[2:], chain.keys, exact=True)
    require(not verdict.is_valid, "a chain without its second record verifies")
    return f"refused by {verdict.code}"


def adds_up(chain: ServedChain) -> str:
    answer = chain.host.get(LIABILITIES)
    if answer.status == codes.NOT_FOUND:
        raise NotChecked("no liabilities are published")
    require_status(answer, {200})
    verdict = verify_liabilities(answer.json(), chain.keys)
    failed = next((step.said for step in verdict.steps if not step.holds), "")
    require(verdict.is_valid, f"{verdict.code}: {failed}")
    return verdict.steps[-1].said


RULES = (
    Rule("ATT-01", f"`GET {KEY_SET}` answers 200 with public Ed25519 keys.", has_keys),
    Rule(
        "ATT-02",
        f"`GET {RECORDS}` answers 200 with `standard` SA-1.0 and at most `limit` records, the newest first.",
        is_listed,
    ),
    Rule(
        "ATT-03",
        "With `before_id` the list has only records of a smaller id, and its pages lead to the first record.",
        is_paged,
    ),
    Rule(
        "ATT-04",
        "C1: each record names a known key whose id is derived from it, and that was not retired before.",
        partial(holds, "C1"),
    ),
    Rule("ATT-05", "C2: each digest is the SHA-256 of the payload.", partial(holds, "C2")),
    Rule("ATT-06", "C3: each signature is by that key over the payload.", partial(holds, "C3")),
    Rule(
        "ATT-07",
        "C4: each record names the digest of the one before; the first one names 64 zeros.",
        partial(holds, "C4"),
    ),
    Rule(
        "ATT-08",
        "C5: each envelope states what its payload states, provenance records are complete, ids and times rise.",
        partial(holds, "C5"),
    ),
    Rule(
        "ATT-09",
        "C6: net supply and delta follow from the terms, and the liabilities are the units in circulation, to the last digit.",
        partial(holds, "C6"),
    ),
    Rule(
        "ATT-10",
        "C7: the status follows from the delta, `native.ok` from its gap, and each check has a result of the standard.",
        partial(holds, "C7"),
    ),
    Rule(
        "ATT-11",
        "C8: the position in the log never falls, the basis changes only after a provenance record, and the head is not of the future.",
        partial(holds, "C8"),
    ),
    Rule("ATT-12", f"`GET {HEAD}` answers with the newest record.", has_head),
    Rule(
        "ATT-13",
        f"`GET {RECORDS}/ID` answers with the record as the list has it, byte by byte.",
        is_read_by_id,
    ),
    Rule("ATT-14", "A record that does not exist is refused with 404.", refuses_absent),
    Rule("ATT-15", "A malformed `limit` or `before_id` is refused with 400 to 499.", refuses_malformed),
    Rule(
        "ATT-16",
        "A chain in which one character of payload, digest, signature or `prev_hash` is changed does not verify.",
        changes_are_refused,
    ),
    Rule("ATT-17", "A chain without one of its inner records does not verify.", removal_is_refused),
    Rule(
        "ATT-18",
        f"Where `GET {LIABILITIES}` is served, its blocks add up to the total and the root that the attestation signs.",
        adds_up,
    ),
)
