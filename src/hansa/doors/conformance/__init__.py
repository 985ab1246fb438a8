"""Conformance suites: black-box rules that any implementation is tested by, over HTTP: `hansa conformance`."""

from .facilitator import Parties
from .running import SUITES, Report, Result, Suite, conformance

__all__ = ["SUITES", "Parties", "Report", "Result", "Suite", "conformance"]
