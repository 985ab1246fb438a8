"""Swaps: transfers between two registries of different currencies, priced by a pool of both."""
