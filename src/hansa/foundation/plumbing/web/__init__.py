"""Parts that routes share: callers, limits, bodies, idempotency keys, direct routes, problem documents."""
