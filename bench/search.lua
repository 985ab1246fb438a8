-- One path of the prepared file after another, drawn at random.
function init(args)
  paths = {}
  for line in io.lines(args[1]) do
    paths[#paths + 1] = line
  end
end

function request()
  return wrk.format("GET", paths[math.random(#paths)])
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f P50MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000,
    latency:percentile(50) / 1000))
end
