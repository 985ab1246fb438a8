"""Input schemas of agents: JSON Schema (2020-12) as far as tools use it, judged within bounds.

- A schema gives a tool where it describes an object, has at most 16 KiB, refers to parts of itself alone, has no member
  `hansa_intent`, and each of its keywords has the form of the standard. Other schemas give no tool.
- A judgement takes a bounded number of steps: neither a schema nor the arguments make it long.
- Patterns are matched in linear time. One that the engine does not read, or that would be costly, is left to the agent.
- A schema is shown with the keywords of the standard alone; each text of the agent is cut and marked.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import msgspec
from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from hansa.foundation.values.errors import MemberInvalid
from hansa.foundation.values.visible_text import seen

Schema: TypeAlias = dict[str, Any] | bool

INTENT = "hansa_intent"
SCHEMA_MAX_BYTES = 16 * 1024
STEPS_MAX, DEPTH_MAX = 20_000, 100
PATTERN_COST_MAX = 1000
WEIGHT_OF_CLASSES = 10
STEPS_OF_PATTERN = 4
"""Steps that a pattern takes for each character that it stands for."""
TEXT_MAX = 1000
STATED = "Stated by the agent: "

_ONE = frozenset({"not", "if", "then", "else", "items", "additionalProperties", "propertyNames", "contains"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_COUNTS = frozenset(
    {
        *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties"),
    }
)
_TEXTS = frozenset({"title", "description"})
_SHOWN = frozenset(
    {"type", "enum", "const", "required", "dependentRequired", "pattern", "uniqueItems", "multipleOf", "$ref"}
)
# These are judged by the whole of a schema, or name parts of it in another form than a pointer.
_NOT_READ = frozenset(
    {
        *("unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"),
        *("dependencies", "additionalItems"),
    }
)
_FORMAT = re.compile(r"[a-z-]{1,30}", re.ASCII)
_CLASS = re.compile(r"\\[a-zA-Z]")
_REPEATED = re.compile(r"\{(\d+)(?:,(\d*))?\}", re.ASCII)


class ArgumentsInvalid(MemberInvalid):
    """The arguments are not those of the tool's schema; nothing was sent."""

    sentence = "The arguments are not those of the tool; nothing was sent."


class _NoTool(Exception):
    """The schema gives no tool."""


class _Costly(Exception):
    """The judgement would take too many steps."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def usable(stated: Any) -> dict[str, Any] | None:
    """The schema of a skill as a tool has it; None where it gives no tool."""
    if not isinstance(stated, dict) or len(msgspec.json.encode(stated)) > SCHEMA_MAX_BYTES:
        return None
    schema = {"type": "object", **stated}
    if schema["type"] != "object":
        return None
    try:
        parts = {id(part): part for part in _parts(schema)}
        for part in parts.values():
            _require_form(part)
            is_renamed = part is not schema and "$id" in part
            if is_renamed or ("$ref" in part and id(_at(schema, part["$ref"])) not in parts):
                return None
    except _NoTool:
        return None
    return schema


def marked(schema: Schema) -> Schema:
    """The schema as it is shown."""
    if isinstance(schema, bool):
        return schema
    shown: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _TEXTS and isinstance(value, str):
            shown[name] = STATED + seen(value)[:TEXT_MAX]
        elif name in _ONE:
            shown[name] = marked(value)
        elif name in _LISTS:
            shown[name] = [marked(one) for one in value]
        elif name in _MAPS:
            shown[name] = {key: marked(one) for key, one in value.items()}
        elif name in _SHOWN | _NUMBERS | _COUNTS or (name == "format" and _is_format(value)):
            shown[name] = value
    return shown


def require_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Raises: ArgumentsInvalid, with the place of the first error."""
    try:
        fault = _Judgement(schema).fault(schema, arguments, "", 0)
    except _Costly:
        fault = "The arguments are too extensive to be checked against the schema of the tool."
    if fault is not None:
        raise ArgumentsInvalid(fault)


