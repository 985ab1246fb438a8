"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""
