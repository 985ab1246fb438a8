-- One path, with the token of an agent drawn at random from the prepared file.
function init(args)
  path, tokens = args[2], {}
  for line in io.lines(args[1]) do
    tokens[#tokens + 1] = line:match("(%S+) ")
  end
end

function request()
  return wrk.format("GET", path, { ["Authorization"] = "Bearer " .. tokens[math.random(#tokens)] })
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
