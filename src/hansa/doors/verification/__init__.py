"""Commands that verify documents of a registry offline."""
