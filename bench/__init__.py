"""Benches: one file per hot path; each runs its baseline beside it and checks the books afterwards."""
