// The page of one object. What it shows comes from three answers of the server: ?describe (the facts), ?list (the
// children of a group) and files below /.h5/slice (values and pictures). Names and values from files only ever
// become text nodes and attributes of elements, never markup.
"use strict";

const MAX_CHILDREN = 1000;      // shown; all of them are in ?list
const MAX_POINTS = 1500;        // of a picture, in each direction
const MAX_DECODED = 32 << 20;   // bytes of chunks that the server decodes for one picture
const MAX_TOUCHED = 16384;      // places of a contiguous dataset that are read for one picture
const VALUE_ROWS = 50, VALUE_COLUMNS = 12, VALUE_BYTES = 8192;

// ---- elements

function element(name, attributes, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) out.setAttribute(key, value);
  out.append(...children.filter((child) => child !== null && child !== undefined));
  return out;
}

// `side`: the column, "left" or "right", and further classes.
function section(side, title, ...children) {
  const id = "h-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  const out = element("section", {class: side, "aria-labelledby": id}, element("h2", {id}, title), ...children);
  document.getElementById(side.split(" ")[0]).append(out);
  return out;
}

function factTable(rows) {
  const body = element("tbody");
  for (const [name, value] of rows)
    body.append(element("tr", {}, element("th", {scope: "row"}, name), element("td", {}, value)));
  return element("table", {class: "facts"}, body);
}

// Surrogates stand for bytes that are not UTF-8.
function visible(text) {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "\u00b7");
}

function bytesText(count) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0, value = count;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return unit === 0 ? `${count} bytes` : `${value.toPrecision(3)} ${units[unit]} (${count} bytes)`;
}

// ---- the server

