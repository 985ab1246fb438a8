"""Judges values by the schemas of an OpenAPI description."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

COMPONENTS = '"#/components/'
NAME = "urn:openapi"


class Judge:
    """Holds the components of a description once: a validator that is given all of them reads them all each time."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._components = jsonschema_rs.Registry(
            [(NAME, {"components": description["components"]})], draft=jsonschema_rs.Draft202012
        )

    def faults(self, schema: Mapping[str, Any], value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        """Yield the faults of a value; the schema is a part of the description and may name its components."""
        own = json.loads(json.dumps(schema).replace(COMPONENTS, f'"{NAME}#/components/'))
        validator = jsonschema_rs.Draft202012Validator(own, validate_formats=True, registry=self._components)
        return validator.iter_errors(value)