def _parts(schema: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The schema and each schema in it. Raises: _NoTool."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        raise _NoTool
    yield schema
    for name, value in schema.items():
        inner: Any = ()
        if name in _ONE:
            inner = (value,)
        elif name in _LISTS and isinstance(value, list):
            inner = value
        elif name in _MAPS and isinstance(value, dict):
            inner = value.values()
        elif name in _LISTS | _MAPS:
            raise _NoTool
        for one in inner:
            yield from _parts(one, depth + 1)


def _require_form(part: dict[str, Any]) -> None:
    """Raises: _NoTool."""
    for name, value in part.items():
        if name in _NOT_READ or not _FORMS.get(name, _any)(value):
            raise _NoTool
        if (name == "properties" and INTENT in value) or (name == "required" and INTENT in value):
            raise _NoTool


def _is_format(value: Any) -> bool:
    return isinstance(value, str) and _FORMAT.fullmatch(value) is not None


def _any(value: Any) -> bool:
    del value
    return True


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_FORMS: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: (
        value in _TYPES
        if isinstance(value, str)
        else _are_texts(value) and bool(value) and all(one in _TYPES for one in value)
    ),
    "enum": lambda value: isinstance(value, list),
    "required": _are_texts,
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(_are_texts, value.values())),
    "pattern": lambda value: isinstance(value, str),
    "$ref": lambda value: isinstance(value, str) and (value == "#" or value.startswith("#/")),
    "uniqueItems": lambda value: isinstance(value, bool),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys(_COUNTS, lambda value: _is_integer(value) and value >= 0),
}


def _at(schema: dict[str, Any], reference: str) -> Any:
    """The part that a reference names, or None."""
    found: Any = schema
    for name in reference.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key in map(str, range(len(found))):
            found = found[int(key)]
        else:
            return None
    return found


