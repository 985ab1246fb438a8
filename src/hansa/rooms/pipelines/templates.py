"""Templates of pipelines: definitions that are made from a few parameters. Three ship; there are no others."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.money import Minor, NotAnAmount, parse_positive

from .definition import Definition, Step
from .errors import DefinitionInvalid, TemplateUnknown

AGENTS_MAX = 10
DEADLINE_SECONDS = 3600
ATTEMPTS = 2

Kind: TypeAlias = Literal["agent", "agents", "amount"]


class Parameter(msgspec.Struct, frozen=True):
    """Parameter of a template. `agents` takes `least` to AGENTS_MAX of them."""

    name: str
    kind: Kind
    title: str
    least: int = 1


class Template(msgspec.Struct, frozen=True):
    """A template: its parameters, the members that the input of a run has, and what makes the steps."""

    id: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    input: Mapping[str, str]
    steps: Callable[[Mapping[str, Any]], tuple[Step, ...]]


_AMOUNT = Parameter("max_amount", "amount", "Highest price of one call")


def _best_of_n(given: Mapping[str, Any]) -> tuple[Step, ...]:
    workers = tuple(
        Step(f"answer-{n}", did, given["max_amount"], message="{{/input/task}}", attempts=ATTEMPTS)
        for n, did in enumerate(given["workers"], 1)
    )
    answers = "\n\n".join(
        f"Answer {n}:\n{{{{/steps/{one.id}/output/text}}}}" for n, one in enumerate(workers, 1)
    )
    message = (
        f"Choose the best answer to this task, and repeat it.\n\nTask:\n{{{{/input/task}}}}\n\n{answers}"
    )
    needs = tuple(one.id for one in workers)
    return *workers, Step(
        "choose", given["judge"], given["max_amount"], message=message, needs=needs, attempts=ATTEMPTS
    )


def _research_and_merge(given: Mapping[str, Any]) -> tuple[Step, ...]:
    researchers = tuple(
        Step(
            f"research-{n}",
            did,
            given["max_amount"],
            message="Research this question, and name your sources:\n{{/input/question}}",
            attempts=ATTEMPTS,
        )
        for n, did in enumerate(given["researchers"], 1)
    )
    findings = "\n\n".join(
        f"Findings {n}:\n{{{{/steps/{one.id}/output/text}}}}" for n, one in enumerate(researchers, 1)
    )
    message = f"Merge these findings into one answer.\n\nQuestion:\n{{{{/input/question}}}}\n\n{findings}"
    needs = tuple(one.id for one in researchers)
    return *researchers, Step(
        "merge", given["writer"], given["max_amount"], message=message, needs=needs, attempts=ATTEMPTS
    )


def _translate_and_review(given: Mapping[str, Any]) -> tuple[Step, ...]:
    translate = Step(
        "translate",
        given["translator"],
        given["max_amount"],
        message="Translate into {{/input/language}}:\n{{/input/text}}",
        attempts=ATTEMPTS,
    )
    review = Step(
        "review",
        given["reviewer"],
        given["max_amount"],
        message="Correct this translation into {{/input/language}}.\n\nOriginal:\n{{/input/text}}\n\n"
        "Translation:\n{{/steps/translate/output/text}}",
        needs=("translate",),
        attempts=ATTEMPTS,
    )
    return translate, review


TEMPLATES = (
    Template(
        "best-of-n",
        "Best of n",
        "Several agents do the same task; another one chooses the best answer.",
        (
            Parameter("workers", "agents", "Agents that do the task", least=2),
            Parameter("judge", "agent", "Agent that chooses"),
            _AMOUNT,
        ),
        {"task": "Write a slogan for a bakery"},
        _best_of_n,
    ),
    Template(
        "research-and-merge",
        "Research and merge",
        "Several agents research a question; another one merges what they found.",
        (
            Parameter("researchers", "agents", "Agents that research", least=2),
            Parameter("writer", "agent", "Agent that merges"),
            _AMOUNT,
        ),
        {"question": "Which registries of agents exist?"},
        _research_and_merge,
    ),
    Template(
        "translate-and-review",
        "Translate and review",
        "One agent translates a text; another one corrects the translation.",
        (
            Parameter("translator", "agent", "Agent that translates"),
            Parameter("reviewer", "agent", "Agent that corrects"),
            _AMOUNT,
        ),
        {"text": "Good morning", "language": "French"},
        _translate_and_review,
    ),
)


def template_of(template_id: str) -> Template:
    """The template with this id. Raises: TemplateUnknown."""
    for template in TEMPLATES:
        if template.id == template_id:
            return template
    raise TemplateUnknown


def instantiated(template: Template, parameters: Mapping[str, Any]) -> Definition:
    """The definition for these parameters; its budget covers the highest price of each step once. Raises: DefinitionInvalid."""
    known = {one.name for one in template.parameters}
    if unknown := sorted(parameters.keys() - known):
        raise DefinitionInvalid(f'The template has no parameter "{unknown[0][:80]}".', field="parameters")
    given = {one.name: _value_of(one, parameters.get(one.name)) for one in template.parameters}
    steps = template.steps(given)
    budget = Minor(given["max_amount"] * len(steps))
    return Definition(template.title, steps, budget, DEADLINE_SECONDS, template.description)


def _value_of(parameter: Parameter, value: Any) -> Any:
    """The value of a parameter as steps take it. Raises: DefinitionInvalid."""
    field = f"parameters.{parameter.name}"
    match parameter.kind:
        case "amount":
            try:
                return parse_positive(value if isinstance(value, str) else "")
            except NotAnAmount:
                raise DefinitionInvalid(f"{field} is a decimal string greater than 0.", field=field) from None
        case "agent":
            if not _is_did(value):
                raise DefinitionInvalid(f"{field} is the DID of an agent.", field=field)
            return value
        case "agents":
            is_list = isinstance(value, list) and parameter.least <= len(value) <= AGENTS_MAX
            if not is_list or not all(_is_did(one) for one in value):
                raise DefinitionInvalid(
                    f"{field} is a list of {parameter.least} to {AGENTS_MAX} DIDs of agents.", field=field
                )
            return value


def _is_did(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("did:") and len(value) <= DID_MAX_CHARACTERS
