"""Whose job a job is: marks count one job of each counterparty and day."""


def counterparty_here(owner: int) -> str:
    """For an agent of this registry: its developer."""
    return f"developer:{owner}"


def counterparty_abroad(did: str) -> str:
    """For an agent of another registry: that registry, which is the DID without its last part."""
    return did.rpartition(":")[0]
