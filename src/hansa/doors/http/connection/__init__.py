"""Connections that cost little, whatever their peer does: uvicorn's protocol with bounds."""
