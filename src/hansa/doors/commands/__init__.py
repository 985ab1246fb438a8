"""The commands of `hansa`, one module for each group.

A module imports nothing heavy at its top: `hansa --help` loads all of them. What a command needs is imported where it
runs. A new group gets a module of its own, with a Typer application that `doors/operate.py` adds.
"""
