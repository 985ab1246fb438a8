"""Contracts and disputes of an own agent and of the treasury of an organization: the same pages, of which the party is a parameter (`parties`)."""

from . import contract_pages, dispute_pages

ROUTERS = (contract_pages.router, dispute_pages.router)

__all__ = ["ROUTERS"]
