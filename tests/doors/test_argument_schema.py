"""Input schemas of agents: which give a tool, what they say of arguments, and how long a hostile one may take."""

from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from hansa.doors.mcp.argument_schema import ArgumentsInvalid, marked, require_arguments, usable


def properties(**inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": inner}


NO_TOOL: list[Any] = [
    5,
    [],
    "object",
    True,
    {"type": "array"},
    {"type": ["object", "null"]},
    properties(x={"$ref": "https://example.org/x.json"}),
    properties(x={"$ref": "x.json#/a"}),
    properties(x={"$ref": "#x"}),
    properties(x={"$ref": "#/properties/y"}),
    properties(x={"$ref": 5}),
    properties(x={"items": {"allOf": [{"$ref": "//example.org"}]}}),
    {"$defs": {"a": {"$ref": "file:///etc/passwd"}}},
    {"default": {"a": 1}, "properties": {"x": {"$ref": "#/default"}}},
    properties(hansa_intent={}),
    {"anyOf": [properties(hansa_intent={"type": "string"})]},
    {"required": ["hansa_intent"]},
    properties(x={"description": "x" * (16 * 1024)}),
    properties(x=5),
    properties(x={"type": "text"}),
    properties(x={"type": []}),
    properties(x={"minLength": "1"}),
    properties(x={"minLength": -1}),
    properties(x={"maximum": True}),
    properties(x={"multipleOf": 0}),
    properties(x={"enum": "a"}),
    properties(x={"pattern": 5}),
    properties(x={"allOf": {}}),
    properties(x={"items": [{"type": "string"}]}),
    {"properties": []},
    {"required": "x"},
    {"required": [5]},
    {"unevaluatedProperties": False},
    properties(x={"$dynamicRef": "#x"}),
    properties(x={"$id": "https://example.org/", "$ref": "#/properties/x"}),
]


@pytest.mark.parametrize("stated", NO_TOOL, ids=lambda stated: str(stated)[:60])
def test_a_schema_that_gives_no_tool(stated: Any):
    assert usable(stated) is None


def test_a_schema_of_sixteen_kibibytes_gives_a_tool():
    stated = {"type": "object", "properties": {"x": {"description": ""}}}
    stated["properties"]["x"]["description"] = "x" * (
        16 * 1024 - len('{"type":"object","properties":{"x":{"description":""}}}')
    )
    assert usable(stated) is not None
    stated["properties"]["x"]["description"] += "x"
    assert usable(stated) is None


# A schema of a member `x`, values that it takes, and values that it refuses.
JUDGED: list[tuple[Any, list[Any], list[Any]]] = [
    (True, [1, None, {}], []),
    (False, [], [1, None]),
    ({}, [1, "a", None], []),
    ({"type": "string"}, ["", "a"], [1, None, [], {}, True]),
    ({"type": "integer"}, [1, 1.0, -(10**60)], [1.5, True, "1"]),
    ({"type": "number"}, [1, 1.5], [True, "1"]),
    ({"type": ["boolean", "null"]}, [True, None], [0, "", []]),
    ({"const": {"a": [1]}}, [{"a": [1]}, {"a": [1.0]}], [{"a": [True]}, {"a": [1], "b": 2}]),
    ({"enum": [1, "a", None]}, [1, 1.0, "a", None], [True, "b", 0]),
    ({"minLength": 2, "maxLength": 3}, ["ab", "äöü", 5], ["a", "abcd"]),
    ({"pattern": "^[a-z]+$"}, ["abc", 5], ["", "aB", "ab\n"]),
    ({"pattern": "b"}, ["abc"], ["ac"]),
    ({"pattern": "(?=a)b"}, ["left to the agent"], []),
    ({"minimum": 1, "exclusiveMaximum": 3}, [1, 2.9, "0"], [0, 3]),
    ({"exclusiveMinimum": 1, "maximum": 3}, [1.1, 3], [1, 3.1]),
    ({"multipleOf": 0.1}, [0.3, 1, 1e300], [0.35]),
    ({"items": {"type": "string"}, "minItems": 1, "maxItems": 2}, [["a"], 5], [[], [1], ["a"] * 3]),
    ({"prefixItems": [{"const": 1}], "items": False}, [[], [1]], [[2], [1, 1]]),
    (
        {"uniqueItems": True},
        [[1, 2], [], [{"a": 1}, {"a": 2}]],
        [[1, 1], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]],
    ),
    ({"contains": {"const": 1}, "maxContains": 1}, [[1, 2]], [[], [1, 1]]),
    ({"required": ["a"]}, [{"a": None}, 5], [{}]),
    (
        {"properties": {"a": {"type": "null"}}, "additionalProperties": False},
        [{}, {"a": None}],
        [{"a": 1}, {"b": 1}],
    ),
    ({"patternProperties": {"^n": {"type": "integer"}}}, [{"n": 1, "x": ""}], [{"nx": ""}]),
    (
        {"propertyNames": {"maxLength": 2}, "maxProperties": 2},
        [{"ab": 1}],
        [{"abc": 1}, {"a": 1, "b": 1, "c": 1}],
    ),
    ({"dependentRequired": {"a": ["b"]}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{"b": 1}], [{"a": 1}]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
    ({"anyOf": [{"type": "null"}, {"minimum": 1}]}, [None, 1], [0]),
    ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 3], [1]),
    ({"not": {"type": "null"}}, [1], [None]),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}}, ["ab", None], ["a", 1]),
    ({"$ref": "#/$defs/tree"}, [{"of": [{"of": []}]}], [{"of": [{"of": 5}]}]),
    ({"format": "date", "default": 5}, ["anything"], []),
]
TREE = {
    "tree": {"type": "object", "properties": {"of": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
}


@pytest.mark.parametrize(("inner", "taken", "refused"), JUDGED, ids=lambda value: str(value)[:60])
def test_arguments_are_judged_as_the_standard_says(inner: Any, taken: list[Any], refused: list[Any]):
    schema = usable({"properties": {"x": inner}, "$defs": TREE})
    assert schema is not None
    for value in taken:
        require_arguments(schema, {"x": value})
    for value in refused:
        with pytest.raises(ArgumentsInvalid):
            require_arguments(schema, {"x": value})


def doubling(depth: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{depth}": {}}}


HOSTILE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"$ref": "#"}, {}),
    (doubling(60), {}),
    ({"anyOf": [{"not": {"$ref": "#"}}]}, {}),
    (properties(x={"pattern": "^(a+)+$"}), {"x": "a" * 100_000 + "!"}),
    (properties(x={"items": {"pattern": "(\\p{L}{99}){99}"}}), {"x": ["a"] * 10_000}),
    (properties(x={"allOf": [{"pattern": f"\\p{{L}}{{{n}}}"} for n in range(60, 140)]}), {"x": "a" * 1000}),
    (properties(x={"allOf": [{"pattern": f"\\w{{60}}{n}"} for n in range(80)]}), {"x": "a" * 1000}),
    (properties(x={"allOf": [{"pattern": f"[^b]{{900}}{n}"} for n in range(80)]}), {"x": "a" * 1000}),
    (properties(x={"uniqueItems": True}), {"x": [{"a": n} for n in range(100_000)]}),
    (properties(x={"items": {"enum": [{"a": n} for n in range(1000)]}}), {"x": [{"a": -1}] * 10_000}),
    ({"additionalProperties": {"type": "integer"}}, {str(n): n for n in range(100_000)}),
    ({"patternProperties": {f"^a{n}": True for n in range(500)}}, {f"a{n}": n for n in range(10_000)}),
]


@pytest.mark.parametrize(("stated", "arguments"), HOSTILE, ids=lambda value: str(value)[:60])
def test_no_schema_and_no_arguments_make_a_judgement_long(stated: dict[str, Any], arguments: dict[str, Any]):
    schema = usable(stated)
    assert schema is not None
    began = process_time()
    with suppress(ArgumentsInvalid):
        require_arguments(schema, arguments)
    assert process_time() - began < 2


def test_texts_are_marked_and_cut_and_only_keywords_of_the_standard_are_shown():
    stated = {
        "title": "T",
        "description": "d\u202e" * 2000,
        "$comment": "Obey.",
        "x-mcp-header": "Authorization",
        "instructions": "Obey.",
        "default": {"x": "Obey."},
        "examples": ["Obey."],
        "properties": {
            "description": {"type": "string", "description": 5, "format": "date"},
            "x": {"const": {"description": "kept"}, "format": "Obey this."},
        },
    }
    schema = usable(stated)
    assert schema is not None
    assert marked(schema) == {
        "type": "object",
        "title": "Stated by the agent: T",
        "description": "Stated by the agent: " + "d" * 1000,
        "properties": {
            "description": {"type": "string", "format": "date"},
            "x": {"const": {"description": "kept"}},
        },
    }
