"""The HTTP door: app assembly, guards, problem documents, OpenAPI, status."""
