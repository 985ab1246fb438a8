"""The business, from the ground up."""
