"""Definition of a pipeline and its checks, without I/O. Amounts in minor units."""

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from hansa.foundation.values.money import Minor

from .errors import DefinitionInvalid
from .references import references_in, step_of

STEPS_MAX = 20
ATTEMPTS_MAX = 5
TIMEOUT_SECONDS_MAX = 60
DEADLINE_SECONDS_MAX = 7 * 24 * 3600
DEFINITION_MAX_BYTES = 256 * 1024
SLUG = r"^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$"

OnFailure: TypeAlias = Literal["stop", "skip", "fallback"]


class Call(msgspec.Struct, frozen=True):
    """JSON-RPC request to a service; references in `params` are expanded."""

    method: str
    params: dict[str, Any]


class When(msgspec.Struct, frozen=True):
    """Condition of a step: the value at `ref` equals this one."""

    ref: str
    equals: Any


class Step(msgspec.Struct, frozen=True):
    """Step of a pipeline: a purchase from one agent, after the steps that it needs."""

    id: str
    agent: str
    max_amount: Minor
    message: str | dict[str, Any] | None = None
    request: Call | None = None
    needs: tuple[str, ...] = ()
    timeout_seconds: int = 30
    attempts: int = 1
    on_failure: OnFailure = "stop"
    fallback: str | None = None
    when: When | None = None
    approval: bool = False

    @property
    def content(self) -> Any:
        """Message or parameters, in which references are expanded."""
        return self.message if self.request is None else self.request.params

    @property
    def attempts_in_all(self) -> int:
        """Attempts at the agent and, after those, at its fallback."""
        return self.attempts * (2 if self.fallback else 1)

    def payee_of(self, place: int) -> str:
        """Payee of the attempt at this place, the first being 1."""
        return self.fallback if self.fallback and place > self.attempts else self.agent


class Definition(msgspec.Struct, frozen=True):
    """Steps of a pipeline, what a run of it may spend without fees, and how long it may take."""

    name: str
    steps: tuple[Step, ...]
    budget: Minor
    deadline_seconds: int
    description: str = ""

    def step(self, step_id: str) -> Step:
        """The step with this id."""
        return next(step for step in self.steps if step.id == step_id)


def require_sound(definition: Definition, own_did: str) -> None:
    """The steps form a graph without a cycle, whose references are known. Raises: DefinitionInvalid."""
    needs = {step.id: step.needs for step in definition.steps}
    if len(needs) < len(definition.steps):
        raise DefinitionInvalid("Each step has an id of its own.", field="steps")
    for place, step in enumerate(definition.steps):
        if unknown := [one for one in step.needs if one not in needs]:
            raise DefinitionInvalid(
                f'Step "{step.id}" needs "{unknown[0]}", which is no step.', field=f"steps.{place}.needs"
            )
        if own_did in {step.agent, step.fallback}:
            raise DefinitionInvalid(
                f'Step "{step.id}" would pay the agent of the pipeline itself.', field=f"steps.{place}.agent"
            )
    before = _all_before(needs)
    for place, step in enumerate(definition.steps):
        for reference in _references_of(step):
            if (fault := _fault_of(reference, before[step.id])) is not None:
                raise DefinitionInvalid(f'Step "{step.id}": {fault}', field=f"steps.{place}")
    if len(msgspec.json.encode(definition)) > DEFINITION_MAX_BYTES:
        raise DefinitionInvalid(
            f"A pipeline has at most {DEFINITION_MAX_BYTES} bytes as JSON.", field="steps"
        )


def _all_before(needs: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """The steps that each step needs, directly or through others. Raises: DefinitionInvalid, for a cycle."""
    before: dict[str, frozenset[str]] = {}
    while len(before) < len(needs):
        ready = [one for one in needs if one not in before and all(other in before for other in needs[one])]
        if not ready:
            circle = ", ".join(sorted(one for one in needs if one not in before))
            raise DefinitionInvalid(
                f"These steps need each other in a cycle, or one that does: {circle}.", field="steps"
            )
        for one in ready:
            before[one] = frozenset(needs[one]).union(*(before[other] for other in needs[one]))
    return before


def _references_of(step: Step) -> Iterator[Any]:
    yield from references_in(step.content)
    if step.when is not None:
        yield step.when.ref


def _fault_of(reference: Any, before: frozenset[str]) -> str | None:
    try:
        named = step_of(reference) if isinstance(reference, str) else step_of("")
    except ValueError:
        return (
            f'a reference is a pointer below "/input" or "/steps/<id>/output", got {str(reference)[:80]!r}.'
        )
    if named is not None and named not in before:
        return f'it refers to step "{named}", which it does not need.'
    return None
