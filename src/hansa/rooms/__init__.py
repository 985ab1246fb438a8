"""The rooms of the business, each above those that it imports."""
