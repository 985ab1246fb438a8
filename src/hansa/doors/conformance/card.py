"""Suite `card`: the registry card 0.6 that an implementation serves, its keys, and its signature, judged by the verifier."""

import json
from copy import deepcopy
from functools import cached_property, reduce
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
from hansa.doors.verification.cards import KEY_HISTORY, KEY_SET
from hansa.doors.verification.registry_cards import CARD
from hansa_verify import CardVerdict, NotAKey, RegistryKey, read_keys, verify_registry_card


class ServedCard:
    """The card of a host with its keys, each read once."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @cached_property
    def answer(self) -> Answer:
        """The answer with the card. Raises: Broken."""
        answer = self.host.get(CARD)
        require_status(answer, {200})
        return answer

    @cached_property
    def keys(self) -> tuple[RegistryKey, ...]:
        """The keys that the host publishes. Raises: Broken."""
        return _keys(self.host.get(KEY_SET))

    @cached_property
    def verdict(self) -> CardVerdict:
        """The judgement of the verifier. Raises: NotChecked where card or keys cannot be read."""
        try:
            return verify_registry_card(self.answer.content, self.keys)
        except Broken as failure:
            raise NotChecked(str(failure)) from None

    def require_verified(self) -> CardVerdict:
        """The judgement of a verified card. Raises: NotChecked."""
        if not self.verdict.is_valid:
            raise NotChecked(f"the card is not verified: {self.verdict.code}")
        return self.verdict


def _keys(answer: Answer) -> tuple[RegistryKey, ...]:
    require_status(answer, {200})
    try:
        return read_keys(answer.json())
    except NotAKey as error:
        raise Broken(f"{answer.name}: {error}") from None


def is_served(card: ServedCard) -> str:
    kind = card.answer.media_type()
    require(kind == "application/json", f"expected application/json, got {kind or 'no media type'}")
    card.answer.members()
    return f"{len(card.answer.content)} bytes of JSON"


def is_within_limits(card: ServedCard) -> str:
    return step_of(card.verdict, "form")


def has_namespace(card: ServedCard) -> str:
    return step_of(card.verdict, "namespace")


def has_form(card: ServedCard) -> str:
    return step_of(card.verdict, "schema")


def has_keys(card: ServedCard) -> str:
    require(card.keys, "the key set has no key")
    return f"{len(card.keys)} keys"


def names_key(card: ServedCard) -> str:
    return step_of(card.verdict, "key")


def signs_paths(card: ServedCard) -> str:
    return step_of(card.verdict, "paths")


def is_signed(card: ServedCard) -> str:
    return step_of(card.verdict, "signature")


def is_in_force(card: ServedCard) -> str:
    return step_of(card.verdict, "window")


def is_of_its_domain(card: ServedCard) -> str:
    return step_of(card.verdict, "domain")


def covers_signed_leaves(card: ServedCard) -> str:
    """Change each signed leaf that the card has, one at a time: the verifier must refuse each."""
    signed = card.require_verified().signed or {}
    changed = 0
    for path, value in signed.items():
        if value is None or path.startswith("signature."):
            continue
        copy = _with_another(json.loads(card.answer.content), path)
        changed += 1
        verdict = verify_registry_card(json.dumps(copy), card.keys)
        require(not verdict.is_valid, f"the card verifies although {path} was changed")
    require(changed, "the card has no signed leaf")
    return f"{changed} changed cards were refused"


def _with_another(card: Any, path: str) -> Any:
    copy = deepcopy(card)
    *blocks, name = path.split(".")
    block = reduce(lambda found, one: found[one], blocks, copy)
    block[name] = _another(block[name])
    return copy


def _another(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return [*value, "x"] if isinstance(value, list) else {**value, "x": "x"}


def has_history(card: ServedCard) -> str:
    history = {key.kid: key for key in _keys(card.host.get(KEY_HISTORY))}
    for key in card.keys:
        found = history.get(key.kid)
        require(found is not None, f"the history has no key {key.kid!r}")
        if found is not None:
            require(
                found.public_key == key.public_key, f"the history has another key under the id {key.kid!r}"
            )
            require(found.valid_from, f"the history states no valid_from of {key.kid!r}")
    return f"{len(history)} keys in the history"


def is_revalidated(card: ServedCard) -> str:
    tag = card.answer.headers.get("etag")
    if tag is None:
        raise Broken("the answer has no ETag")
    again = card.host.get(CARD, headers={"If-None-Match": tag})
    is_another = again.status == codes.OK and again.headers.get("etag") != tag
    require(
        again.status == codes.NOT_MODIFIED or is_another,
        f"status {again.status} with the same ETag, expected 304",
    )
    return f"status {again.status}"


def is_read_only(card: ServedCard) -> str:
    answer = card.host.call("POST", CARD, json={})
    require_refused(answer)
    return f"status {answer.status}"


RULES = (
    Rule("CARD-01", f"`GET {CARD}` answers 200 with a JSON object as `application/json`.", is_served),
    Rule(
        "CARD-02",
        "The card is strict JSON of at most 256 KiB, with strings of at most 2,048 characters.",
        is_within_limits,
    ),
    Rule(
        "CARD-03",
        "A `did_namespace` of the card is well-formed, not reserved, and the trust domain.",
        has_namespace,
    ),
    Rule("CARD-04", "Every required member is present, and each member has the form of card 0.6.", has_form),
    Rule(
        "CARD-05",
        f"`GET {KEY_SET}` answers 200 with public Ed25519 keys, each with a `kid` of its own.",
        has_keys,
    ),
    Rule("CARD-06", "`signature.kid` names a key of the key set that is not past its grace.", names_key),
    Rule("CARD-07", "`signature.signed_canonical` has the thirteen basic paths, none twice.", signs_paths),
    Rule(
        "CARD-08",
        "The signature is by that key over the canonical JSON of the signed leaves, and `lifecycle.card_etag` is that of the content.",
        is_signed,
    ),
    Rule("CARD-09", "The card was signed before now, and its signature has not expired.", is_in_force),
    Rule("CARD-10", "`identity.spiffe_id` is of the trust domain of the card.", is_of_its_domain),
    Rule("CARD-11", "A card in which a signed leaf is changed does not verify.", covers_signed_leaves),
    Rule(
        "CARD-12",
        f"`GET {KEY_HISTORY}` has every key of the key set with the time from which it is valid.",
        has_history,
    ),
    Rule("CARD-13", "The card has an `ETag`, and `If-None-Match` with it answers 304.", is_revalidated),
    Rule("CARD-14", "`POST` to the address of the card is refused with 400 to 499.", is_read_only),
)
