"""Form of a pipeline: its fields as the body of the API, a stored pipeline as fields, and the field that a refusal is about.

Steps are rows, counted from 1. A row that is empty, or marked to be removed, is no step.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from hansa.doors.console.access import SentForm
from hansa.doors.console.access.errors import FormRefused
from hansa.doors.console.access.forms import whole_number, with_decimal_point
from hansa.foundation.values.money import format_amount
from hansa.rooms import pipelines

KINDS = (
    ("text", "A text"),
    ("message", "A message of A2A, as JSON"),
    ("request", "A JSON-RPC request, as JSON"),
)
FAILURES = (
    ("stop", "The run stops"),
    ("skip", "The step is skipped"),
    ("fallback", "Another agent is paid"),
)
# A row in which none of these is filled in is empty.
TEXTS = ("id", "agent", "content", "needs", "max_amount", "fallback", "when", "equals")
ROW_FIELD = re.compile(r"step_([1-9][0-9]?)_[a-z_]+", re.ASCII)
# Fields of a row by the member of the API, where they differ.
FIELDS = {"message": "content", "request": "content", "": "content", "on_failure": "fallback"}
NOT_AN_OBJECT = 'A JSON object is required, for example {"parts": [{"text": "Hello"}]}.'
NOT_A_REQUEST = (
    'A JSON object with method and params is required, for example {"method": "message/send", "params": {}}.'
)


def field_of(row: int, name: str) -> str:
    """The name of a field of a row."""
    return f"step_{row}_{name}"


def rows_of(form: SentForm) -> int:
    """The number of rows that the form has."""
    numbers = [int(found[1]) for name, _ in form.fields if (found := ROW_FIELD.fullmatch(name))]
    return min(max([1, *numbers]), pipelines.STEPS_MAX)


def agent_fields(form: SentForm) -> list[str]:
    """The fields that name an agent."""
    return [field_of(row, name) for row in range(1, rows_of(form) + 1) for name in ("agent", "fallback")]


def body_of(form: SentForm) -> dict[str, Any]:
    """The body of the request that saves the pipeline. Raises: FormRefused, for a text that is no JSON of its kind."""
    errors: dict[str, str] = {}
    steps = [_step(form, row, errors) for row in _filled_rows(form)]
    if errors:
        raise FormRefused(errors)
    return {
        "name": form.value("name").strip(),
        "description": form.value("description").strip(),
        "budget": with_decimal_point(form.value("budget").strip()),
        "deadline_seconds": whole_number(form.value("deadline_seconds")),
        "steps": steps,
    }


def field_of_member(form: SentForm, path: str) -> str:
    """The field of the form for the path of a member of the request."""
    place, _, member = path.removeprefix("steps.").partition(".")
    rows = _filled_rows(form)
    if not path.startswith("steps.") or not place.isdigit() or int(place) >= len(rows):
        return path
    first, _, below = member.partition(".")
    if first == "when":
        name = "equals" if below.startswith("equals") else "when"
    else:
        name = FIELDS.get(first, first)
    return field_of(rows[int(place)], name)


def with_one_more_row(form: SentForm) -> SentForm:
    """The form without the rows that are empty or marked to be removed, and with an empty one at its end."""
    kept = [pair for pair in form.fields if not ROW_FIELD.fullmatch(pair[0])]
    rows = _filled_rows(form)[: pipelines.STEPS_MAX]
    for place, row in enumerate(rows, 1):
        prefix = field_of(row, "")
        kept += [
            (field_of(place, name.removeprefix(prefix)), value)
            for name, value in form.fields
            if name.startswith(prefix)
        ]
    if len(rows) < pipelines.STEPS_MAX:
        kept.append((field_of(len(rows) + 1, "id"), ""))
    return SentForm(kept)


def form_of(definition: pipelines.Definition) -> SentForm:
    """The fields of a stored pipeline."""
    fields = [
        ("name", definition.name),
        ("description", definition.description),
        ("budget", format_amount(definition.budget)),
        ("deadline_seconds", str(definition.deadline_seconds)),
    ]
    for row, step in enumerate(definition.steps, 1):
        fields += [(field_of(row, name), value) for name, value in _fields_of(step)]
    return SentForm(fields)


def _filled_rows(form: SentForm) -> list[int]:
    return [
        row
        for row in range(1, rows_of(form) + 1)
        if form.value(field_of(row, "removed")) != "true"
        and any(form.value(field_of(row, name)).strip() for name in TEXTS)
    ]


def _step(form: SentForm, row: int, errors: dict[str, str]) -> dict[str, Any]:
    given = {
        name: form.value(field_of(row, name)).strip() for name in (*TEXTS, "timeout_seconds", "attempts")
    }
    on_failure: Any = form.value(field_of(row, "on_failure")) or "stop"
    condition = {"ref": given["when"], "equals": _value(given["equals"])}
    return {
        "id": given["id"],
        "agent": given["agent"],
        **_sent(form, row, errors),
        "needs": given["needs"].replace(",", " ").split(),
        "max_amount": with_decimal_point(given["max_amount"]),
        **{name: whole_number(given[name]) for name in ("timeout_seconds", "attempts") if given[name]},
        "on_failure": {"fallback": given["fallback"]} if on_failure == "fallback" else on_failure,
        **({"when": condition} if given["when"] or given["equals"] else {}),
        "approval": form.value(field_of(row, "approval")) == "true",
    }


def _sent(form: SentForm, row: int, errors: dict[str, str]) -> dict[str, Any]:
    """The member of a step with its message or request; a text that is no JSON of its kind is noted among the errors."""
    field, kind = field_of(row, "content"), form.value(field_of(row, "kind"))
    text = form.value(field)
    if kind not in {"message", "request"}:
        return {"message": text}
    found = _json(text)
    if kind == "message" and isinstance(found, dict):
        return {"message": found}
    if kind == "request" and isinstance(found, dict) and "method" in found:
        return {"request": found}
    errors[field] = NOT_AN_OBJECT if kind == "message" else NOT_A_REQUEST
    return {}


def _value(text: str) -> Any:
    """The JSON value of a text; one that is no JSON is the text itself."""
    found = _json(text)
    return text if found is msgspec.UNSET else found


def _json(text: str) -> Any:
    """The JSON value of a text; UNSET where it has none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.UNSET


def _fields_of(step: pipelines.Step) -> Iterator[tuple[str, str]]:
    yield from (("id", step.id), ("agent", step.agent), ("needs", ", ".join(step.needs)))
    if step.request is not None:
        yield "kind", "request"
        yield "content", _indented({"method": step.request.method, "params": step.request.params})
    elif isinstance(step.message, str):
        yield from (("kind", "text"), ("content", step.message))
    else:
        yield from (("kind", "message"), ("content", _indented(step.message)))
    yield from (
        ("max_amount", format_amount(step.max_amount)),
        ("timeout_seconds", str(step.timeout_seconds)),
        ("attempts", str(step.attempts)),
        ("on_failure", step.on_failure),
        ("fallback", step.fallback or ""),
        ("approval", "true" if step.approval else ""),
    )
    if step.when is not None:
        yield from (("when", step.when.ref), ("equals", _written(step.when.equals)))


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _written(value: Any) -> str:
    """The value as a field shows it: a text without quotes, unless it would be read as another value."""
    is_plain = isinstance(value, str) and value == value.strip() and value and _value(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)
