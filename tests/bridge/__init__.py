"""The bridge as a model: the functions of the service, in seeded histories and in every state of small ones."""
