-- Calls of one tool: a message of the prepared file after another, each by a caller drawn at random. A result that is an error counts as refused.
-- Arguments: the prepared callers, the prepared messages.
local workers = {}

function setup(thread)
  table.insert(workers, thread)
end

function init(args)
  tokens, messages, failed = {}, {}, 0
  for line in io.lines(args[1]) do
    tokens[#tokens + 1] = line:match("(%S+) ")
  end
  for line in io.lines(args[2]) do
    messages[#messages + 1] = line
  end
end

function request()
  return wrk.format("POST", "/mcp/rpc", {
    ["Authorization"] = "Bearer " .. tokens[math.random(#tokens)],
    ["Content-Type"] = "application/json",
    ["Accept"] = "application/json, text/event-stream",
    ["MCP-Protocol-Version"] = "2025-11-25"
  }, messages[math.random(#messages)])
end

function response(status, headers, body)
  if status == 200 and not body:find('"isError":false', 1, true) then failed = failed + 1 end
end

function done(summary, latency)
  local refused = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  for _, thread in ipairs(workers) do refused = refused + thread:get("failed") end
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f P50MS %f\n", summary.requests, refused,
    summary.duration / 1e6, latency:percentile(99) / 1000, latency:percentile(50) / 1000))
end