async function get(url, options) {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 500)}`);
  return answer;
}

// Names of files need not be UTF-8.
function decodeSegment(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}

// An integer, or a list of them, as JSON that may hold numbers beyond 2^53: those lose digits only.
function jsonOf(text, fallback) {
  try { return JSON.parse(text); } catch { return fallback; }
}

// ---- NumPy files

function halfFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// How one element of a NumPy type is read as a number; null for what is no number. Complex: the absolute value.
function elementReader(type) {
  const match = /^([<>|])([iufbc])(\d+)$/.exec(type);
  if (!match) return null;
  const little = match[1] !== ">", kind = match[2], size = Number(match[3]);
  if (kind === "b" && size === 1) return {size, read: (view, at) => view.getUint8(at)};
  if (kind === "c" && (size === 8 || size === 16)) {
    const half = size / 2, name = half === 4 ? "getFloat32" : "getFloat64";
    return {size, read: (view, at) => Math.hypot(view[name](at, little), view[name](at + half, little))};
  }
  if (kind === "f" && size === 2) return {size, read: (view, at) => halfFloat(view.getUint16(at, little))};
  if (kind === "f" && (size === 4 || size === 8)) {
    const name = "getFloat" + size * 8;
    return {size, read: (view, at) => view[name](at, little)};
  }
  if ((kind === "i" || kind === "u") && [1, 2, 4, 8].includes(size)) {
    const name = "get" + (size === 8 ? "Big" : "") + (kind === "i" ? "Int" : "Uint") + size * 8;
    return {size, read: (view, at) => Number(view[name](at, little))};
  }
  return null;
}

function parseNpy(buffer) {
  const view = new DataView(buffer);
  const major = view.getUint8(6), start = major === 1 ? 10 : 12;
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, start, length));
  const shape = (/'shape': \(([^)]*)\)/.exec(header) || ["", ""])[1].split(",").filter((s) => s.trim()).map(Number);
  const reader = elementReader((/'descr': '([^']*)'/.exec(header) || ["", ""])[1]);
  if (!reader) throw new Error("not a picture of numbers");
  const count = shape.reduce((a, b) => a * b, 1), values = new Float64Array(count);
  for (let i = 0; i < count; ++i) values[i] = reader.read(view, start + length + i * reader.size);
  return {shape, values};
}

// ---- which part of a dataset is fetched

// The part [begin, begin + length) of each shown dimension and its step: at most MAX_POINTS points in each, from no
// more storage than MAX_DECODED bytes of chunks, or MAX_TOUCHED places of contiguous storage. Where a whole dimension
// would take more, a part of it is shown. So a picture of a large dataset costs what one of a small dataset costs.
function chooseWindow(object, dimensions, starts) {
  const windows = dimensions.map((d) => ({length: object.shape[d], step: 1}));
  const points = (window) => Math.ceil(window.length / window.step);
  const chunks = (window, d) => Math.min(points(window), Math.ceil(window.length / object.chunks[d]) + 1);
  const affordable = () => {
    if (object.chunks) {
      const bytes = object.chunks.reduce((a, b) => a * b, object.itemBytes);
      return windows.reduce((product, window, i) => product * chunks(window, dimensions[i]), bytes) <= MAX_DECODED;
    }
    // Neighbours along the last dimension are read together where the step is small.
    const last = windows.at(-1);
    return (windows.length > 1 ? points(windows[0]) : 1) * (last.step > 64 ? points(last) : 1) <= MAX_TOUCHED;
  };
  for (let tries = 0; tries < 128; ++tries) {
    for (const window of windows) window.step = Math.max(1, Math.ceil(window.length / MAX_POINTS));
    const largest = windows.reduce((a, b) => (b.length > a.length ? b : a));
    if (affordable() || largest.length <= 16) break;
    largest.length = Math.ceil(largest.length / 2);
  }
  return windows.map((window, i) => {
    const begin = Math.min(Math.max(0, starts[i]), object.shape[dimensions[i]] - window.length);
    return {...window, begin};
  });
}

function selectionText(object, dimensions, windows, indices) {
  return object.shape.map((_, d) => {
    const place = dimensions.indexOf(d);
    if (place < 0) return String(indices[d] || 0);
    const {begin, length, step} = windows[place];
    return `${begin}:${begin + length}:${step}`;
  }).join(",");
}

// ---- pictures

// Viridis at nine places; between them colours are interpolated.
const COLOURS = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129],
                 [92, 200, 99], [170, 220, 50], [253, 231, 37]];
function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (COLOURS.length - 1), low = Math.min(Math.floor(place), COLOURS.length - 2);
  return COLOURS[low].map((from, i) => Math.round(from + (COLOURS[low + 1][i] - from) * (place - low)));
}

// The values below which `shares` of the finite ones lie.
function percentiles(values, shares) {
  const finite = values.filter(Number.isFinite).sort();
  if (finite.length === 0) return null;
  return shares.map((share) => finite[Math.min(finite.length - 1, Math.round(share * (finite.length - 1)))]);
}

function numberText(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  return String(Number(value.toPrecision(5)));
}

// Round numbers for an axis.
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && out.length < 100; ++i) out.push(i * step);
  return out;
}

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    const styles = getComputedStyle(document.documentElement);
    this.text = styles.getPropertyValue("--muted").trim();
    this.line = styles.getPropertyValue("--mark").trim();
    const scale = window.devicePixelRatio || 1;
    this.width = Math.max(200, canvas.clientWidth);
    this.height = Math.round(Math.min(460, Math.max(220, this.width * 0.6)));
    canvas.width = Math.round(this.width * scale);
    canvas.height = Math.round(this.height * scale);
    canvas.style.height = this.height + "px";
    this.context = canvas.getContext("2d");
    this.context.scale(scale, scale);
    this.context.font = "11px system-ui, sans-serif";
    this.context.fillStyle = this.text;
    this.context.strokeStyle = this.text;
  }

  frame(right) {
    this.box = {left: 58, top: 10, width: this.width - 58 - right, height: this.height - 40};
    const {left, top, width, height} = this.box;
    this.context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
  }

  xAxis(low, high) {
    const {left, top, width, height} = this.box, c = this.context;
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const tick of ticks(low, high, Math.max(2, width / 90))) {
      const x = left + (high > low ? (tick - low) / (high - low) : 0.5) * width;
      c.fillRect(x, top + height, 1, 4);
      c.fillText(numberText(tick), x, top + height + 7);
    }
  }

  yAxis(low, high, downwards) {
    const {left, top, height} = this.box, c = this.context;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of ticks(low, high, Math.max(2, height / 45))) {
      const share = high > low ? (tick - low) / (high - low) : 0.5;
      const y = top + (downwards ? share : 1 - share) * height;
      c.fillRect(left - 4, y, 4, 1);
      c.fillText(numberText(tick), left - 7, y);
    }
  }

  drawLine(values, window) {
    const limits = percentiles(values, [0, 1]);
    this.frame(14);
    if (!limits) { this.yAxis(0, 1); return; }
    let [low, high] = limits;
    if (low === high) { low -= 0.5; high += 0.5; }
    const {left, top, width, height} = this.box, c = this.context, last = Math.max(1, values.length - 1);
    this.xAxis(window.begin, window.begin + (values.length - 1) * window.step);
    this.yAxis(low, high);
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    c.strokeStyle = this.line;
    c.fillStyle = this.line;
    c.lineWidth = 1.3;
    c.beginPath();
    let drawing = false;
    values.forEach((value, i) => {
      const x = left + (i / last) * width, y = top + (1 - (value - low) / (high - low)) * height;
      if (!Number.isFinite(value)) { drawing = false; return; }
      if (drawing) c.lineTo(x, y);
      else c.moveTo(x, y);
      if (values.length <= 60) c.fillRect(x - 2, y - 2, 4, 4);
      drawing = true;
    });
    c.stroke();
    c.restore();
  }

  drawMap(values, rows, columns, windows) {
    const limits = percentiles(values, [0.02, 0.98]) || [0, 1];
    const [low, high] = limits[0] < limits[1] ? limits : [limits[0], limits[0] + 1];
    this.frame(78);
    const {left, top, width, height} = this.box, c = this.context;
    const image = new ImageData(columns, rows);
    for (let i = 0; i < values.length; ++i) {
      if (!Number.isFinite(values[i])) continue;  // transparent
      image.data.set([...colour((values[i] - low) / (high - low)), 255], i * 4);
    }
    const small = element("canvas", {width: columns, height: rows});
    small.getContext("2d").putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, left, top, width, height);
    this.yAxis(windows[0].begin, windows[0].begin + windows[0].length, true);
    this.xAxis(windows[1].begin, windows[1].begin + windows[1].length);
    const bar = left + width + 12;
    for (let y = 0; y < height; ++y) {
      c.fillStyle = `rgb(${colour(1 - y / height).join(",")})`;
      c.fillRect(bar, top + y, 12, 1.5);
    }
    c.fillStyle = this.text;
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const tick of ticks(low, high, 6))
      c.fillText(numberText(tick), bar + 16, top + (1 - (tick - low) / (high - low)) * height);
  }
}

// ---- the sections

function describePath(object) {
  const nav = document.getElementById("path"), source = object.source;
  const segments = object.href.slice(source.length).split("/").filter((s) => s);
  const names = object.path.split("/").filter((s) => s);
  // Of several sources: the name of this one is the end of its place.
  const own = source.split("/").filter((s) => s && !/^\.\.?$/.test(s)).pop();
  if (own) nav.append(element("a", {href: source + "../?page"}, "/"), visible(decodeSegment(own)));
  nav.append(element("a", {href: source + "?page"}, "/"));
  let href = source;
  segments.forEach((segment, i) => {
    const last = i === segments.length - 1, directory = !last || object.type === "directory";
    href += segment + (directory ? "/" : "");
    if (i > 0) nav.append("/");
    const link = element("a", {href: href + "?page"}, visible(names[i]));
    if (last) link.setAttribute("aria-current", "page");
    nav.append(link);
  });
}

function showFacts(object) {
  const rows = [];
  const add = (name, key) => { if (object.facts[key] !== undefined) rows.push([name, visible(object.facts[key])]); };
  add("Kind", "kind");
  add("Type", "dtype");
  add("Shape", "shape");
  add("Largest shape", "maxshape");
  add("Layout", "layout");
  add("Chunks", "chunks");
  if (object.facts.filters) {
    const filters = jsonOf(object.facts.filters, []);
    const text = filters.map((f) => `${f.name || f.id}${f.values && f.values.length ? " " + JSON.stringify(f.values) : ""}`);
    rows.push(["Filters", visible(text.join(", ")) || "none"]);
  }
  add("Fill value", "fill_value");
  if (object.type === "file" && object.size !== null) rows.push(["Size", bytesText(object.size)]);
  if (object.facts.storage_size) rows.push(["Stored", bytesText(Number(object.facts.storage_size))]);
  add("Comment", "comment");
  add("Sources", "sources");
  add("Salvage", "salvage");
  section("left", "Structure", factTable(rows));
  if (object.facts.error) section("left", "Error", element("p", {class: "error"}, visible(object.facts.error)));
}

function attributeFile(object, name) {
  const path = object.href.slice(object.source.length).replace(/\/$/, "").replace(/%40/g, "%2540");
  const place = encodeURIComponent(name).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
  return `${object.source}.h5/attributes/${path}%40${place}`;
}

function showAttributes(object) {
  const rows = object.attributes.map(([name, value, whole]) => {
    if (!whole) return [visible(name), visible(value)];
    const link = element("a", {href: attributeFile(object, name)}, `all ${whole} bytes`);
    return [visible(name), element("span", {}, visible(value) + " … ", link)];
  });
  for (const name of object.large) rows.push([visible(name), element("a", {href: attributeFile(object, name)}, "large: as a file")]);
  for (const [name, why] of object.errors) rows.push([visible(name), element("span", {class: "error"}, visible(why))]);
  if (rows.length) section("left", "Attributes", factTable(rows));
}

function showLinks(object) {
  const items = [];
  if (object.type === "file") items.push(["bytes", object.href]);
  for (const view of object.views) items.push([view.name, view.href]);
  if (object.slices) items.push(["slices", object.slices]);
  if (object.type === "directory") items.push(["listing", "?plain"], ["JSON", "?list"]);
  if (object.special) items.push(["everything else: /.h5", object.special + "?page"]);
  const list = element("ul", {class: "links"});
  for (const [name, href] of items) list.append(element("li", {}, element("a", {href}, name)));
  section("left", "Files", list);
}

async function showChildren() {
  const part = section("right", "Contents", element("p", {class: "muted"}, "…"));
  const entries = await (await get("?list")).json();
  const body = element("tbody");
  for (const entry of entries.slice(0, MAX_CHILDREN)) {
    if (entry.type === "error") {
      body.append(element("tr", {}, element("td", {class: "error", colspan: "3"}, visible(entry.error))));
      continue;
    }
    const name = visible(entry.name) + (entry.type === "directory" ? "/" : "");
    const link = element("a", {href: entry.href + "?page"}, name);
    const kind = entry.error ? element("span", {class: "error"}, visible(entry.error))
                             : entry.target !== undefined ? "→ " + visible(entry.target) : entry.type;
    body.append(element("tr", {}, element("td", {}, link), element("td", {}, kind),
                        element("td", {class: "number"}, entry.size === null ? "" : String(entry.size))));
  }
  const head = element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "Name"),
                                            element("th", {scope: "col"}, "Kind"), element("th", {scope: "col"}, "Bytes")));
  part.lastChild.remove();
  if (entries.length === 0) part.append(element("p", {class: "muted"}, "nothing"));
  else part.append(element("div", {}, element("table", {}, head, body)));
  if (entries.length > MAX_CHILDREN)
    part.append(element("p", {}, `${entries.length - MAX_CHILDREN} more: `, element("a", {href: "?plain"}, "all of them")));
}

// RFC 4180.
function parseCsv(text, complete) {
  const rows = [[]];
  let cell = "", quoted = false;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += c; ++i; }
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === ",") { rows.at(-1).push(cell); cell = ""; }
    else if (c === "\n") { rows.at(-1).push(cell); cell = ""; rows.push([]); }
    else cell += c;
  }
  rows.pop();  // the line that has not ended
  return complete ? rows : rows.slice(0, Math.max(1, rows.length));
}

function valuesSelection(object) {
  const rank = object.shape.length;
  const tabular = object.compound ? 1 : Math.min(2, rank);
  return object.shape.map((length, d) => {
    if (d < rank - tabular) return "0";
    const rows = d === rank - tabular;
    return `0:${Math.min(length, rows ? VALUE_ROWS : VALUE_COLUMNS)}`;
  }).join(",");
}

async function showValues(object) {
  const part = section("right values", "First values", element("p", {class: "muted"}, "…"));
  const scroll = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "First values"});
  try {
    if (object.slices && object.shape.length > 0 && object.shape.every((n) => n > 0)) {
      const selection = valuesSelection(object);
      const answer = await get(`${object.slices}${selection}.csv`, {headers: {Range: "bytes=0-65535"}}).catch(() => null);
      if (answer) {
        const rows = parseCsv(await answer.text(), answer.status === 200);
        const cells = (row, name, scope) => row.map((cell) => element(name, scope, visible(cell)));
        scroll.append(element("table", {}, element("thead", {}, element("tr", {}, ...cells(rows[0] || [], "th", {scope: "col"}))),
                              element("tbody", {}, ...rows.slice(1).map((row) => element("tr", {}, ...cells(row, "td", {}))))));
        part.lastChild.remove();
        part.append(element("p", {class: "muted"}, `[${selection}]`), scroll);
        return;
      }
    }
    if (object.size === 0) {
      part.lastChild.textContent = "none";
      return;
    }
    const text = object.views.find((view) => view.name === "text");
    const answer = await get(text ? text.href : object.href, {headers: {Range: `bytes=0-${VALUE_BYTES - 1}`}});
    scroll.append(element("pre", {}, visible(await answer.text()) + (answer.status === 206 ? "…" : "")));
    part.lastChild.remove();
    part.append(scroll);
  } catch (error) {
    part.lastChild.remove();
    part.append(element("p", {class: "error"}, visible(String(error.message))));
  }
}

function slider(label, most, value, changed) {
  const id = "s-" + label.replace(/[^a-z0-9]+/gi, "-");
  const range = element("input", {type: "range", min: "0", max: String(most), value: String(value), id, "aria-label": label});
  const number = element("input", {type: "number", min: "0", max: String(most), value: String(value), "aria-label": label + ", number"});
  let waiting = 0;
  const set = (from, to) => () => {
    const chosen = Math.min(most, Math.max(0, Math.floor(Number(from.value) || 0)));
    to.value = String(chosen);
    clearTimeout(waiting);
    waiting = setTimeout(() => changed(chosen), 60);
  };
  range.addEventListener("input", set(range, number));
  number.addEventListener("change", set(number, range));
  return element("label", {for: id}, label, range, number);
}

class Picture {
  constructor(object) {
    const rank = object.shape.length;
    this.object = object;
    this.dimensions = rank === 1 ? [0] : [rank - 2, rank - 1];
    this.indices = object.shape.map(() => 0);
    this.starts = this.dimensions.map(() => 0);
    this.canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": rank === 1 ? "Line plot" : "Heat map"});
    this.status = element("output", {"aria-live": "polite"}, " ");
    this.controls = element("div", {class: "controls"});
    this.part = section("right", object.complex ? "Picture of absolute values" : "Picture", this.canvas, this.status, this.controls);
    this.cursor = null;
    this.addControls();
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    let waiting = 0;
    new ResizeObserver(() => { clearTimeout(waiting); waiting = setTimeout(() => this.draw(), 100); }).observe(this.part);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  addControls() {
    const {shape} = this.object;
    shape.forEach((length, d) => {
      if (this.dimensions.includes(d) || length < 2) return;
      this.controls.append(slider(`Index of dimension ${d}`, length - 1, 0, (value) => { this.indices[d] = value; this.load(); }));
    });
    chooseWindow(this.object, this.dimensions, this.starts).forEach((window, i) => {
      const length = shape[this.dimensions[i]];
      if (window.length >= length) return;
      this.controls.append(slider(`Start in dimension ${this.dimensions[i]}`, length - window.length, 0,
                                  (value) => { this.starts[i] = value; this.load(); }));
    });
  }

  async load() {
    const windows = chooseWindow(this.object, this.dimensions, this.starts);
    const selection = selectionText(this.object, this.dimensions, windows, this.indices);
    this.aborter?.abort();
    this.aborter = new AbortController();
    this.canvas.setAttribute("aria-busy", "true");
    try {
      const answer = await get(`${this.object.slices}${selection}.npy`, {signal: this.aborter.signal});
      this.shown = {...parseNpy(await answer.arrayBuffer()), windows, selection};
      this.cursor = null;
      this.draw();
      this.status.textContent = `[${selection}]`;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.status.textContent = visible(String(error.message));
    }
    this.canvas.removeAttribute("aria-busy");
  }

  draw() {
    if (!this.shown) return;
    const {values, shape, windows} = this.shown;
    this.plot = new Plot(this.canvas);
    if (shape.length === 1) this.plot.drawLine(values, windows[0]);
    else this.plot.drawMap(values, shape[0], shape[1], windows);
    this.canvas.dataset.drawn = this.shown.selection;
  }

  tell() {
    const {values, shape, windows} = this.shown;
    const place = shape.length === 1 ? this.cursor[0] : this.cursor[0] * shape[1] + this.cursor[1];
    const at = this.cursor.map((index, i) => windows[i].begin + index * windows[i].step);
    const whole = this.object.shape.map((_, d) => this.dimensions.includes(d) ? at[this.dimensions.indexOf(d)] : this.indices[d]);
    this.status.textContent = `[${whole.join(", ")}] = ${values[place]}`;
  }

  point(event) {
    if (!this.plot || !this.shown) return;
    const {left, top, width, height} = this.plot.box, {shape} = this.shown;
    const x = (event.offsetX - left) / width, y = (event.offsetY - top) / height;
    if (x < 0 || x > 1 || y < 0 || y > 1) return;
    const clip = (value, length) => Math.min(length - 1, Math.max(0, value));
    this.cursor = shape.length === 1 ? [clip(Math.round(x * (shape[0] - 1)), shape[0])]
                                     : [clip(Math.floor(y * shape[0]), shape[0]), clip(Math.floor(x * shape[1]), shape[1])];
    this.tell();
  }

  step(event) {
    const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    const move = moves[event.key];
    if (!move || !this.shown) return;
    event.preventDefault();
    const {shape} = this.shown;
    const by = shape.length === 1 ? [move[1] || move[0]] : move;
    this.cursor = (this.cursor || shape.map(() => 0)).map((at, i) => Math.min(shape[i] - 1, Math.max(0, at + by[i])));
    this.tell();
  }
}

// ---- start

function understand(description) {
  const out = {...description, facts: {}, attributes: [], large: []};
  for (const [name, value] of Object.entries(description.xattrs)) {
    if (name.startsWith("user.hdf5.")) out.facts[name.slice(10)] = value;
    else out.attributes.push([name.slice(5), value, description.cut[name]]);
  }
  out.large = (jsonOf(out.facts.large_attributes || "[]", []) || []).filter((name) => typeof name === "string" && !name.startsWith("hdf5."));
  out.errors = Object.entries(description.errors).map(([name, why]) => [name.replace(/^user\./, ""), why]);
  out.shape = jsonOf(out.facts.shape || "null", null);
  out.shape = Array.isArray(out.shape) ? out.shape : [];
  out.chunks = jsonOf(out.facts.chunks || "null", null);
  if (!Array.isArray(out.chunks) || out.chunks.length !== out.shape.length) out.chunks = null;
  // h5py's complex numbers are compounds; their NumPy file has complex ones.
  const parts = /^\{"r":"([<>])f([48])","i":"\1f\2"\}$/.exec(out.facts.dtype || "");
  const reader = elementReader(parts ? `${parts[1]}c${parts[2] * 2}` : out.facts.dtype || "");
  out.itemBytes = reader ? reader.size : 0;
  out.complex = parts !== null;
  out.compound = (out.facts.dtype || "").startsWith("{") && !parts;
  return out;
}

async function start() {
  const main = document.getElementById("main");
  try {
    const object = understand(await (await get("?describe")).json());
    const name = visible(object.path.split("/").filter((s) => s).pop() || "/");
    document.title = `${name} – h5mount`;
    describePath(object);
    main.append(element("h1", {}, name), element("div", {id: "left", class: "column"}), element("div", {id: "right", class: "column"}));
    const numbers = object.slices && object.itemBytes > 0 && object.shape.length > 0 && object.shape.every((n) => n > 0);
    const picture = numbers ? new Picture(object) : null;
    showFacts(object);
    showAttributes(object);
    showLinks(object);
    if (object.type === "directory") await showChildren();
    else await showValues(object);
    await picture?.load();
  } catch (error) {
    main.append(element("p", {class: "error", role: "alert"}, visible(String(error.message))));
  }
  main.removeAttribute("aria-busy");
}

start();
