"""The commands of `hansa`, one module for each group.

A module imports nothing heavy at its top: `hansa --help` loads all of them. The imports of a command are in its
function. A new group is a new module with a Typer application that `doors/operate.py` adds.
"""
