"""Names that vulture takes for dead and are not, each with who uses it."""

# ruff: noqa: B018, F821

# Read by libraries.
_.to_string  # Starlette
_.ValueClass  # prometheus_client
_.create_system  # zipfile
_.external_attr  # zipfile
_.config_checked  # Starlette
_.get_response  # Starlette
_.samples  # the template of an operation
_.effect  # the template of a run
_.form_key  # templates of forms
_.has_second_factor  # templates of accounts
_.is_bought_here  # template of an agent
_.last_refusal  # template of the peers
_.opens  # template of the AI clients
_.total_agents  # template of the account
_.is_cheapest  # template of the bids of a work order
_.takes_bids  # templates of work orders
_.model_config  # pydantic
_.openapi  # FastAPI
_.capture_signals  # uvicorn
_.main_loop  # uvicorn
_.should_exit  # uvicorn
_.response_complete  # uvicorn
_.response_started  # uvicorn
_.servers  # uvicorn
_.expect_100_continue  # uvicorn
_.handle_ping  # uvicorn
_.on_response_complete  # uvicorn
_.total_requests  # uvicorn
_.data_received  # asyncio
_.datagram_received  # asyncio
_.error_received  # asyncio
_.on_chunk_header  # httptools
_.on_header  # httptools
_.wait_closed  # uvicorn
_._body  # Starlette
_._factory  # aiohttp
_._json  # Starlette
_.regex  # Starlette
_.num_tickets  # ssl
_.list_commands  # typer
_.metavar  # typer
_.__getattr__  # Python, of a module
_.__signature__  # inspect
_.is_silent  # the service of tests/conversations

# Members that the ledger's engine reads in JSON.
_.fixed_fee
_.active
_.paced
_.typed
_.counterparty_frame
_.barred
_.supply_max

# The interface of the ledger to the owners of holds, shown by its tests until there are any.
_.submit
_.on
_.outcome_of
_.fee_held
_.captured
_.fee_captured
_.frozen_at

# A crossing as the ledger shows it; its tests read these.
_.return_tx_id
_.reserved_in

# Used inside a text that is an annotation or a template.
PoolConnectionProxy
_.meaning
_.remedies
_.called_at
_.documentation_url
_.examples
_.is_danger
_.is_for_search_engines
_.is_narrowed
_.is_theirs
_.json_ld
_.organization
_.organization_url
_.per
_.skills_left_out
_.took_microseconds
_.svg
_.snippets

# Filled from rows by name, and shown by the shape that reads the record whole.
_.last_pull_attempt_at
_.last_pull_status
_.pull_failures
_.sequence

# The operator contract names it; the extensions that it roots come with the payment block.
_.extension_base

# Read by whoever brings a page of a peer's cards.
_.unchanged

# Settings that are judged at the start; what they set is not built.
_.governance_weight_mode
_.zkp_dispute_slash_reduction

# Called by Starlette for each file of the pages.
_.get_response

# Read by functions of the database.
_.deadline_seconds  # transfers_reserve_record
_.first_retry_seconds  # transfers_reserve_record

# Bounds of a parameter of a template, for clients that make a form of it.
_.max_items
_.min_items

# The one table of roundings, which a guide repeats and a test compares.
ROUNDINGS

# Members of a dispatch context, which the SDK of the tools reads.
_.cancel_requested
_.can_send_request
_.message_metadata
_.send_raw_request
