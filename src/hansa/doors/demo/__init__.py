"""The honest path end to end, told on the terminal: `hansa demo`."""

from hansa.doors.demo.story import run_demo
from hansa.doors.demo.visitor import DemoFailed

__all__ = ["DemoFailed", "run_demo"]
