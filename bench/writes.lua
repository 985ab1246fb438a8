-- PUTs of prepared cards, each a little different from the one before: lines of the file are a path and a body with @@.
local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

function init(args)
  headers = { ["Authorization"] = "Bearer " .. args[2], ["Content-Type"] = "application/json" }
  round, paths, bodies, sent = args[3], {}, {}, 0
  for line in io.lines(args[1]) do
    local path, body = line:match("(%S+) (.+)")
    paths[#paths + 1], bodies[#bodies + 1] = path, body
  end
  math.randomseed(id + 1)
end

function request()
  sent = sent + 1
  local number = math.random(#paths)
  return wrk.format("PUT", paths[number], headers, (bodies[number]:gsub("@@", round .. "-" .. id .. "-" .. sent)))
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
