"""No payment forgets the grant of its caller: one place alone makes what limits judge, of the agent that calls."""

import ast
from pathlib import Path

import hansa

SOURCES = Path(hansa.__file__).parent
MADE_IN = ("rooms/agents/payment.py", "spending_by")
GRANT = "agent.grant_id"


def spendings(source: str) -> list[tuple[str | None, list[str]]]:
    """Each construction of a Spending: the function that it stands in, and its arguments."""
    found: list[tuple[str | None, list[str]]] = []

    def look(node: ast.AST, function: str | None) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Spending":
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            found.append((function, [ast.unparse(one) for one in given]))
        for child in ast.iter_child_nodes(node):
            look(child, function)

    look(ast.parse(source), None)
    return found


def test_every_payment_that_limits_judge_names_the_grant_of_its_caller():
    made = {
        (file.relative_to(SOURCES).as_posix(), function): arguments
        for file in SOURCES.rglob("*.py")
        if "Spending(" in (text := file.read_text())
        for function, arguments in spendings(text)
    }
    assert set(made) == {MADE_IN}
    assert GRANT in made[MADE_IN]


def test_a_spending_without_the_grant_is_seen():
    source = "def pay(agent):\n    return rules.Spending(agent.did, 1, None, None)"
    assert spendings(source) == [("pay", ["agent.did", "1", "None", "None"])]
