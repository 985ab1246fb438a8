"""Refusals that a function raises, read from its source: its own, those of its docstring, and of its callees in its module."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from hansa.foundation.plumbing.web.problem_docs import every_refusal
from hansa.foundation.values.errors import Refused

_STATED = re.compile(r"Raises:(.*)", re.DOTALL)


def raised_in(called: Callable[..., Any]) -> set[type[Refused]]:
    """Return the refusals that the function names; a call inside a `try` may be caught, and does not count."""
    function = inspect.unwrap(called)
    module = inspect.getmodule(function)
    assert module is not None
    functions = {
        node.name: node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    reached, waiting = set[str](), [function.__name__]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in reached:
            reached.add(name)
            waiting += _called_in(functions[name])
    classes = {kind.__name__: kind for kinds in every_refusal().values() for kind in kinds}
    names = {name for one in reached for name in _raised_by(functions[one])}
    return {classes[name] for name in names & classes.keys()}


def _called_in(function: ast.AST) -> Iterator[str]:
    for node in _outside_of_try(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr


def _raised_by(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    stated = _STATED.search(ast.get_docstring(function) or "")
    yield from re.findall(r"\w+", stated[1]) if stated else ()
    for node in _outside_of_try(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from (name.id for name in ast.walk(node.exc) if isinstance(name, ast.Name))


def _outside_of_try(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Try):
            yield child
            yield from _outside_of_try(child)
