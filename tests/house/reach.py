"""Code that a route reaches: functions, written tables and sources of secrets, derived by following names from its handler."""

import inspect
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, get_args

from hansa.foundation.plumbing.keys.tokens import TokenIssuer

OURS = "hansa"
_WRITES = re.compile(r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(?:ONLY\s+)?([a-z]+_[a-z_]+)")


@dataclass
class Reach:
    """The functions that a handler may call, the tables that their SQL writes, and a source of secrets among them."""

    functions: set[FunctionType] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    makes_secret: bool = False


def reach_of(handler: Callable[..., Any]) -> Reach:
    """Follow every name in the code of the handler and of the functions that it reaches; a slot ends a path."""
    found = Reach()
    classes: set[type] = set()
    waiting: list[Any] = [handler]
    while waiting:
        target = waiting.pop()
        if isinstance(target, type):
            if target.__module__.startswith(OURS) and target not in classes:
                classes.add(target)
                waiting += _methods(target)
            continue
        target = inspect.unwrap(target) if callable(target) else target
        function = target.__func__ if isinstance(target, MethodType) else target
        if target is secrets:
            found.makes_secret = True
        if not isinstance(function, FunctionType) or function in found.functions:
            continue
        if not function.__module__.startswith(OURS) and function is not handler:
            continue
        found.functions.add(function)
        found.makes_secret |= _takes_issuer(function)
        for value in _named_values(function):
            if isinstance(value, str):
                found.tables.update(_WRITES.findall(value))
            else:
                waiting.append(value)
    return found


def _methods(owner: type) -> Iterator[Any]:
    for member in vars(owner).values():
        if isinstance(member, (classmethod, staticmethod)):
            yield member.__func__
        elif isinstance(member, property):
            yield member.fget
        elif isinstance(member, FunctionType):
            yield member


def _named_values(function: FunctionType) -> Iterator[Any]:
    """Constants of the function, and the values of the global and enclosed names in its code."""
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    for code in _codes(function.__code__):
        yield from (constant for constant in code.co_consts if isinstance(constant, str))
        named = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
        yield from named
        for module in named:
            if isinstance(module, ModuleType) and module.__name__.startswith(OURS):
                yield from (getattr(module, name) for name in code.co_names if hasattr(module, name))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _takes_issuer(function: FunctionType) -> bool:
    return any(
        TokenIssuer in (annotation, *get_args(annotation))
        for name, annotation in function.__annotations__.items()
        if name != "return"
    )
