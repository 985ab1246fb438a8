-- One path; behind a tile's path comes a digit, so that ten whole tiles are read.
function init(args)
  path = args[1]
end

function request()
  local digit = path == "/livez" and "" or tostring(math.random(0, 9))
  return wrk.format("GET", path .. digit)
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