class _Judgement:
    """One judgement of arguments, in a bounded number of steps."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root, self._left = root, STEPS_MAX

    def fault(self, schema: Schema, value: Any, place: str, depth: int) -> str | None:
        """The first error, or None. Raises: _Costly."""
        self._spend(1 if isinstance(schema, bool) else 1 + len(schema.get("enum", ())))
        if depth > DEPTH_MAX:
            raise _Costly
        if schema is True:
            return None
        if schema is False:
            return f"{place or 'The arguments'}: nothing is allowed here."
        for judged in (_of_value, _of_text, _of_number):
            if (wrong := judged(self, schema, value)) is not None:
                return f"{place}: {wrong}" if place else wrong
        return (
            self._names(schema, value, place, depth)
            or self._members(schema, value, place, depth)
            or self._items(schema, value, place, depth)
            or self._combined(schema, value, place, depth)
        )

    def matches(self, pattern: str, text: str) -> bool:
        """The pattern is found in the text, or is left to the agent."""
        cost = _cost_of(pattern)
        if cost > PATTERN_COST_MAX:
            return True
        self._spend(cost * STEPS_OF_PATTERN + len(text) // 1000)
        engine = _compiled(pattern)
        if engine is None:
            return True
        try:
            engine.validate_python(text)
        except ValidationError:
            return False
        return True

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _Costly

    def _fits(self, schema: Schema, value: Any, depth: int) -> bool:
        return self.fault(schema, value, "", depth + 1) is None

    def _names(self, schema: dict[str, Any], value: Any, place: str, depth: int) -> str | None:
        """The first error in the names of members, or in what one member requires beside it."""
        if not isinstance(value, dict):
            return None
        missing = next((name for name in schema.get("required", ()) if name not in value), None)
        if missing is not None:
            return f"{_below(place, missing)}: Field required"
        for name, needed in schema.get("dependentRequired", {}).items():
            if name in value and any(one not in value for one in needed):
                return f"{_below(place, name)}: other members are required beside it"
        names = schema.get("propertyNames", True)
        for name in value if names is not True else ():
            if not self._fits(names, name, depth):
                return f"{_below(place, name)}: a member of this name is not allowed"
        return None

    def _members(self, schema: dict[str, Any], value: Any, place: str, depth: int) -> str | None:
        if not isinstance(value, dict):
            return None
        for name, inner in schema.get("dependentSchemas", {}).items():
            if name in value and (wrong := self.fault(inner, value, place, depth + 1)):
                return wrong
        declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        others = schema.get("additionalProperties", True)
        for name, member in value.items():
            applied = [declared[name]] if name in declared else []
            applied += [inner for pattern, inner in patterns.items() if self.matches(pattern, name)]
            for inner in applied or [others]:
                if wrong := self.fault(inner, member, _below(place, name), depth + 1):
                    return wrong
        return None

    def _items(self, schema: dict[str, Any], value: Any, place: str, depth: int) -> str | None:
        if not isinstance(value, list):
            return None
        first, others = schema.get("prefixItems", []), schema.get("items", True)
        for position, item in enumerate(value):
            inner = first[position] if position < len(first) else others
            if wrong := self.fault(inner, item, _below(place, str(position)), depth + 1):
                return wrong
        if schema.get("uniqueItems"):
            self._spend(len(value))
            if len({msgspec.json.encode(item, order="sorted") for item in value}) < len(value):
                return f"{place}: items must differ"
        if "contains" in schema:
            count = sum(self._fits(schema["contains"], item, depth) for item in value)
            if not schema.get("minContains", 1) <= count <= schema.get("maxContains", len(value)):
                return f"{place}: has another number of certain items than it must have"
        return None

    def _combined(self, schema: dict[str, Any], value: Any, place: str, depth: int) -> str | None:
        inner = [*schema.get("allOf", ())]
        if "$ref" in schema:
            inner.append(_at(self._root, schema["$ref"]))
        if "if" in schema:
            inner.append(schema.get("then" if self._fits(schema["if"], value, depth) else "else", True))
        for one in inner:
            if wrong := self.fault(one, value, place, depth + 1):
                return wrong
        place = place or "The arguments"
        if "anyOf" in schema and not any(self._fits(one, value, depth) for one in schema["anyOf"]):
            return f"{place}: fits none of the forms that are allowed"
        if "oneOf" in schema and sum(self._fits(one, value, depth) for one in schema["oneOf"]) != 1:
            return f"{place}: must fit one of the forms that are allowed, and no other"
        if "not" in schema and self._fits(schema["not"], value, depth):
            return f"{place}: has a form that is not allowed"
        return None


def _of_value(_: _Judgement, schema: dict[str, Any], value: Any) -> str | None:
    types = schema.get("type")
    if types is not None:
        allowed = [types] if isinstance(types, str) else types
        if not any(_TYPES[one](value) for one in allowed):
            return f"must be of type {' or '.join(allowed)}"
    if "const" in schema and not _same(schema["const"], value):
        return "must be the value of the schema"
    if "enum" in schema and not any(_same(one, value) for one in schema["enum"]):
        return "must be one of the values of the schema"
    sizes = {"Items": list, "Properties": dict}
    for unit, kind in sizes.items():
        if isinstance(value, kind) and not _is_within(schema, unit, len(value)):
            return f"must have {_bounds(schema, unit)} {'items' if kind is list else 'members'}"
    return None


def _of_text(judgement: _Judgement, schema: dict[str, Any], value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    if not _is_within(schema, "Length", len(value)):
        return f"must have {_bounds(schema, 'Length')} characters"
    if "pattern" in schema and not judgement.matches(schema["pattern"], value):
        return "does not match the pattern of the schema"
    return None


def _of_number(_: _Judgement, schema: dict[str, Any], value: Any) -> str | None:
    if not _is_number(value):
        return None
    if value < schema.get("minimum", value) or value > schema.get("maximum", value):
        return "is beyond the bounds of the schema"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return "is beyond the bounds of the schema"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        return "is beyond the bounds of the schema"
    if "multipleOf" in schema and not _is_multiple(value, schema["multipleOf"]):
        return f"must be a multiple of {schema['multipleOf']}"
    return None


def _is_within(schema: Mapping[str, Any], unit: str, size: int) -> bool:
    least, most = schema.get(f"min{unit}", 0), schema.get(f"max{unit}", size)
    return bool(least <= size <= most)


def _bounds(schema: Mapping[str, Any], unit: str) -> str:
    least, most = schema.get(f"min{unit}", 0), schema.get(f"max{unit}")
    return f"at least {least}" if most is None else f"{least} to {most}"


def _is_multiple(value: float, unit: float) -> bool:
    try:
        return Decimal(repr(value)) % Decimal(repr(unit)) == 0
    except InvalidOperation:
        # A quotient of more digits than a number of JSON has.
        return True


def _same(one: Any, other: Any) -> bool:
    """The values are equal in JSON: 1 and 1.0 are, true and 1 are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)


def _below(place: str, name: str) -> str:
    return f"{place}.{name[:100]}" if place else name[:100]


def _cost_of(pattern: str) -> int:
    """The characters that a pattern stands for, with its counted repetitions; a class of Unicode counts for several."""
    counts = [max(int(least[:6]), int(most[:6] or 0)) for least, most in _REPEATED.findall(pattern)]
    is_nested = "){" in pattern
    cost = len(pattern) * prod(max(1, count) for count in counts) if is_nested else len(pattern) + sum(counts)
    return cost * (WEIGHT_OF_CLASSES if _CLASS.search(pattern) else 1)


@lru_cache(512)
def _compiled(pattern: str) -> SchemaValidator | None:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None
