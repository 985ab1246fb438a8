-- Transfers, pages or entries of logs at a fixed rate, whatever the service does: each thread has one connection and a request that is due every so many
-- milliseconds. A request waits until it is due; one that is late, since the one before took longer, counts from when it was due.
-- Arguments: "transfer", "page" or "log" (100 entries), the file of callers or of paths, milliseconds between requests of one thread, name of the round.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *found);
]]
local MONOTONIC = 1
local found = ffi.new("moment")
local threads = {}

local function now()
  ffi.C.clock_gettime(MONOTONIC, found)
  return tonumber(found.seconds) * 1e3 + tonumber(found.nanoseconds) / 1e6
end

function setup(thread)
  thread:set("id", #threads)
  threads[#threads + 1] = thread
end

function init(args)
  kind, interval, round = args[1], tonumber(args[3]), args[4]
  lines, waited, sent = {}, {}, 0
  for line in io.lines(args[2]) do
    lines[#lines + 1] = line
  end
  math.randomseed(id + 1)
  -- Not all threads at the same moment.
  due = now() + interval * math.random()
end

-- Called before the first request, and as soon as each answer is complete.
function delay()
  if is_started then waited[#waited + 1] = now() - counted_from end
  is_started = true
  return math.max(0, math.floor(due - now()))
end

local function transfer()
  local payer, payee = math.random(#lines), math.random(#lines)
  if payee == payer then payee = payer % #lines + 1 end
  return wrk.format("POST", "/api/v1/teg/transfer", {
    ["Authorization"] = "Bearer " .. lines[payer]:match("%S+"),
    ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = round .. "-" .. id .. "-" .. sent
  }, '{"receiver_agent_id":"' .. lines[payee]:match("%S+ (%S+)") .. '","amount":"0.01"}')
end

local function page()
  return wrk.format("GET", lines[math.random(#lines)], { ["Accept"] = "text/html", ["Accept-Encoding"] = "gzip" })
end

local function log()
  local entries = {}
  for place = 1, 100 do
    entries[place] = string.format('{"level":"INFO","message":"Request %d-%d-%d was answered","log_metadata":{"place":%d}}', id, sent, place, place)
  end
  local token, did = lines[(sent * 4 + id) % #lines + 1]:match("(%S+) (%S+)")
  return wrk.format("POST", "/api/v1/agents/" .. did .. "/logs", {
    ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json"
  }, '{"entries":[' .. table.concat(entries, ",") .. "]}")
end

function request()
  sent = sent + 1
  counted_from = math.min(now(), due)
  due = due + interval
  if kind == "log" then return log() end
  return kind == "transfer" and transfer() or page()
end

function done(summary)
  local all = {}
  for _, thread in ipairs(threads) do
    for _, one in ipairs(thread:get("waited")) do
      all[#all + 1] = one
    end
  end
  table.sort(all)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, all[math.max(1, math.ceil(#all * 0.99))] or 0))
end
