-- Requests of paid calls, in one of these modes:
--   cycle   authorize, verify and settle, a token after the other; what is counted are settlements
--   verify  prepared tokens, nine repeated to one first use
--   bulk    500 transfers of one payer; what is counted are transfers
-- Arguments: the mode, the prepared callers, the prepared tokens, and a name that differs from round to round.
local LINES, REPEATED = 500, 9
local workers = {}

function setup(thread)
  thread:set("id", #workers)
  table.insert(workers, thread)
end

local function lines(path, pattern)
  local found = {}
  for line in io.lines(path) do found[#found + 1] = { line:match(pattern) } end
  return found
end

function init(args)
  mode, round = args[1], args[4]
  callers, tokens = lines(args[2], "(%S+) (%S+)"), lines(args[3], "(%S+)")
  answered, sent, secrets, payers, to_verify, to_settle = 0, 0, {}, {}, {}, {}
  math.randomseed(id + 1)
end

local function post(path, body, token, key)
  return wrk.format("POST", "/api/v1" .. path, {
    ["Authorization"] = token and "Bearer " .. token,
    ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = key
  }, body)
end

local function parties()
  local payer, payee = math.random(#callers), math.random(#callers)
  if payee == payer then payee = payer % #callers + 1 end
  return payer, callers[payee][2]
end

local function cycle()
  local token_id = table.remove(to_settle)
  if token_id then
    local secret, payer = secrets[token_id], payers[token_id]
    secrets[token_id], payers[token_id] = nil, nil
    return post("/a2a-payment/settle", '{"token":"' .. secret .. '"}', callers[payer][1])
  end
  token_id = table.remove(to_verify)
  if token_id then
    return post("/a2a-payment/verify", '{"token":"' .. secrets[token_id] .. '"}')
  end
  local payer, payee = parties()
  return post("/a2a-payment/authorize",
    '{"target_agent_did":"' .. payee .. '","amount":"0.01","resource":"' .. payer .. '"}', callers[payer][1],
    round .. "-" .. id .. "-" .. sent)
end

local function verify()
  -- A thread takes every second token; round by round they go on where the round before ended.
  local used = math.floor(sent / (REPEATED + 1))
  local place = sent % (REPEATED + 1) == 0 and used or math.random(math.max(0, used - 50), used)
  return post("/a2a-payment/verify", '{"token":"' .. tokens[(round + 2 * place + id) % #tokens + 1][1] .. '"}')
end

local function bulk()
  local payer = math.random(#callers)
  local body = {}
  for line = 1, LINES do
    local payee = math.random(#callers)
    if payee == payer then payee = payer % #callers + 1 end
    body[line] = '{"receiver_did":"' .. callers[payee][2] .. '","amount":"0.001","key":"'
      .. round .. "-" .. id .. "-" .. sent .. "-" .. line .. '"}'
  end
  return post("/teg/transfers", '{"transfers":[' .. table.concat(body, ",") .. "]}", callers[payer][1])
end

function request()
  sent = sent + 1
  return ({ cycle = cycle, verify = verify, bulk = bulk })[mode]()
end

function response(status, headers, body)
  if mode == "bulk" then
    answered = answered + tonumber(body:match('"completed":(%d+)') or 0)
  elseif mode == "verify" then
    answered = answered + (body:find('"valid":true', 1, true) and 1 or 0)
  else
    local secret, made = body:match('"token":"(apt_%x+)","token_id":"([^"]+)"')
    local verified = body:match('"valid":true,"token_id":"([^"]+)"')
    if secret then
      secrets[made], payers[made] = secret, tonumber(body:match('"resource":"(%d+)"'))
      table.insert(to_verify, made)
    elseif verified then
      table.insert(to_settle, verified)
    elseif status == 200 then
      answered = answered + 1
    end
  end
end

function done(summary, latency)
  local total = 0
  for _, worker in ipairs(workers) do total = total + worker:get("answered") end
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", total,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
