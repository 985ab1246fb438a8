"""Pipelines in the bundle of an agent: definitions as a request has them, without runs and identifiers."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Invalid
from hansa.rooms import catalogue
from hansa.rooms.operations import PipelinesOfBundle

from . import store
from .definition import Definition
from .errors import DefinitionInvalid
from .saving import PIPELINES_MAX, add
from .schemas import PipelineIn, PipelineStepOut, plain_definition


async def _export(tx: Tx, did: str) -> list[dict[str, Any]]:
    return [
        {
            **plain_definition(definition),
            "steps": [PipelineStepOut.of(step).model_dump(mode="json") for step in definition.steps],
        }
        for definition in await store.definitions_of(tx, did)
    ]


async def _import(tx: Tx, did: str, definitions: Sequence[Any]) -> list[str]:
    if len(definitions) > PIPELINES_MAX:
        raise Invalid(
            f"A bundle has at most {PIPELINES_MAX} pipelines, got {len(definitions)}.", field="pipelines"
        )
    unknown: list[str] = []
    for place, members in enumerate(definitions):
        try:
            definition = PipelineIn.model_validate(members).definition()
            await add(tx, did, definition)
            unknown += await _unknown_payees(tx, definition)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(one) for one in first["loc"])
            raise Invalid(f"{where or 'pipeline'}: {first['msg']}", field=f"pipelines.{place}") from None
        except DefinitionInvalid as refusal:
            raise Invalid(refusal.detail, field=f"pipelines.{place}") from None
    if not definitions:
        return []
    return ["The agents that its pipelines pay are those of the bundle; check them before a run.", *unknown]


async def _unknown_payees(tx: Tx, definition: Definition) -> list[str]:
    """A warning where the pipeline pays agents that have no card here: it is imported, and a run of it would fail at their steps."""
    payees = {did for step in definition.steps for did in (step.agent, step.fallback) if did is not None}
    missing = sorted(payees - (await catalogue.names_by_did(tx, sorted(payees))).keys())
    if not missing:
        return []
    first = f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]
    return [f"The pipeline {definition.name} pays agents that this registry does not know: {first}."]


BUNDLED = PipelinesOfBundle(_export, _import)
