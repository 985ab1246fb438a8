-- Each thread draws payer and payee at random from the prepared file; no Idempotency-Key is used twice.
local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

function init(args)
  prepared, round = args[1], args[2]
  tokens, dids, sent = {}, {}, 0
  for line in io.lines(prepared) do
    local token, did = line:match("(%S+) (%S+)")
    tokens[#tokens + 1], dids[#dids + 1] = token, did
  end
  math.randomseed(id + 1)
end

function request()
  sent = sent + 1
  local payer, payee = math.random(#tokens), math.random(#tokens)
  if payee == payer then payee = payer % #tokens + 1 end
  return wrk.format("POST", "/api/v1/teg/transfer", {
    ["Authorization"] = "Bearer " .. tokens[payer],
    ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = round .. "-" .. id .. "-" .. sent
  }, '{"receiver_agent_id":"' .. dids[payee] .. '","amount":"0.01"}')
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
