"""Rules and budgets of a treasury: what is not tighter than before is a control request."""
