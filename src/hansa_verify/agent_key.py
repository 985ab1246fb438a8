"""Judge which signing key an agent had at a moment, by the statement in which its registry signed the history of its keys.

- A statement knows the time until its `as_of`; about a later moment it proves nothing.
- A key counts from `valid_from` on, and no longer at `valid_until`, both exact. The last key of a revoked agent ends with it.
- Keys are added and ended, never changed: a statement of a later time gives the same verdict on a moment that an earlier one knew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from .canonical import read_moment
from .card import DocumentEvaluation, Verdict
from .keys import CLOCK_SKEW, RegistryKey, public_key_of
from .licence import key_thumbprint
from .steps import Refusal, refused_as

AGENT_KEYS_KIND = "agent.keys.v1"
AGENT_KEYS_TYPE = "agent-keys+jws"
AGENT_KEYS_MAX = 1000
"""Keys in a statement: the newest ones."""

_MEMBERS = {"kind": str, "registry": str, "did": str, "as_of": str, "keys": list}
_KEY_MEMBERS = {"number", "public_key_jwk", "valid_from", "valid_until"}


@dataclass(frozen=True)
class HeldKey:
    """A key of an agent; `kid` is its thumbprint, `valid_until` None while it is the present one."""

    number: int
    kid: str
    public_key: bytes
    valid_from: datetime
    valid_until: datetime | None


@dataclass(frozen=True)
class AgentKeyVerdict(Verdict):
    """The judgement; `held` is the key that the agent had at the moment.

    `code` is `verified`, a code of signed documents, `key_not_yet_valid`, `key_retired`, `unknown_key`, or `unverified` where
    the statement does not know the moment.
    """

    held: HeldKey | None = None


def verify_agent_key(
    text: bytes | str, keys: Sequence[RegistryKey], at: datetime | None = None, *, kid: str | None = None
) -> AgentKeyVerdict:
    """Judge whether `kid`, or any key without it, was the signing key of an agent at `at`, or as of the statement. Never raises.

    The signature of the registry is judged as of now: a retired key of the registry signs nothing that is believed for long.
    """
    judged = _KeyEvaluation(text, keys, at, kid)
    code, steps = judged.take()
    if code != "verified":
        return AgentKeyVerdict(code, steps)
    return AgentKeyVerdict(code, steps, judged.card, judged.signer.kid, judged.signed_at, judged.held)


class _KeyEvaluation(DocumentEvaluation):
    history: list[HeldKey]
    held: HeldKey

    def __init__(
        self, text: bytes | str, keys: Sequence[RegistryKey], moment: datetime | None, kid: str | None
    ) -> None:
        super().__init__(text, keys, AGENT_KEYS_TYPE, None)
        self.asked_at, self.kid = moment, kid

    def kind(self) -> str:
        stated = {name: type(member) for name, member in self.card.items()}
        if stated != _MEMBERS or self.card["kind"] != AGENT_KEYS_KIND:
            raise Refusal("malformed", f"a statement has the kind {AGENT_KEYS_KIND} and its five members")
        if len(self.card["keys"]) > AGENT_KEYS_MAX:
            raise Refusal("malformed", f"a statement has at most {AGENT_KEYS_MAX} keys")
        return f"{len(self.card['keys'])} keys of {self.card['did']}"

    def keys_in_order(self) -> str:
        """Numbers without a gap, newest first, each ended before the next begins, and nothing after the statement."""
        as_of = read_moment(self.card["as_of"])
        if as_of is None or as_of > self.signed_at + CLOCK_SKEW:
            raise Refusal("malformed", "as_of is a time with an offset, before the signature")
        self.as_of = as_of
        with refused_as("malformed"):
            self.history = [_read_key(one) for one in self.card["keys"]]
        for newer, older in pairwise(self.history):
            if older.number != newer.number - 1 or (older.valid_until or as_of) > newer.valid_from:
                raise Refusal("malformed", "the keys do not follow each other")
            if older.valid_until is None:
                raise Refusal("malformed", "a key before the present one has no end")
        times = [one.valid_from for one in self.history] + [one.valid_until or as_of for one in self.history]
        if any(one > as_of for one in times) or any(
            one.valid_until is not None and one.valid_until < one.valid_from for one in self.history
        ):
            raise Refusal("malformed", "a key begins or ends after as_of, or ends before it begins")
        return f"as of {as_of.isoformat()}"

    def moment_known(self) -> str:
        self.moment = self.asked_at or self.as_of
        if self.moment > self.as_of:
            raise Refusal(
                "unverified", f"the statement is as of {self.as_of.isoformat()}, before the moment", "moment"
            )
        oldest = self.history[-1] if self.history else None
        if oldest is not None and oldest.number > 1 and self.moment < oldest.valid_from:
            raise Refusal("unverified", f"the statement begins at {oldest.valid_from.isoformat()}", "moment")
        return f"judged at {self.moment.isoformat()}"

    def held_then(self) -> str:
        """The key that is asked for, or any, counted at the moment."""
        asked = [one for one in self.history if self.kid in {None, one.kid}]
        if self.kid is not None and not asked:
            if self.history and self.history[-1].number > 1:
                raise Refusal("unverified", f"the statement has only the newest {len(self.history)} keys")
            raise Refusal("unknown_key", f"{self.kid} is no key of the agent")
        begun = [one for one in asked if one.valid_from <= self.moment]
        if not begun:
            raise Refusal("key_not_yet_valid", "the key is valid from a later time on")
        newest = begun[0]
        if newest.valid_until is not None and newest.valid_until <= self.moment:
            raise Refusal("key_retired", f"the key ended at {newest.valid_until.isoformat()}")
        self.held = newest
        return f"{newest.kid} was key {newest.number} of the agent"

    steps: tuple[Callable[[Any], str], ...] = (
        *DocumentEvaluation.steps,
        kind,
        keys_in_order,
        moment_known,
        held_then,
    )


def _read_key(one: Any) -> HeldKey:
    """A key of a statement. Raises: Refusal, NotAKey."""
    if not isinstance(one, Mapping) or set(one) != _KEY_MEMBERS or type(one["number"]) is not int:
        raise Refusal("malformed", "a key has number, public_key_jwk, valid_from and valid_until")
    begins, ends = read_moment(one["valid_from"]), read_moment(one["valid_until"])
    if begins is None or (ends is None and one["valid_until"] is not None) or one["number"] < 1:
        raise Refusal("malformed", "a key has times with an offset, and a number of at least 1")
    if not isinstance(one["public_key_jwk"], Mapping):
        raise Refusal("malformed", "public_key_jwk is a JWK")
    public_key = public_key_of(one["public_key_jwk"])
    return HeldKey(one["number"], key_thumbprint(public_key), public_key, begins, ends)
