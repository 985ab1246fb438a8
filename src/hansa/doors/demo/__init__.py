"""The whole path of a client, shown on the terminal: `hansa demo`."""

from hansa.doors.demo.client import DemoFailed
from hansa.doors.demo.story import Options, run_demo

__all__ = ["DemoFailed", "Options", "run_demo"]
