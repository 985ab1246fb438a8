-- Pages drawn at random from a file of paths, as a browser asks for them, with a pause after each on every connection.
function init(args)
  paths, pause = {}, tonumber(args[2])
  for line in io.lines(args[1]) do
    paths[#paths + 1] = line
  end
end

function delay()
  return pause
end

function request()
  return wrk.format("GET", paths[math.random(#paths)], { ["Accept"] = "text/html", ["Accept-Encoding"] = "gzip" })
end

function done(summary, latency)
  io.write(string.format("ANSWERED %d REFUSED %d SECONDS %f P99MS %f\n", summary.requests,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1000))
end
