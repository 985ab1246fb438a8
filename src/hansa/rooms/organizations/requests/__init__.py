"""Requests: acts that others of the organization approve before they are carried out."""
