-- Contracts from their proposal to their approval, one act after the other; what is counted are approved ones.
-- Arguments: the prepared callers, and a name that differs from round to round.
local workers, NEXT = {}, { PROPOSED = "accept", ACCEPTED = "submit", SUBMITTED = "approve-completion" }

function setup(thread)
  thread:set("id", #workers)
  table.insert(workers, thread)
end

function init(args)
  round, answered, sent, dids, tokens, due = args[2], 0, 0, {}, {}, {}
  for line in io.lines(args[1]) do
    local token, did = line:match("(%S+) (%S+)")
    dids[#dids + 1], tokens[did] = did, token
  end
  math.randomseed(id + 1)
end

local function post(path, body, did, key)
  return wrk.format("POST", "/api/v1/contracts" .. path, {
    ["Authorization"] = "Bearer " .. tokens[did],
    ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = key
  }, body)
end

function request()
  sent = sent + 1
  local act = table.remove(due)
  if act then return post(act[1], "{}", act[2]) end
  local place = math.random(#dids)
  return post("", '{"provider_did":"' .. dids[place % #dids + 1] .. '","title":"Work","contract_type":"service",'
    .. '"amount":"0.01","terms":"Work.","acceptance_criteria":"Done."}', dids[place], round .. "-" .. id .. "-" .. sent)
end

function response(status, headers, body)
  local state, number = body:match('"status":"(%u+)"'), body:match('"id":(%d+)')
  if status >= 300 or not state then return end
  if state == "COMPLETED" then
    answered = answered + 1
  else
    local by = state == "SUBMITTED" and "contractor_did" or "provider_did"
    table.insert(due, { "/" .. number .. "/" .. NEXT[state], body:match('"' .. by .. '":"([^"]+)"') })
  end
end

function done(summary, latency)
  local total = 0
  for _, worker in ipairs(workers) do total = total + worker:get("answered") end
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", total,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
