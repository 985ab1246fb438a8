-- The transfers of transfer.lua, with the answers counted: done, refused for the moment, refused without a time to come
-- back, and anything else.
local here = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(here .. "transfer.lua")

local number = setup
local workers = {}

function setup(thread)
  number(thread)
  table.insert(workers, thread)
end

done_count, refused_count, rude_count, other_count = 0, 0, 0, 0

function response(status, headers, body)
  if status == 200 then
    done_count = done_count + 1
  elseif status == 503 or status == 429 then
    refused_count = refused_count + 1
    if not (headers["Retry-After"] or headers["retry-after"]) then rude_count = rude_count + 1 end
  else
    other_count = other_count + 1
  end
end

function done(summary, latency)
  local totals = { 0, 0, 0, 0 }
  for _, thread in ipairs(workers) do
    for place, name in ipairs({ "done_count", "refused_count", "rude_count", "other_count" }) do
      totals[place] = totals[place] + thread:get(name)
    end
  end
  io.write(string.format("DONE %d REFUSED %d RUDE %d OTHER %d BROKEN %d SECONDS %f P99MS %f\n",
    totals[1], totals[2], totals[3], totals[4],
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
