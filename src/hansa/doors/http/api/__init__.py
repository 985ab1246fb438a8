"""The API description: its examples and its tags."""
