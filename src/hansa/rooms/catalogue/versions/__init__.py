"""The documents that a card had, and the replacement of the one it has."""
