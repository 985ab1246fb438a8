// Draws the plots of a page anew, from the tables of their values, with ranges and the value below the cursor.

const HEIGHT = 220;
const FONT = "12px system-ui, sans-serif";
const DAY = 86400;
const MINUTE = 60;
const LABEL_SPACE = 90;
const SIDE_SPACE = 64;
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 5 });

// Days for days, times of the day within two of them, seconds within ten minutes.
function labelsOf(plot, moments) {
  const { min, max } = plot.scales.x;
  const [from, to] = max - min > 2 * DAY ? [0, 10] : [11, max - min > 10 * MINUTE ? 16 : 19];
  return moments.map((moment) => new Date(moment * 1000).toISOString().slice(from, to));
}

// The value alone, or several with their names.
function textOf(values, names) {
  if (values.length === 1) return values[0].textContent;
  return values.map((value, place) => `${names[place]} ${value.textContent}`).join(", ");
}

function valuesOf(figure) {
  const rows = [...figure.querySelectorAll("tbody tr")];
  const names = [...figure.querySelectorAll("thead th")].slice(1).map((head) => head.textContent);
  return {
    times: rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000),
    labels: rows.map((row) => row.querySelector("time").textContent),
    texts: rows.map((row) => textOf([...row.querySelectorAll("data")], names)),
    // Open, high, low and close of candles; of other plots the values alone.
    lines: [...rows[0].querySelectorAll("data")].map((_, place) => rows.map((row) => Number(row.querySelectorAll("data")[place].value))),
  };
}

const BODY_SHARE = 0.7;

// A falling candle is filled, a rising one is not.
function drawCandles(plot, values, seconds, colors) {
  const { ctx, bbox } = plot;
  const [opens, highs, lows, closes] = values.lines;
  const ratio = devicePixelRatio || 1;
  const step = plot.valToPos(seconds, "x", true) - plot.valToPos(0, "x", true);
  const body = Math.max(ratio, Math.min(step * BODY_SHARE, 24 * ratio));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.5 * ratio;
  values.times.forEach((time, place) => {
    const x = plot.valToPos(time, "x", true);
    const [open, high, low, close] = [opens, highs, lows, closes].map((line) => plot.valToPos(line[place], "y", true));
    const isFalling = closes[place] < opens[place];
    ctx.strokeStyle = ctx.fillStyle = isFalling ? colors.fall : colors.rise;
    const [top, bottom] = [Math.min(open, close), Math.max(open, close)];
    ctx.beginPath();
    ctx.moveTo(x, high);
    ctx.lineTo(x, top);
    ctx.moveTo(x, bottom);
    ctx.lineTo(x, low);
    ctx.stroke();
    const shape = [x - body / 2, top, body, Math.max(bottom - top, ratio)];
    if (isFalling) ctx.fillRect(...shape);
    ctx.strokeRect(...shape);
  });
  ctx.restore();
}

function optionsOf(figure, values, margin, width, show) {
  const color = (name) => getComputedStyle(figure).getPropertyValue(name).trim();
  const isBars = figure.dataset.plot === "bars";
  const isCandles = figure.dataset.plot === "candles";
  const colors = { rise: color("--good"), fall: color("--bad") };
  const axis = { stroke: color("--soft"), font: FONT, grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: {
      x: { range: (_, from, to) => [from - margin, to + margin] },
      y: {
        range: (_, least, most) => {
          const room = (most - least) * 0.1 || most * 0.05;
          return isCandles ? [least - room, most + room] : [Math.min(0, least), most > 0 ? most * 1.05 : 1];
        },
      },
    },
    series: isCandles ? [{}, ...values.lines.map(() => ({ paths: () => null, points: { show: false } }))] : [
      {},
      {
        stroke: color("--link"),
        fill: isBars ? color("--link") : undefined,
        width: 2,
        points: { show: false },
        paths: isBars ? uPlot.paths.bars({ size: [0.8, 40] }) : uPlot.paths.stepped({ align: 1 }),
      },
    ],
    axes: [
      { ...axis, values: labelsOf, space: LABEL_SPACE },
      { ...axis, size: SIDE_SPACE, values: (_, amounts) => amounts.map((amount) => SHORT.format(amount / figure.dataset.perUnit)) },
    ],
    hooks: {
      setCursor: [(plot) => show(plot.cursor.idx)],
      draw: isCandles ? [(plot) => drawCandles(plot, values, Number(figure.dataset.seconds), colors)] : [],
    },
  };
}

// Ranges that end at the newest value; one that is as long as the whole is the whole.
const RANGES = [["24 h", DAY], ["7 d", 7 * DAY], ["30 d", 30 * DAY]];

function rangesOf(length, act) {
  const bar = document.createElement("div");
  bar.className = "plot-controls";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Range");
  const offers = [...RANGES.filter(([, seconds]) => seconds < length), ["All", length]];
  if (offers.length === 1) return bar;
  for (const [name, seconds] of offers) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small quiet";
    button.textContent = name;
    button.setAttribute("aria-pressed", String(name === "All"));
    button.addEventListener("click", () => {
      for (const other of bar.children) other.setAttribute("aria-pressed", String(other === button));
      act(seconds);
    });
    bar.append(button);
  }
  return bar;
}

function draw(figure) {
  const values = valuesOf(figure);
  const [first, last] = [values.times[0], values.times.at(-1)];
  const length = last - first;
  // The picture of one moment has nothing to zoom.
  if (length <= 0) return;
  const picture = figure.querySelector("svg");
  const container = document.createElement("div");
  container.setAttribute("role", "img");
  container.setAttribute("aria-label", picture.getAttribute("aria-label"));
  const readout = document.createElement("p");
  readout.className = "faint";
  const say = "Drag to enlarge a part; a double click shows all.";
  const show = (place) => {
    readout.textContent = place === null || place === undefined ? say : `${values.labels[place]}: ${values.texts[place]}`;
  };
  // The first and the last bar or candle are shown whole.
  const half = figure.dataset.plot === "candles" ? figure.dataset.seconds / 2 : length / (2 * (values.times.length - 1));
  const margin = figure.dataset.plot === "line" ? 0 : half;
  let plot;

  const act = (seconds) => plot.setScale("x", { min: last - seconds, max: last });
  const redraw = () => {
    plot?.destroy();
    plot = new uPlot(optionsOf(figure, values, margin, container.clientWidth, show), [values.times, ...values.lines], container);
  };

  picture.replaceWith(container);
  container.after(readout, rangesOf(length, act));
  show(null);
  redraw();
  new ResizeObserver(() => plot.setSize({ width: container.clientWidth, height: HEIGHT })).observe(container);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

document.querySelectorAll("figure[data-plot]").forEach(draw);
