"""The import contract that import-linter does not bring: a room is entered by its door."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class EnteredByTheDoor(Contract):
    """Outside a room nothing is imported but the package itself; inside, anything goes.

    `corridor` is the package whose children are rooms.
    """

    type_name = "entered_by_the_door"

    corridor = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        intrusions = sorted(
            (importer, inside)
            for room in graph.find_children(self.corridor)
            for inside in graph.find_descendants(room)
            for importer in graph.find_modules_that_directly_import(inside)
            if importer != room and not importer.startswith(f"{room}.")
        )
        return ContractCheck(kept=not intrusions, metadata={"intrusions": intrusions})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, inside in check.metadata["intrusions"]:
            room = ".".join(inside.split(".")[: len(self.corridor.split(".")) + 1])
            output.print_error(
                f"{importer} reaches into {inside}: import {room} and use what its __init__ exports.",
                bold=False,
            )
