// SPDX-License-Identifier: GPL-2.0-only
// What makes the page answer questions. Its parts, from the data to the screen: columns, histograms,
// figures, formats, charts, tables, code, the page.
// Figures follow the arithmetic of correlator/reader/aggregate/totals.c, grouping.c and requests/histogram.c, so
// that a selection shows what `report --since --until --where` prints. It is here a second time because
// no file could hold the answers: each pair of windows with each group is another one, and no tool is
// there to ask. What the numbers mean comes with the data; tests/html compares with JSON.
// Text of the target gets into the page as the text of nodes only (textContent).
"use strict";
(() => {

// ---- columns (page_columns.c) ----

const BASE64 = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, value) => {
	BASE64[digit.charCodeAt(0)] = value;
});

/** Numbers of 7 bits a byte, the lowest first, in base64. Exact up to 2^53. */
function decodeColumn(text, count) {
	const numbers = new Float64Array(count);
	let bits = 0, bitCount = 0, number = 0, scale = 1, index = 0;

	for (let at = 0; at < text.length; at++) {
		bits = (bits << 6 | BASE64[text.charCodeAt(at)]) & 0xffff;
		bitCount += 6;
		if (bitCount < 8)
			continue;
		bitCount -= 8;
		const byte = bits >> bitCount & 0xff;
		number += (byte & 0x7f) * scale;
		scale *= 128;
		if (byte & 0x80)
			continue;
		numbers[index++] = number;
		number = 0;
		scale = 1;
	}
	return numbers;
}

function decodeTable(table, count) {
	const columns = {};

	for (const [name, value] of Object.entries(table))
		if (typeof value === "string" && name !== "of_request" && name !== "origin_ns")
			columns[name] = decodeColumn(value, count);
	return columns;
}

/** Where the elements of each request begin; at the end, where those of nobody do. */
function beginnings(text, count) {
	const counts = decodeColumn(text, count);
	const begins = new Uint32Array(count + 1);

	for (let i = 0; i < count; i++)
		begins[i + 1] = begins[i] + counts[i];
	return begins;
}

/**
 * { bits, parts, buckets, views, figures }: of a cell's `missing`, by cost, and of its span; of a cell's
 * `part`; of a doubling of a histogram; the figures of each view, by name; title and unit of each, and
 * whether it tells something always. The same of both recordings: one program wrote them.
 */
let MEANING = null;

function readSide(index) {
	const dataElement = document.getElementById(`data-${index}`);

	if (!dataElement)
		return null;
	const data = JSON.parse(dataElement.textContent);
	const count = data.ids.length;

	MEANING = data.meaning;
	return {
		report: JSON.parse(document.getElementById(`report-${index}`).textContent),
		by: data.by,
		folded: data.folded,
		losses: data.losses,
		groups: ["", ...data.groups], // 0: none
		threads: ["", ...data.threads],
		ids: data.ids,
		origin: BigInt(data.times.origin_ns),
		timeCount: data.times.count,
		times: decodeTable(data.times, data.times.count),
		cells: decodeTable(data.cells, data.cells.count),
		cellCount: data.cells.count,
		cellBegin: beginnings(data.cells.of_request, count),
		slices: decodeTable(data.slices, data.slices.count),
		sliceBegin: beginnings(data.slices.of_request, count),
		droppedSlices: data.slices.dropped,
		code: readCode(data, count),
	};
}

// ---- histograms (correlator/requests/histogram.c) ----

function bitLength(value) {
	const high = Math.floor(value / 2 ** 32);

	return high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(value >>> 0 | 1);
}

class Histogram {
	constructor() {
		this.count = 0;
		this.sum = 0;
		this.least = 0;
		this.largest = 0;
		this.doublings = [];
	}

	add(value) {
		const { buckets } = MEANING;
		const doubling = Math.max(bitLength(value) - Math.log2(buckets), 0);
		const width = 2 ** Math.max(doubling - 1, 0);
		const counts = this.doublings[doubling] ??= new Uint32Array(buckets);

		counts[Math.floor(value / width) % buckets]++;
		if (this.count === 0 || value < this.least)
			this.least = value;
		this.largest = Math.max(this.largest, value);
		this.count++;
		this.sum += value;
	}

	/** Calls back with the begin, the width and the count of each bucket in use, ascending. */
	forEach(callback) {
		this.doublings.forEach((counts, doubling) => {
			const width = 2 ** Math.max(doubling - 1, 0);

			counts.forEach((count, bucket) => {
				if (count > 0)
					callback((bucket + (doubling > 0 ? counts.length : 0)) * width, width, count);
			});
		});
	}

	middleOfRank(rank) {
		let seen = 0, found = null;

		this.forEach((begin, width, count) => {
			seen += count;
			if (found === null && seen >= rank)
				found = begin + Math.floor(width / 2);
		});
		return found ?? this.largest;
	}

	percentile(percent) {
		const rank = Math.ceil(percent * this.count / 100);
		let value = this.middleOfRank(rank);

		if (value < this.least || rank <= 1)
			value = this.least;
		return value > this.largest || rank >= this.count ? this.largest : value;
	}

	mean() {
		const quotient = Math.floor(this.sum / this.count);

		return quotient * this.count > this.sum ? quotient - 1 : quotient;
	}
}

// ---- figures (correlator/reader/aggregate/totals.c, grouping.c, rows.c) ----

const NS_PER_S = 1e9;

/** Whether a cost, or the span, was not measured. */
function lacks(missing, what) {
	return (missing >> MEANING.bits[what] & 1) === 1;
}

/** What records add up to, of a group, of a request or of all. */
class Costs {
	constructor() {
		for (const name of MEANING.views.cells)
			this[name] = 0;
		this.missing = 0;
		this.records = 0;
		this.first = Infinity;
		this.last = 0;
	}

	addCell(cells, index) {
		for (const name of MEANING.views.cells)
			this[name] += cells[name][index];
		this.missing |= cells.missing[index];
		this.records++;
		this.first = Math.min(this.first, cells.first[index]);
		this.last = Math.max(this.last, cells.first[index] + cells.span[index]);
	}

	has(cost) {
		return !lacks(this.missing, cost);
	}

	/** null: not measured. */
	wall() {
		return this.records === 0 || lacks(this.missing, "span") ? null : this.last - this.first;
	}

	/** On no thread (costs_parked_ns); null: not measured. */
	parked() {
		const wall = this.wall(), onThread = ["cpu", "run_queue", "blocked", "stolen"];

		if (wall === null || !onThread.every((cost) => this.has(cost)))
			return null;
		return Math.max(wall - onThread.reduce((sum, cost) => sum + this[cost], 0), 0);
	}
}

class Row {
	constructor(kind, label) {
		this.kind = kind;
		this.label = label;
		this.costs = new Costs();
		this.requests = 0;
		this.cpu = new Histogram();
		this.wall = new Histogram();
		this.parked = new Histogram();
	}

	settle(costs) {
		const wall = costs.wall(), parked = costs.parked();

		this.requests++;
		if (costs.has("cpu"))
			this.cpu.add(costs.cpu);
		if (wall !== null)
			this.wall.add(wall);
		if (parked !== null)
			this.parked.add(parked);
	}
}

/** Whether a window is selected. */
function isInTime(selection, time) {
	return time >= selection.from && time <= selection.to;
}

/**
 * Goes through what a selection chooses, as totals.c does: sink.charge(cell, group), where group is the one that
 * the cell has or is lent; then, of each request, sink.settle(request, chosen) with all { cell, group } of it.
 */
function walk(side, selection, sink) {
	const { cells, cellBegin } = side;
	const requestCount = side.ids.length;

	for (let request = 0; request < requestCount; request++)
		walkRequest(side, selection, request, sink);
	for (let cell = cellBegin[requestCount]; cell < side.cellCount; cell++) {
		const group = cells.group[cell];

		if (isInTime(selection, cells.time[cell]) &&
		    (selection.group === 0 || selection.group === group))
			sink.charge(cell, group);
	}
}

/** A request's cells in the selected time: one without a group has the last one's, or the first one's. */
function lendGroups({ cells, cellBegin }, selection, request) {
	const lent = [];
	let last = 0;

	for (let cell = cellBegin[request]; cell < cellBegin[request + 1]; cell++)
		if (isInTime(selection, cells.time[cell])) {
			last = cells.group[cell] || last;
			lent.push({ cell, group: last });
		}
	const first = lent.find(({ group }) => group !== 0)?.group ?? 0;

	for (const each of lent)
		each.group ||= first;
	return lent;
}

const isOfGroup = (selection, group) => selection.group === 0 || selection.group === group;

function walkRequest(side, selection, request, sink) {
	const chosen = lendGroups(side, selection, request).filter(({ group }) => isOfGroup(selection, group));

	for (const { cell, group } of chosen)
		sink.charge(cell, group);
	if (chosen.length > 0)
		sink.settle(request, chosen);
}

/** The rows of a table, and what each request cost. */
class Figures {
	constructor(side, selection) {
		this.side = side;
		this.selection = selection;
		this.groups = new Map();
		this.withoutKey = new Row("without_key", `(no ${side.by})`);
		this.unattributed = new Row("unattributed", "unattributed");
		this.overflow = new Row("overflow", "overflow");
		this.total = new Row("total", "total");
		this.threads = new Map();
		this.requests = []; // { request, place, costs, chosen }
		walk(side, selection, this);
		this.duration = durationOf(side, selection);
		// 0, where others were measured.
		for (const row of [this.unattributed, this.overflow])
			if (row.costs.records === 0)
				row.costs.missing = this.total.costs.missing;
	}

	row(group) {
		if (group === 0)
			return this.withoutKey;
		if (!this.groups.has(group))
			this.groups.set(group, new Row("group", this.side.groups[group]));
		return this.groups.get(group);
	}

	charge(cell, group) {
		const { cells } = this.side;
		const part = cells.part[cell];

		this.total.costs.addCell(cells, cell);
		if (part === MEANING.parts.overflow)
			this.overflow.costs.addCell(cells, cell);
		else if (part === MEANING.parts.unattributed)
			this.chargeNobody(cell);
		else
			this.row(group).costs.addCell(cells, cell);
	}

	chargeNobody(cell) {
		const { cells, threads } = this.side;
		const name = threads[cells.thread[cell]].replace(/^\S+ ?/, "");

		this.unattributed.costs.addCell(cells, cell);
		if (!this.threads.has(name))
			this.threads.set(name, new Costs());
		this.threads.get(name).addCell(cells, cell);
	}

	/** A request is counted where it was last. */
	settle(request, chosen) {
		const costs = new Costs(), place = chosen.at(-1).group;

		for (const { cell } of chosen)
			costs.addCell(this.side.cells, cell);
		this.row(place).settle(costs);
		this.total.settle(costs);
		this.requests.push({ request, place, costs, chosen });
	}

	/** In the order of a report. */
	rows() {
		const rows = [...this.groups.values()];

		if (this.withoutKey.costs.records > 0)
			rows.push(this.withoutKey);
		if (this.selection.group === 0)
			rows.push(this.unattributed);
		if (this.overflow.costs.records > 0)
			rows.push(this.overflow);
		return [...rows, this.total];
	}
}

/** From the start of the first selected window to the end of the last one. */
function durationOf(side, selection) {
	const { start, end } = side.times;
	let first = Infinity, last = 0;

	for (let time = selection.from; time <= selection.to; time++) {
		if (start[time] === end[time])
			continue; // no window: a record of what was dropped
		first = Math.min(first, start[time]);
		last = Math.max(last, end[time]);
	}
	return Math.max(last - first, 0);
}

function isAllTime(side, selection) {
	return selection.from === 0 && selection.to === side.timeCount - 1;
}

/** Of more requests than the page holds, what the tool counted itself: of all time. */
function reportedFigure(figures, row, field) {
	const { side, selection } = figures;

	if (!isAllTime(side, selection))
		return null;
	if (field === "requests")
		return reportedRow(figures, row)?.requests ?? null;
	return reportedRow(figures, row)?.[`${field}_ns`] ?? null;
}

function reportedRow({ side, selection }, row) {
	const { report } = side;
	const label = row.kind === "total" && selection.group ? side.groups[selection.group] : row.label;

	if (row.kind === "group" || (row.kind === "total" && selection.group))
		return report.rows.find(({ key }) => key === label);
	return report[row.kind];
}

function distributionFigure(row, field) {
	const [what, which] = field.split("_");
	const histogram = row[what];

	if (histogram.count === 0 || histogram.count !== row.requests)
		return null;
	if (which === "mean")
		return histogram.mean();
	return histogram.percentile(which === "max" ? 100 : Number(which.slice(1)));
}

/** The number of a column; null: not measured. */
function figureOf(figures, row, field) {
	const { costs } = row;
	const requests = figures.side.folded > 0 ? reportedFigure(figures, row, "requests") : row.requests;

	if (MEANING.views.cells.includes(field))
		return costs.has(field) ? costs[field] : null;
	switch (field) {
	case "requests":
		return requests || null;
	case "rate":
		return requests && figures.duration > 0 ? requests * NS_PER_S / figures.duration : null;
	case "share":
		return costs.has("cpu") && figures.total.costs.has("cpu") && figures.total.costs.cpu > 0 ?
			100 * costs.cpu / figures.total.costs.cpu : null;
	case "syscalls_mean":
		return requests && costs.has("syscalls") ? costs.syscalls / requests : null;
	default:
		return figures.side.folded > 0 ? reportedFigure(figures, row, field) :
			distributionFigure(row, field);
	}
}

/** The books of the selected windows; of all that was observed, whatever group is selected. */
function booksOf(side, selection) {
	const sums = {};
	let worst = 0;

	for (const [name, column] of Object.entries(side.times)) {
		sums[name] = 0;
		for (let time = selection.from; time <= selection.to; time++)
			sums[name] += column[time];
	}
	for (let time = selection.from; time <= selection.to; time++) {
		const residual = side.times.worst_missing[time] - side.times.worst_too_much[time];

		if (Math.abs(residual) > Math.abs(worst))
			worst = residual;
	}
	const residual = sums.exec - sums.attributed - sums.unattributed - sums.overflow;
	return { ...sums, residual, worst };
}

// ---- formats (correlator/base/display.c) ----

const NOT_MEASURED = "-";

function formatInteger(number) {
	return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Four significant digits and a unit. */
function formatDuration(ns) {
	let step = 1;

	while (Math.floor(ns / step) >= 10000)
		step *= 10;
	const rounded = Math.floor((ns + Math.floor(step / 2)) / step) * step;
	for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
		const whole = Math.floor(rounded / unit);

		if (whole === 0)
			continue;
		const digits = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
		const part = Math.floor(rounded % unit * 10 ** digits / unit);
		return digits ? `${whole}.${String(part).padStart(digits, "0")} ${name}` : `${whole} ${name}`;
	}
	return `${rounded} ns`;
}

/** As printf(3) has it: what is just between two goes to the even one. */
function formatFixed(number, digits) {
	const scaled = number * 10 ** digits, below = Math.floor(scaled);

	return scaled - below === 0.5 && below % 2 === 0 ? (below / 10 ** digits).toFixed(digits) : number.toFixed(digits);
}

function formatNumber(number, unit) {
	if (number === null)
		return NOT_MEASURED;
	switch (unit) {
	case "ns":
		return formatDuration(number);
	case "percent":
		return `${formatFixed(number, 2)} %`;
	case "rate":
		return formatFixed(number, number < 100 ? 1 : 0);
	default:
		return formatInteger(number);
	}
}

function formatSeconds(ns) {
	return `${(ns / NS_PER_S).toFixed(3)} s`;
}

/** An offset as --since and --until take a time. */
function formatWallClock(side, offset) {
	const ns = side.origin + BigInt(Math.round(offset));
	const date = new Date(Number(ns / 1000000n));

	if (Number.isNaN(date.getTime()))
		return NOT_MEASURED;
	return `${date.toISOString().slice(0, 19)}.${String(ns % 1000000000n).padStart(9, "0")}Z`;
}

// ---- elements ----

function element(name, attributes = {}, ...children) {
	return fill(document.createElement(name), attributes, children);
}

function svgElement(name, attributes = {}, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** Texts become text nodes. */
function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function")
			node.addEventListener(name, value);
		else if (value !== null && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	}
	node.append(...children.filter((child) => child !== null));
	return node;
}

const byId = (id) => document.getElementById(id);

function numberCell(field, number, unit) {
	const exact = unit === "ns" && number !== null ? `${formatInteger(number)} ns` : null;

	return element("td", { "data-field": field, "data-value": number, title: exact },
		formatNumber(number, unit));
}

/** A head whose columns sort; sorting = { field, isAscending }, changed in place. */
function sortableHead(columns, sorting, onChange) {
	const heads = columns.map(({ field, title, unit }) => {
		const isCurrent = sorting.field === field;
		const sort = () => {
			sorting.isAscending = isCurrent ? !sorting.isAscending : !unit;
			sorting.field = field;
			onChange();
			// The head was made anew: whoever came by keyboard stays where he was.
			document.querySelector(`[data-sorts="${onChange.name} ${field}"]`)?.focus();
		};

		return element("th", { scope: "col", "data-field": field, "data-unit": unit ?? null,
			class: unit ? null : "text",
			"aria-sort": isCurrent && (sorting.isAscending ? "ascending" : "descending") },
			element("button", { type: "button", click: sort, "data-sorts": `${onChange.name} ${field}` },
				title, isCurrent ? (sorting.isAscending ? " ▴" : " ▾") : ""));
	});

	return element("thead", {}, element("tr", {}, ...heads));
}

/** Not measured is last, whichever way. */
function compareBy(valueOf, isAscending) {
	const sign = isAscending ? 1 : -1;

	return (a, b) => {
		const first = valueOf(a), second = valueOf(b);

		if (first === null || second === null)
			return (first === null) - (second === null);
		return sign * (first < second ? -1 : first > second ? 1 : 0);
	};
}

// ---- series: colours, numbers, patterns ----

const SERIES_MAX = 7;
const SERIES_OTHER = { name: "other", title: "others", number: "" };
const SERIES_NONE = { name: "none", title: "unattributed", number: "" };
const SERIES_OVERFLOW = { name: "overflow", title: "overflow", number: "" };

/** The dearest groups of the whole recording: they keep their colours in each selection. */
function chooseSeries(figures) {
	const rows = [...figures.groups.entries(), ...(figures.withoutKey.costs.records ?
		[[0, figures.withoutKey]] : [])];
	const series = new Map();

	rows.sort(([, a], [, b]) => b.costs.cpu - a.costs.cpu);
	rows.slice(0, SERIES_MAX).forEach(([group, row], index) => {
		series.set(group, { name: String(index + 1), title: row.label, number: String(index + 1) });
	});
	return series;
}

function swatch(className, number = null) {
	return svgElement("svg", { class: "swatch", viewBox: "0 0 18 14", "aria-hidden": "true" },
		svgElement("rect", { width: 18, height: 14, class: className }),
		number === null ? null : svgElement("text", { x: 9, y: 11 }, number));
}

function swatchOf(series) {
	return swatch(`series-${series.name}`, series.number);
}

function pattern(id, className, ...marks) {
	return svgElement("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
		svgElement("rect", { width: 6, height: 6, class: `${className}-ground` }), ...marks);
}

/** Once in the page; what is filled with them is anywhere in it. */
function addPatterns() {
	const line = (d, name) => svgElement("path", { d, class: `${name}-line` });

	document.body.append(svgElement("svg", { width: 0, height: 0, class: "aside", "aria-hidden": "true" },
		svgElement("defs", {},
			pattern("hatch", "pattern", line("M-1 5L5 -1M1 7L7 1", "pattern")),
			pattern("dots", "pattern", svgElement("circle", { cx: 3, cy: 3, r: 1.6, class: "pattern-dot" })),
			pattern("waiting", "waiting", line("M-1 5L5 -1M1 7L7 1", "waiting")),
			pattern("uninterruptible", "uninterruptible", line("M-1 1L5 7M1 -1L7 5", "uninterruptible")))));
}

// ---- axes ----

/** Round values up to a maximum, about so many. */
function ticks(maximum, count) {
	const rough = maximum / count;
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
	const values = [];

	for (let i = 0; i * step <= maximum * 1.0001; i++)
		values.push(i * step);
	return values;
}

function plain(number) {
	return String(Number(number.toPrecision(6)));
}

// ---- the chart over time ----

const TIME_HEIGHT = 230, TIME_LEFT = 44, TIME_BOTTOM = 22, TIME_TOP = 8;

/** Per series, per window: the cost. What it is of is the selected group, of all time. */
class SeriesSums {
	constructor(side, group, metric, series, withUnattributed) {
		this.side = side;
		this.column = side.cells[metric];
		this.series = series;
		this.withUnattributed = withUnattributed;
		this.sums = new Map();
		walk(side, { from: 0, to: side.timeCount - 1, group }, this);
	}

	charge(cell, group) {
		const part = this.side.cells.part[cell];

		if (part !== 0 && !this.withUnattributed)
			return;
		const series = part === MEANING.parts.unattributed ? SERIES_NONE :
			part === MEANING.parts.overflow ? SERIES_OVERFLOW : this.series.get(group) ?? SERIES_OTHER;
		if (!this.sums.has(series))
			this.sums.set(series, new Float64Array(this.side.timeCount));
		this.sums.get(series)[this.side.cells.time[cell]] += this.column[cell];
	}

	settle() {}

	/** From the bottom up: groups by their number, the others, nobody. */
	ordered() {
		const order = [...this.series.values(), SERIES_OTHER, SERIES_OVERFLOW, SERIES_NONE];

		return order.filter((series) => this.sums.has(series))
			.map((series) => ({ series, sums: this.sums.get(series) }));
	}
}

class TimeChart {
	constructor(box, legend, onSelect) {
		this.box = box;
		this.legend = legend;
		this.onSelect = onSelect;
		this.cursor = 0;
		this.anchor = null;
		this.tip = element("div", { class: "tip", hidden: true });
		new ResizeObserver(() => this.side && this.draw()).observe(box);
	}

	show(side, selection, series, metric, withUnattributed) {
		this.side = side;
		this.selection = selection;
		this.metric = metric;
		this.bands = new SeriesSums(side, selection.group, metric, series, withUnattributed).ordered();
		this.cursor = Math.min(this.cursor, side.timeCount - 1);
		this.draw();
		this.showLegend();
	}

	/** A window is drawn from the end of the one before it, or its own start. */
	begin(time) {
		const { start, end } = this.side.times;

		return time > 0 ? Math.max(Math.min(start[time], end[time]), end[time - 1]) : start[time];
	}

	/** What it is over a window, as if it was the same all through it: CPUs that are busy. */
	level(sums, time) {
		const length = this.side.times.end[time] - this.begin(time);

		return length > 0 ? sums[time] / length : 0;
	}

	draw() {
		const { times, timeCount } = this.side;
		const hadFocus = this.svg && this.svg === document.activeElement;

		this.width = Math.max(this.box.clientWidth, 200);
		this.end = timeCount > 0 ? Math.max(times.end[timeCount - 1], 1) : 1;
		this.tops = this.bands.map(() => new Float64Array(timeCount));
		this.highest = this.stack();
		this.svg = svgElement("svg", { viewBox: `0 0 ${this.width} ${TIME_HEIGHT}`, height: TIME_HEIGHT,
			tabindex: 0, role: "slider", "aria-labelledby": "time-title", "aria-describedby": "time-hint",
			"aria-valuemin": 1, "aria-valuemax": Math.max(timeCount, 1),
			pointerdown: (event) => this.press(event), pointermove: (event) => this.hover(event),
			pointerup: (event) => this.release(event), pointerleave: () => this.leave(),
			keydown: (event) => this.key(event), focus: () => this.moveTo(this.cursor), blur: () => this.leave() },
			...this.axes(), ...this.bands.map((band, index) => this.band(index)),
			...this.numbers());
		this.marks = svgElement("g");
		this.svg.append(this.marks);
		this.box.replaceChildren(this.svg, this.tip);
		this.mark();
		this.describe();
		if (hadFocus)
			this.svg.focus();
	}

	stack() {
		const sum = new Float64Array(this.side.timeCount);
		let highest = 0;

		this.bands.forEach(({ sums }, index) => {
			for (let time = 0; time < sum.length; time++) {
				sum[time] += this.level(sums, time);
				this.tops[index][time] = sum[time];
				highest = Math.max(highest, sum[time]);
			}
		});
		return highest > 0 ? highest : 1;
	}

	x(offset) {
		return TIME_LEFT + (this.width - TIME_LEFT - 8) * Math.min(Math.max(offset / this.end, 0), 1);
	}

	y(level) {
		return TIME_HEIGHT - TIME_BOTTOM - (TIME_HEIGHT - TIME_BOTTOM - TIME_TOP) * level / this.highest;
	}

	axes() {
		const bottom = this.y(0);
		const levels = ticks(this.highest, 4).flatMap((level) => [
			svgElement("line", { class: "grid", x1: TIME_LEFT, x2: this.width - 8, y1: this.y(level), y2: this.y(level) }),
			svgElement("text", { x: TIME_LEFT - 6, y: this.y(level) + 4, "text-anchor": "end" }, plain(level))]);
		const seconds = ticks(this.end / NS_PER_S, Math.max(Math.floor(this.width / 110), 2)).map((second) =>
			svgElement("text", { x: this.x(second * NS_PER_S), y: bottom + 16, "text-anchor": "middle" }, `${plain(second)} s`));

		return [...levels, ...seconds,
			svgElement("line", { class: "axis", x1: TIME_LEFT, x2: this.width - 8, y1: bottom, y2: bottom })];
	}

	/** Steps: along the tops there, along those of the band below it back. */
	band(index) {
		const { timeCount, times } = this.side;
		const below = index > 0 ? this.tops[index - 1] : new Float64Array(timeCount);
		const path = [];

		for (let time = 0; time < timeCount; time++) {
			const left = this.x(this.begin(time)), right = this.x(times.end[time]);
			const top = this.y(this.tops[index][time]), bottom = this.y(below[time]);

			if (bottom - top > 0.01)
				path.push(`M${left.toFixed(1)} ${bottom.toFixed(1)}V${top.toFixed(1)}` +
					`H${right.toFixed(1)}V${bottom.toFixed(1)}Z`);
		}
		return svgElement("path", { class: `series-${this.bands[index].series.name}`, d: path.join("") });
	}

	/** Each band's number, where it is thickest, if there is room for it. */
	numbers() {
		return this.bands.map(({ series, sums }, index) => {
			let best = -1, height = 0;

			for (let time = 0; time < sums.length; time++) {
				const thick = this.y(0) - this.y(this.level(sums, time));

				if (thick > height)
					[best, height] = [time, thick];
			}
			if (height < 14 || series.number === "")
				return null;
			return svgElement("text", { class: "band-number",
				x: (this.x(this.begin(best)) + this.x(this.side.times.end[best])) / 2,
				y: this.y(this.tops[index][best]) + height / 2 + 4 }, series.number);
		}).filter((number) => number !== null);
	}

	/** What is selected, and where the cursor is. */
	mark() {
		const { selection, side } = this;
		const marks = [];
		const span = this.dragged ?? selection;

		if (side.timeCount > 0 && (this.dragged || !isAllTime(side, selection))) {
			const left = this.x(this.begin(span.from)), right = this.x(side.times.end[span.to]);

			marks.push(svgElement("rect", { class: "selected", x: left, y: TIME_TOP,
				width: Math.max(right - left, 2), height: this.y(0) - TIME_TOP }));
		}
		if (!this.tip.hidden) {
			const x = (this.x(this.begin(this.cursor)) + this.x(side.times.end[this.cursor])) / 2;

			marks.push(svgElement("line", { class: "cursor", x1: x, x2: x, y1: TIME_TOP, y2: this.y(0) }));
		}
		this.marks.replaceChildren(...marks);
	}

	/** The window at the cursor, for those who see it and those who hear it. */
	describe() {
		const { side, cursor } = this;

		if (side.timeCount === 0)
			return;
		const span = `${formatSeconds(this.begin(cursor))} to ${formatSeconds(side.times.end[cursor])}`;
		const values = this.bands.map(({ series, sums }) => [series, sums[cursor]])
			.filter(([, value]) => value > 0).reverse();
		this.svg.setAttribute("aria-valuenow", cursor + 1);
		this.svg.setAttribute("aria-valuetext", `window ${cursor + 1} of ${side.timeCount}, ${span}: ` +
			values.map(([series, value]) => `${series.title} ${formatDuration(value)}`).join(", "));
		this.tip.replaceChildren(element("div", {}, span), element("table", {}, element("tbody", {},
			...values.map(([series, value]) => element("tr", {}, element("td", {}, swatchOf(series)),
				element("th", { scope: "row" }, series.title), element("td", {}, formatDuration(value)))))));
	}

	moveTo(cursor) {
		if (this.side.timeCount === 0)
			return;
		this.cursor = Math.min(Math.max(cursor, 0), this.side.timeCount - 1);
		this.tip.hidden = false;
		this.describe();
		this.mark();
		const x = this.x(this.side.times.end[this.cursor]);
		const isRight = x > this.width / 2;
		this.tip.style.left = isRight ? "" : `${x + 12}px`;
		this.tip.style.right = isRight ? `${this.width - this.x(this.begin(this.cursor)) + 12}px` : "";
	}

	timeAt(event) {
		const box = this.svg.getBoundingClientRect();
		const x = (event.clientX - box.left) * this.width / box.width;
		const ends = this.side.times.end;
		let time = 0;

		while (time < ends.length - 1 && this.x(ends[time]) < x)
			time++;
		return time;
	}

	press(event) {
		if (event.button !== 0 || this.side.timeCount === 0)
			return;
		this.svg.setPointerCapture(event.pointerId);
		this.anchor = this.timeAt(event);
		this.dragged = { from: this.anchor, to: this.anchor };
		this.moveTo(this.anchor);
	}

	hover(event) {
		if (this.side.timeCount === 0)
			return;
		const time = this.timeAt(event);

		if (this.dragged)
			this.dragged = { from: Math.min(this.anchor, time), to: Math.max(this.anchor, time) };
		this.moveTo(time);
	}

	release() {
		const { dragged } = this;

		this.dragged = null;
		this.anchor = null;
		if (dragged)
			this.onSelect(dragged.from, dragged.to);
	}

	leave() {
		if (this.dragged)
			return;
		this.anchor = null;
		this.tip.hidden = true;
		this.mark();
	}

	key(event) {
		const last = this.side.timeCount - 1;
		const page = Math.max(Math.round(last / 10), 1);
		const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page,
			Home: -last, End: last };

		if (last < 0 || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key in moves)
			this.moveByKey(this.cursor + moves[event.key], event.shiftKey);
		else if (event.key === "Enter" || event.key === " ")
			this.onSelect(this.cursor, this.cursor);
		else if (event.key === "Escape")
			this.onSelect(0, last);
		else
			return;
		event.preventDefault();
	}

	moveByKey(cursor, isSelecting) {
		if (isSelecting)
			this.anchor ??= this.cursor;
		const { anchor } = this;
		this.moveTo(cursor);
		if (isSelecting)
			this.onSelect(Math.min(anchor, this.cursor), Math.max(anchor, this.cursor));
		this.anchor = isSelecting ? anchor : null;
		if (isSelecting)
			this.moveTo(this.cursor);
	}

	showLegend() {
		this.legend.replaceChildren(...this.bands.map(({ series }) =>
			element("li", {}, swatchOf(series), series.title)));
	}
}

// ---- distributions ----

const BIN_HEIGHT = 185, BIN_LEFT = 44, BIN_BOTTOM = 22, BIN_TOP = 46;
const LABEL_HEIGHT = 14;
const BINS_A_DOUBLING = 4;

/** Bins of equal width on a logarithmic scale. */
function binsOf(histogram) {
	const bins = new Map();

	histogram.forEach((begin, width, count) => {
		const bin = Math.floor(Math.log2(begin + width / 2 + 0.5) * BINS_A_DOUBLING);

		bins.set(bin, (bins.get(bin) ?? 0) + count);
	});
	return bins;
}

function drawDistribution(box, title, histogram) {
	const bins = binsOf(histogram);
	const heading = element("h3", {}, title);

	if (bins.size === 0) {
		box.replaceChildren(heading, element("p", { class: "hint" }, "No requests, or not measured."));
		return;
	}
	const scale = distributionScale(box, bins);
	const marks = [50, 90, 99].map((percent) => [percent, histogram.percentile(percent)]);
	const text = `${title}: ` + marks.map(([percent, value]) => `p${percent} ${formatDuration(value)}`).join(", ");
	box.replaceChildren(heading, svgElement("svg", { viewBox: `0 0 ${scale.width} ${BIN_HEIGHT}`,
		height: BIN_HEIGHT, role: "img", "aria-label": text },
		...distributionAxes(scale), ...distributionBars(scale, bins), ...distributionMarks(scale, marks)),
		distributionTable(bins));
}

function distributionScale(box, bins) {
	const least = Math.min(...bins.keys()) - 1, most = Math.max(...bins.keys()) + 2;
	const width = Math.max(box.clientWidth, 200), highest = Math.max(...bins.values());

	return { least, most, width, highest,
		x: (bin) => BIN_LEFT + (width - BIN_LEFT - 8) * (bin - least) / (most - least),
		y: (count) => BIN_HEIGHT - BIN_BOTTOM - (BIN_HEIGHT - BIN_BOTTOM - BIN_TOP) * count / highest };
}

function distributionAxes(scale) {
	const axes = [svgElement("line", { class: "axis", x1: BIN_LEFT, x2: scale.width - 8, y1: scale.y(0), y2: scale.y(0) })];

	for (const count of ticks(scale.highest, 3))
		axes.push(svgElement("line", { class: "grid", x1: BIN_LEFT, x2: scale.width - 8, y1: scale.y(count), y2: scale.y(count) }),
			svgElement("text", { x: BIN_LEFT - 6, y: scale.y(count) + 4, "text-anchor": "end" }, plain(count)));
	for (let power = 0; power < 18; power++) {
		const bin = Math.log2(10 ** power) * BINS_A_DOUBLING;

		if (bin >= scale.least && bin <= scale.most)
			axes.push(svgElement("text", { x: scale.x(bin), y: BIN_HEIGHT - 6, "text-anchor": "middle" },
				formatDuration(10 ** power).replace(/\.0+ /, " ")));
	}
	return axes;
}

function distributionBars(scale, bins) {
	return [...bins].map(([bin, count]) => svgElement("rect", { class: "bin", x: scale.x(bin) + 0.5,
		width: Math.max(scale.x(bin + 1) - scale.x(bin) - 1, 1), y: scale.y(count), height: scale.y(0) - scale.y(count) }));
}

/** Each label on a line of its own: they may be close. */
function distributionMarks(scale, marks) {
	const places = marks.map(([percent, value], index) => ({ text: `p${percent} ${formatDuration(value)}`,
		x: scale.x(Math.log2(value + 0.5) * BINS_A_DOUBLING), y: LABEL_HEIGHT * index + 11 }));
	const isLast = (x) => x > scale.width - 100;

	return [...places.map(({ x, y }) => svgElement("line", { class: "mark", x1: x, x2: x, y1: y - 9, y2: scale.y(0) })),
		...places.map(({ text, x, y }) => svgElement("text", { class: "mark-label", x: isLast(x) ? x - 4 : x + 4, y,
			"text-anchor": isLast(x) ? "end" : "start" }, text))];
}

function distributionTable(bins) {
	const edge = (bin) => formatDuration(Math.round(2 ** (bin / BINS_A_DOUBLING)));
	const rows = [...bins].sort(([a], [b]) => a - b).map(([bin, count]) =>
		element("tr", {}, element("th", { scope: "row" }, `${edge(bin)} to ${edge(bin + 1)}`),
			element("td", {}, formatInteger(count))));

	return element("details", {}, element("summary", {}, "as a table"), element("table", {},
		element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "about"),
			element("th", { scope: "col" }, "requests"))), element("tbody", {}, ...rows)));
}

// ---- the story of a request ----

const LANE_HEIGHT = 24, LANE_LEFT_MAX = 190, LANE_TOP = 6, LETTER_WIDTH = 6.6, LANES_MAX = 256;

/** What a request did, by the slices that were recorded of it: [{ thread, fiber, state, start, span, title }]. */
function slicesOf(side, request) {
	const { slices, sliceBegin } = side;
	const pieces = [];
	let start = 0;

	for (let slice = sliceBegin[request]; slice < sliceBegin[request + 1]; slice++) {
		start += slices.start[slice];
		const state = slices.state[slice], span = slices.span[slice];
		const cpu = slices.cpu[slice] > 0 ? ` on CPU ${slices.cpu[slice] - 1}` : "";
		const waker = slices.woken_by[slice] > 0 ? `, woken by thread ${slices.woken_by[slice]}` : "";

		pieces.push({ thread: slices.thread[slice], fiber: slices.fiber[slice], state, start, span,
			title: `${MEANING.states[state].title}${cpu} ${formatDuration(span)}${waker}` });
	}
	return pieces;
}

/** Without slices: in each window how much of each there was, and not in which order. */
function sharesOf(side, cellsOfRequest) {
	const { cells } = side;
	const pieces = [];

	for (const cell of cellsOfRequest) {
		const uninterruptible = cells.uninterruptible[cell];
		const parts = { running: cells.cpu[cell], run_queue: cells.run_queue[cell],
			blocked: Math.max(cells.blocked[cell] - uninterruptible, 0), uninterruptible };
		const whole = Object.values(parts).reduce((a, b) => a + b, 0), span = cells.span[cell];
		let start = cells.first[cell];

		MEANING.states.forEach(({ name, title }, state) => {
			const part = parts[name];
			const length = whole > 0 ? span * part / whole : 0;

			if (part > 0)
				pieces.push({ thread: cells.thread[cell], fiber: 0, state, start, span: length,
					title: `${title} ${formatDuration(part)} in this window` });
			start += length;
		});
	}
	return pieces;
}

function selectedCells(side, selection, request) {
	const found = [];

	walkRequest(side, selection, request,
		{ charge() {}, settle: (_, chosen) => found.push(...chosen.map(({ cell }) => cell)) });
	return found;
}

function storyOf(side, selection, { request, costs }, width) {
	const cells = selectedCells(side, selection, request);
	const slices = slicesOf(side, request);
	const pieces = slices.length > 0 ? slices : sharesOf(side, cells);
	const note = slices.length > 0 ? "Each slice as it was recorded." :
		"By window: how long each state took in all, not in which order (record --timeline says it to the microsecond).";

	const lanes = lanesOf(side, pieces), more = lanes.names.length - LANES_MAX;

	return element("div", {}, laneLegend(), drawLanes(lanes, pieces, costs, width),
		element("p", { class: "hint" }, more > 0 ? `${note} ${formatInteger(more)} more fibers and threads are not drawn.` : note),
		storyTable(side, cells));
}

function laneLegend() {
	return element("ul", { class: "legend" }, ...MEANING.states.map(({ name, title }) => element("li", {},
		swatch(`state-${name}`), title)));
}

/**
 * The lanes of pieces, one a thread, or one for each fiber of a thread that has several, of none first: their
 * names, and of a piece the number of its own.
 */
function lanesOf(side, pieces) {
	const fibers = new Map();

	for (const { thread, fiber } of pieces)
		fibers.set(thread, (fibers.get(thread) ?? new Set()).add(fiber));
	const hasSeveral = (thread) => fibers.get(thread).size - Number(fibers.get(thread).has(0)) > 1;
	const lanes = [...fibers].flatMap(([thread, numbers]) => hasSeveral(thread) ?
		[...numbers].sort((a, b) => a - b).map((fiber) => ({ thread, fiber })) : [{ thread, fiber: 0 }]);
	const key = ({ thread, fiber }) => `${thread} ${hasSeveral(thread) ? fiber : 0}`;
	const numbers = new Map(lanes.map((lane, number) => [key(lane), number]));

	return { names: lanes.map((lane) => nameLane(side, lane)), numberOf: (piece) => numbers.get(key(piece)) };
}

/** "4242/4250 puma srv tp 001", "4242/4250 fiber 3" */
function nameLane(side, { thread, fiber }) {
	const name = side.threads[thread];

	return fiber > 0 ? `${name.replace(/^(.*?\d+\/\d+) .*$/s, "$1")} fiber ${fiber}` : name;
}

function drawLanes(lanes, pieces, costs, width) {
	const shown = lanes.names.slice(0, LANES_MAX);
	const last = pieces.reduce((end, { start, span }) => Math.max(end, start + span), costs.last);
	const first = Math.min(costs.first, ...pieces.slice(0, 1).map(({ start }) => start));
	const length = Math.max(last - first, 1), height = shown.length * LANE_HEIGHT + LANE_TOP + 24;
	const left = Math.min(LANE_LEFT_MAX, width / 4), letters = Math.floor(left / LETTER_WIDTH);
	const x = (offset) => left + (width - left - 30) * (offset - first) / length;
	const y = (lane) => LANE_TOP + lane * LANE_HEIGHT;
	const names = shown.map((name, lane) => svgElement("text", { x: 0, y: y(lane) + 14 }, shorten(name, letters)));
	const bars = pieces.filter((piece) => lanes.numberOf(piece) < LANES_MAX).map((piece) => {
		const { start, span, title } = piece;
		const { name } = MEANING.states[piece.state];
		const isThin = name === "blocked";

		return svgElement("rect", { class: `state-${name}`, x: x(start).toFixed(2),
			y: y(lanes.numberOf(piece)) + (isThin ? 7 : 2), height: isThin ? 6 : 16,
			width: Math.max(x(start + span) - x(start), 0.7).toFixed(2) }, svgElement("title", {}, title));
	});
	const axis = ticks(length, Math.max(Math.floor(width / 160), 2)).map((offset) => svgElement("text",
		{ x: x(first + offset), y: height - 6, "text-anchor": "middle" }, `+${formatDuration(Math.round(offset))}`));

	return svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
		"aria-label": `${lanes.names.length} lanes over ${formatDuration(length)}; the table below has the figures` },
		...names, ...bars, ...axis);
}

function shorten(text, length) {
	return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function storyTable(side, cellsOfRequest) {
	const { cells } = side;
	const fields = MEANING.views.story;
	const rows = cellsOfRequest.map((cell) => {
		const has = (field) => !lacks(cells.missing[cell], field);

		return element("tr", {},
			element("td", { class: "text" }, formatSeconds(cells.first[cell])),
			element("td", { class: "text" }, side.threads[cells.thread[cell]] || NOT_MEASURED),
			element("td", { class: "text" }, side.groups[cells.group[cell]] || NOT_MEASURED),
			numberCell("span", cells.span[cell], "ns"),
			...fields.map((field) => numberCell(field, has(field) ? cells[field][cell] : null,
				MEANING.figures[field].unit)),
			element("td", { class: "text" }, has("blocked_other") ? reasonsOf(cells, cell) : NOT_MEASURED));
	});
	const heads = ["at", "thread", side.by, "active for", ...fields.map(titleOf), "blocked on"];

	return element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((title, index) =>
		element("th", { scope: "col", class: index < 3 || index === heads.length - 1 ? "text" : null }, title)))),
		element("tbody", {}, ...rows));
}

/** "network 40.21 ms, futex 3.120 ms" */
function reasonsOf(cells, cell) {
	return MEANING.views.cells.filter((name) => name.startsWith("blocked_") && cells[name][cell] > 0)
		.map((name) => `${name.slice("blocked_".length)} ${formatDuration(cells[name][cell])}`).join(", ");
}

// ---- code: samples of stacks, laid over exact CPU, and waits (correlator/reader/profile/stacks.c, stack_tree.c) ----

const OF_CPU = 0, OF_WAITS = 1; // enum stacks_measure
const OF_BOTH = 2;

/**
 * What was spent is of which samples: of each request and group its own, and of what ran in none that of its
 * part and group. Returns { request, spent, samples: their indices, pool, window: its last one } of each; request is
 * null for what ran in none.
 */
function contextsOf(figures, measure) {
	const { side, selection } = figures;
	const { samples, sampleBegin } = side.code;
	const isWanted = (sample) => samples.measure[sample] === measure && isInTime(selection, samples.time[sample]);
	const chosen = (begin, end) => Array.from({ length: end - begin }, (_, index) => begin + index).filter(isWanted);
	const contexts = figures.requests.flatMap(({ request }) =>
		contextsOfRequest(figures, request, chosen(sampleBegin[request], sampleBegin[request + 1]), measure));

	return [...contexts, ...contextsOfNobody(figures, measure, chosen)];
}

/** A sample without a group has that of its request's last cell before it. Both are by time. */
function contextsOfRequest({ side, selection }, request, indices, measure) {
	const { cells, code: { samples } } = side;
	const lent = lendGroups(side, selection, request);
	const contexts = new Map();
	let at = 0;

	for (const { cell, group } of lent)
		if (isOfGroup(selection, group)) {
			if (!contexts.has(group))
				contexts.set(group, { request, spent: 0, samples: [], pool: `request ${group}`, window: 0 });
			const context = contexts.get(group);

			context.spent += spentIn(cells, cell, measure);
			context.window = Math.max(context.window, cells.time[cell]);
		}
	for (const index of indices) {
		if (samples.time[index] < cells.time[lent[at].cell])
			at = 0;
		while (at + 1 < lent.length && cells.time[lent[at + 1].cell] <= samples.time[index])
			at++;
		contexts.get(samples.group[index] || lent[at].group)?.samples.push(index);
	}
	return [...contexts.values()];
}

function spentIn(cells, cell, measure) {
	return measure === OF_CPU ? cells.cpu[cell] : cells.run_queue[cell] + cells.blocked[cell];
}

function contextsOfNobody({ side, selection }, measure, chosen) {
	const { cells, cellBegin } = side;
	const { samples, sampleBegin, count } = side.code;
	const nobody = side.ids.length;
	const contexts = new Map();
	const provide = (part, group) => {
		const key = `${part} ${group}`;

		if (!contexts.has(key))
			contexts.set(key, { request: null, spent: 0, samples: [], pool: key, window: 0 });
		return contexts.get(key);
	};

	for (let cell = cellBegin[nobody]; cell < side.cellCount; cell++)
		if (isInTime(selection, cells.time[cell]) && (selection.group === 0 || selection.group === cells.group[cell]))
			provide(cells.part[cell], cells.group[cell]).spent += spentIn(cells, cell, measure);
	for (const sample of chosen(sampleBegin[nobody], count))
		if (selection.group === 0 || selection.group === samples.group[sample])
			provide(samples.part[sample], samples.group[sample]).samples.push(sample);
	return contexts.values();
}

/** Of the samples of a context one for each stack: { frame, standsFor, samples, spent }. */
function weigh(indices, samples) {
	const weights = new Map();

	for (const index of indices) {
		const frame = samples.frame[index];
		const weight = weights.get(frame) ?? { frame, standsFor: 0n, samples: 0, spent: 0 };

		weight.standsFor += BigInt(samples.stands_for[index]);
		weight.samples += samples.samples[index];
		weights.set(frame, weight);
	}
	return [...weights.values()];
}

const sumOf = (list, of) => list.reduce((sum, item) => sum + of(item), 0);
const standsForOf = (weights) => weights.reduce((sum, { standsFor }) => sum + standsFor, 0n);

/** Each stack's part is what the ones up to it have, less what those before it have. */
function distribute(spent, weights) {
	const all = standsForOf(weights);
	let before = 0n, given = 0;

	for (const weight of [...weights].sort((a, b) => a.frame - b.frame)) {
		before += weight.standsFor;
		const until = before === all ? spent : Number(BigInt(spent) * before / all);

		weight.spent += until - given;
		given = until;
	}
}

const LONG_SAMPLES = 8n; // STACKS_SPREAD_LONG_SAMPLES

/**
 * The chosen contexts, by the rule of stacks_spread.h: a long one by its own samples; the short ones of an endpoint by
 * those of the first circle that is long together: theirs, all of their window, all; else by those of long ones.
 */
function spreadContexts(contexts) {
	const weights = contexts.flatMap((context) => context.weights);
	const samples = sumOf(weights, (weight) => weight.samples);
	const longAt = LONG_SAMPLES * (standsForOf(weights) / BigInt(samples || 1));
	const isLong = (context) => context.weights.length > 0 && BigInt(context.spent) >= longAt;

	const pools = new Map();

	for (const context of contexts)
		if (!pools.get(context.pool)?.push(context))
			pools.set(context.pool, [context]);
	for (const pool of pools.values())
		spreadPool(pool.filter(isLong), pool.filter((context) => !isLong(context)), longAt);
}

function spreadPool(long, short, longAt) {
	let waiting = short.filter(({ isChosen }) => isChosen);
	const borrow = (lenders, least, isBorrower = () => true) => {
		const borrowers = waiting.filter(isBorrower), shared = lenders.flatMap((lender) => lender.weights);

		if (borrowers.length === 0 || shared.length === 0 || sumOf(lenders, (lender) => lender.spent) < least)
			return;
		distribute(sumOf(borrowers, (context) => context.spent), shared);
		for (const lender of lenders)
			lender.isLending = true;
		for (const borrower of borrowers)
			borrower.isLent = lenders.some(({ isChosen, weights }) => !isChosen && weights.length > 0);
		waiting = waiting.filter((context) => !isBorrower(context));
	};

	for (const context of long.filter(({ isChosen }) => isChosen))
		distribute(context.spent, context.weights);
	borrow(waiting, longAt);
	for (const window of new Set(waiting.map((context) => context.window))) {
		const isOfWindow = (context) => context.window === window;

		borrow(short.filter(isOfWindow), longAt, isOfWindow);
	}
	borrow(short, 0n);
	borrow(long, 0n);
	for (const context of waiting)
		context.unknown = context.spent;
}

/** Waits have their own time: what they do not tell of is in no stack. */
function takeWaits(contexts) {
	for (const context of contexts.filter(({ isChosen }) => isChosen)) {
		const told = Math.min(context.spent, Number(standsForOf(context.weights)));

		distribute(told, context.weights);
		context.unknown = context.spent - told;
	}
}

/** children: a Map by method, a list when the tree is sorted. */
function newNode(frame, parent, depth) {
	return { frame, parent, children: new Map(), total: 0, self: 0, samples: 0, depth };
}

/** Each before those below it. */
function nodesBelow(root) {
	const nodes = [root];

	for (const node of nodes)
		nodes.push(...node.children.values());
	return nodes;
}

function sortTree(root) {
	for (const node of nodesBelow(root))
		node.children = [...node.children.values()].sort((a, b) => b.total - a.total);
	return root;
}

/** What the selection used in each stack, or waited, or both; requests: a Set of those that count, null: all of it. */
class Code {
	constructor(figures, measure, requests = null) {
		const { frames } = figures.side.code;

		this.side = figures.side;
		this.measure = measure;
		this.requests = requests?.size ?? figureOf(figures, figures.total, "requests");
		this.self = new Float64Array(frames.count + 1);
		this.samplesOf = new Float64Array(frames.count + 1);
		this.sampled = this.notSampled = this.samples = this.contexts = this.lent = this.squares = 0;
		for (const each of measure === OF_BOTH ? [OF_CPU, OF_WAITS] : [measure])
			this.take(contextsOf(figures, each), each, requests);
		this.root = this.grow();
	}

	take(contexts, measure, requests) {
		for (const context of contexts) {
			context.weights = weigh(context.samples, this.side.code.samples);
			context.unknown = 0;
			context.isChosen = requests === null || requests.has(context.request);
		}
		(measure === OF_CPU ? spreadContexts : takeWaits)(contexts);
		for (const context of contexts)
			this.add(context, measure);
	}

	add({ spent, unknown, weights, isChosen, isLending, isLent }, measure) {
		if (isChosen) {
			this.notSampled += unknown;
			this.sampled += spent - unknown;
			this.contexts += weights.length > 0 || unknown < spent ? 1 : 0;
			this.lent += isLent && spent > 0 ? 1 : 0;
		}
		for (const weight of isChosen || isLending ? weights : []) {
			this.self[weight.frame] += weight.spent;
			this.samplesOf[weight.frame] += weight.samples;
			this.samples += weight.samples;
			this.squares += measure === OF_CPU ? weight.spent ** 2 / weight.samples : 0;
		}
	}

	/** Frames of the same method with the same callers are one node. */
	grow() {
		const { frames } = this.side.code;
		const root = newNode(0, null, 0);
		const nodeOf = [root];

		const place = (frame) => {
			const path = [];

			for (; !nodeOf[frame]; frame = frames.parent[frame - 1])
				path.push(frame);
			for (const next of path.reverse()) {
				nodeOf[next] = this.childOf(nodeOf[frame], next);
				frame = next;
			}
			return nodeOf[frame];
		};

		this.self.forEach((spent, frame) => {
			if (frame === 0 || (spent === 0 && this.samplesOf[frame] === 0))
				return;
			const node = place(frame);
			node.self += spent;
			node.total += spent;
			node.samples += this.samplesOf[frame];
		});
		for (const node of nodesBelow(root).reverse())
			if (node.parent) {
				node.parent.total += node.total;
				node.parent.samples += node.samples;
			}
		return sortTree(root);
	}

	childOf(node, frame, step = 1) {
		const method = this.side.code.methods[frame];

		if (!node.children.has(method))
			node.children.set(method, newNode(frame, node, node.depth + step));
		return node.children.get(method);
	}

	/**
	 * The callers of a method above it and what it calls below it, from each stack where it is outermost: { root, callers }.
	 * Both are nodes of the method itself; those of callers have depths below 0, and the time that came through them.
	 */
	sandwich(frame) {
		const { methods } = this.side.code;
		const root = newNode(frame, null, 0), callers = newNode(frame, null, 0);
		const rest = [this.root];

		while (rest.length > 0) {
			const node = rest.pop();

			if (node.frame === 0 || methods[node.frame] !== methods[frame]) {
				rest.push(...node.children);
				continue;
			}
			this.merge(root, node);
			let caller = callers;
			for (let of = node.parent; of.frame !== 0; of = of.parent) {
				caller = this.childOf(caller, of.frame, -1);
				caller.total += node.total;
				caller.samples += node.samples;
			}
		}
		callers.total = root.total;
		return { root: sortTree(root), callers: sortTree(callers) };
	}

	merge(into, from) {
		const rest = [[into, from]];

		while (rest.length > 0) {
			const [to, node] = rest.pop();

			to.total += node.total;
			to.self += node.self;
			to.samples += node.samples;
			for (const child of node.children)
				rest.push([this.childOf(to, child.frame), child]);
		}
	}

	/** [{ frame, self, total, samples }] of each method, by what it used itself; a recursive one counts once. */
	methods() {
		const { methods } = this.side.code;
		const sums = new Map(), isInside = new Set(), rest = [...this.root.children];

		while (rest.length > 0) {
			const node = rest.pop();

			if (typeof node === "number") {
				isInside.delete(node);
				continue;
			}
			const method = methods[node.frame];
			const sum = sums.get(method) ?? { frame: node.frame, self: 0, total: 0, samples: 0 };

			sums.set(method, sum);
			sum.self += node.self;
			if (!isInside.has(method)) {
				isInside.add(method);
				sum.total += node.total;
				sum.samples += node.samples;
				rest.push(method);
			}
			rest.push(...node.children);
		}
		return [...sums.values()].sort((a, b) => b.self - a.self || b.total - a.total);
	}

	/** The standard error of a share, as stacks_error() has it; waits have none. */
	error(share) {
		if (this.measure === OF_WAITS)
			return 0;
		const count = this.squares > 0 ? this.sampled ** 2 / this.squares : 0;
		const middle = (share * count + 2) / (count + 4);

		return count > 0 ? Math.sqrt(middle * (1 - middle) / (count + 4)) : 1;
	}

	/** What a request spends there on average; of no request, what all did. */
	mean(ns) {
		return ns / (this.requests || 1);
	}

	/** Of such a mean. */
	meanError(ns) {
		return this.sampled > 0 ? this.error(ns / this.sampled) * this.mean(this.sampled) : 0;
	}

	describeShare(share) {
		return `${(100 * share).toFixed(1)} %` + (this.measure === OF_WAITS ? "" : ` ± ${(100 * this.error(share)).toFixed(1)}`);
	}
}

/** As the tool reads it: { frames, methods, samples, ... }; null: nothing was sampled. */
function readCode(data, requestCount) {
	const { code } = data;

	if (!code)
		return null;
	const frames = decodeTable(code.frames, code.frames.count);
	const numbers = new Map();
	const methods = new Uint32Array(code.frames.count + 1);

	for (let i = 0; i < code.frames.count; i++) {
		const key = [frames.name[i], frames.file[i], frames.kind[i], frames.first_line[i]].join(" ");

		if (!numbers.has(key))
			numbers.set(key, numbers.size);
		methods[i + 1] = numbers.get(key);
	}
	const samples = decodeTable(code.samples, code.samples.count);

	return {
		frames: { ...frames, count: code.frames.count },
		methods,
		texts: ["", ...code.texts],
		kinds: code.kinds,
		samples,
		count: code.samples.count,
		measures: new Set(samples.measure),
		sampleBegin: beginnings(code.samples.of_request, requestCount),
		dropped: code.dropped,
	};
}

function codeNote({ measure, sampled, notSampled, contexts, lent, samples }) {
	const exactly = (what) => `${formatDuration(sampled)} ${what}, exact, of ${formatInteger(contexts)} contexts`;
	const inNone = (title) => `${title}: ${formatDuration(notSampled)}.`;
	const stood = lent === 0 ? "" : ` ${formatInteger(lent)} of these ${lent === 1 ? "is" : "are"} too short for samples of ` +
		`${lent === 1 ? "its" : "their"} own: those of other requests of the endpoint stand for ${lent === 1 ? "it" : "them"}.`;
	const told = `${formatInteger(samples)} ${SAMPLE_TITLES[measure]}.${stood}`;

	if (contexts === 0)
		return measure === OF_CPU ? "Nothing that is selected was met by a sample." : "Nothing that is selected waited.";
	switch (measure) {
	case OF_CPU:
		return `${exactly("of CPU")}, spread over their stacks by ${told} ${inNone("Not sampled")}`;
	case OF_WAITS:
		return `${exactly("blocked or waiting for a CPU")}, in ${told} ${inNone("In no stack")}`;
	default:
		return `${exactly("of CPU, blocked and waiting for a CPU")}, in ${told} ${inNone("In no stack")}`;
	}
}

const KIND_TITLES = { ruby: "Ruby", c: "method in C", gc: "collector", native: "native", kernel: "kernel",
	unknown: "not readable", cut: "callers that are missing" };
const SAMPLE_TITLES = ["samples", "waits", "samples and waits"]; // by measure
const CHANGE_STEPS = [0, 0.01, 0.05, 0.2]; // of what a request spent in A
const CHANGE_TITLES = { "down-3": "less in B", same: "the same, as far as samples tell", "up-3": "more in B" };
const FLAME_ROW = 19, FLAME_LETTER = 6.4;

/** What a method is called in any recording. */
function identityOfFrame({ code }, frame) {
	const { name, file, first_line: firstLine, kind } = code.frames, at = frame - 1;

	return frame ? [code.texts[name[at]], code.texts[file[at]], firstLine[at], code.kinds[kind[at]]].join("\0") : "";
}

/** A and B, two Codes: how what a request spends somewhere has changed, in parts of what it spent in A. */
class Change {
	constructor(sides, index) {
		this.sides = sides;
		this.index = index; // of the one whose graph it is
	}

	/** Notes at each node of this one what the other one has there, in ns. */
	pair(root, otherRoot) {
		const other = this.sides[1 - this.index];
		const rest = [[root, otherRoot]];

		while (rest.length > 0) {
			const [node, counterpart] = rest.pop();
			const children = new Map((counterpart?.children ?? []).map((child) => [identityOfFrame(other.side, child.frame), child]));

			node.other = counterpart?.total ?? 0;
			for (const child of node.children)
				rest.push([child, children.get(identityOfFrame(this.sides[this.index].side, child.frame))]);
		}
	}

	/** The same view of the other one. */
	counterpart(view) {
		const other = this.sides[1 - this.index];

		if (view.root.frame === 0)
			return { root: other.root, callers: null };
		const wanted = identityOfFrame(this.sides[this.index].side, view.root.frame);

		for (let frame = 1; frame <= other.side.code.frames.count; frame++)
			if (identityOfFrame(other.side, frame) === wanted)
				return other.sandwich(frame);
		return { root: null, callers: null };
	}

	of(view) {
		const { root, callers } = this.counterpart(view);

		this.pair(view.root, root);
		if (view.callers)
			this.pair(view.callers, callers);
	}

	totals(node) {
		return this.index === 0 ? [node.total, node.other] : [node.other, node.total];
	}

	/** "up-3": the more, the higher; "same" where samples do not tell them apart (two errors, or a thousandth). */
	name(node) {
		const [a, b] = this.totals(node).map((total, index) => this.sides[index].mean(total));
		const errors = this.totals(node).map((total, index) => this.sides[index].meanError(total));
		const all = this.sides[0].mean(this.sides[0].sampled) || this.sides[1].mean(this.sides[1].sampled);
		const change = (b - a) / all, least = Math.max(1.96 * Math.hypot(...errors) / all, 0.001);
		const step = CHANGE_STEPS.filter((from) => Math.abs(change) >= from).length;

		return Math.abs(change) < least ? "same" : `${change > 0 ? "up" : "down"}-${step}`;
	}

	describe(node) {
		const totals = this.totals(node).map((total, index) =>
			`${"AB"[index]} ${formatDuration(Math.round(this.sides[index].mean(total)))}`);

		return `; a request on average: ${totals.join(", ")}`;
	}
}

function nameOfFrame({ code }, frame) {
	return frame ? code.texts[code.frames.name[frame - 1]] : "all of it";
}

/** " (app/models/order.rb:30)" */
function placeOfFrame({ code }, frame) {
	const file = frame ? code.texts[code.frames.file[frame - 1]] : "";
	const firstLine = frame ? code.frames.first_line[frame - 1] : 0;

	return file ? ` (${file}${firstLine ? `:${firstLine}` : ""})` : "";
}

/**
 * Callers above what they call; a frame is as wide as its time. view: { root, callers }, of all, or of one method, with
 * its callers in between; onView is told when it changes.
 */
class FlameGraph {
	constructor(box, line, onView) {
		this.box = box;
		this.line = line;
		this.onView = onView;
		this.wanted = "";
		new ResizeObserver(() => this.code && box.clientWidth !== this.width && this.draw()).observe(box);
	}

	/** change: a Change to colour it by, or null: by the kind of each frame. */
	show(code, change) {
		this.code = code;
		this.change = change;
		this.showView({ root: code.root, callers: null });
	}

	showView(view) {
		this.view = view;
		this.change?.of(view);
		this.current = this.top = view.root;
		this.draw();
		this.onView();
	}

	/** Of the frame that is current: its method, wherever it is called. */
	showMethod(frame = this.current.frame) {
		if (frame !== 0)
			this.showView(this.code.sandwich(frame));
	}

	showAll() {
		if (this.view.callers)
			this.showView({ root: this.code.root, callers: null });
		else
			this.zoom(this.view.root);
	}

	/** Marks the frames whose name or file has this text. Returns what these used, each stack once; null: no text. */
	find(text) {
		const wanted = text.toLowerCase();

		if (wanted !== this.wanted) {
			this.wanted = wanted;
			this.draw();
		}
		if (wanted === "")
			return null;
		const rest = [this.code.root], found = { total: 0, samples: 0, frame: 0 };
		let most = 0;

		while (rest.length > 0) {
			const node = rest.pop();

			if (!this.isFound(node)) {
				rest.push(...node.children);
				continue;
			}
			found.total += node.total;
			found.samples += node.samples;
			if (node.total > most) {
				most = node.total;
				found.frame = node.frame;
			}
		}
		return found;
	}

	isFound({ frame }) {
		const text = () => nameOfFrame(this.code.side, frame) + placeOfFrame(this.code.side, frame);

		return this.wanted !== "" && frame !== 0 && text().toLowerCase().includes(this.wanted);
	}

	colourOf(node) {
		const { code } = this.code.side;

		if (this.change)
			return `change-${this.change.name(node)}`;
		return node.frame ? `kind-${code.kinds[code.frames.kind[node.frame - 1]]}` : "kind-all";
	}

	describe(node) {
		const { side, sampled, measure } = this.code;
		const share = sampled > 0 ? node.total / sampled : 0;

		return `${nameOfFrame(side, node.frame)}${placeOfFrame(side, node.frame)}: ${this.code.describeShare(share)}` +
			`, ${formatDuration(node.total)} in ${formatInteger(node.samples)} ${SAMPLE_TITLES[measure]}` +
			(node.depth < 0 ? " that came this way" : `; itself ${formatDuration(node.self)}`) + (this.change?.describe(node) ?? "");
	}

	/** [{ node, x, width }] of what is a pixel wide: what led to the one at the top, and what it called. */
	layout() {
		const placed = [];

		for (let node = this.top.parent; node; node = node.parent)
			placed.unshift({ node, x: 0, width: this.width });
		if (this.view.callers && this.top === this.view.root)
			placed.push(...this.spread(this.view.callers).slice(1));
		return [...placed, ...this.spread(this.top)];
	}

	spread(top) {
		const placed = [], rest = [{ node: top, x: 0, width: this.width }];

		while (rest.length > 0) {
			const { node, x, width } = rest.pop();
			let at = x;

			placed.push({ node, x, width });
			for (const child of node.children) {
				const part = node.total > 0 ? width * child.total / node.total : 0;

				if (part >= 1)
					rest.push({ node: child, x: at, width: part });
				at += part;
			}
		}
		return placed;
	}

	draw() {
		const hadFocus = this.svg && this.svg === document.activeElement;

		this.width = Math.max(this.box.clientWidth, 200);
		this.placed = new Map(this.layout().map((place) => [place.node, place]));
		const depths = [...this.placed.keys()].map(({ depth }) => depth);
		this.highest = depths.reduce((least, depth) => Math.min(least, depth), 0);
		const height = FLAME_ROW * (1 + depths.reduce((most, depth) => Math.max(most, depth), 0) - this.highest);
		this.svg = svgElement("svg", { viewBox: `0 0 ${this.width} ${height}`, height, tabindex: 0,
			class: this.wanted !== "" && "finding",
			role: "img", "aria-labelledby": "code-title", "aria-describedby": "code-hint code-line",
			keydown: (event) => this.key(event), focus: () => this.moveTo(this.current), pointerleave: () => this.moveTo(this.current) },
			...[...this.placed.values()].map((place) => this.frame(place)));
		this.box.replaceChildren(this.svg);
		this.moveTo(this.current);
		if (hadFocus)
			this.svg.focus({ preventScroll: true });
	}

	frame({ node, x, width }) {
		const name = nameOfFrame(this.code.side, node.frame), letters = Math.floor((width - 6) / FLAME_LETTER);
		const text = letters < 2 ? "" : name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;
		const place = this.placed.get(node), y = (node.depth - this.highest) * FLAME_ROW;

		place.shape = svgElement("g", { class: `frame ${this.colourOf(node)}${this.isFound(node) ? " found" : ""}`,
			"data-name": name, "data-depth": node.depth,
			"data-total": node.total, "data-self": node.self, "data-samples": node.samples,
			"data-other": this.change ? node.other : null,
			click: () => this.zoom(node), pointerenter: () => this.say(node) },
			svgElement("rect", { x, y, width: Math.max(width - 0.5, 0.5), height: FLAME_ROW - 1, rx: 2 }),
			svgElement("text", { x: x + 3, y: y + 13 }, text));
		return place.shape;
	}

	say(node) {
		this.line.textContent = this.describe(node);
	}

	moveTo(node) {
		this.placed.get(this.current)?.shape.classList.remove("current");
		this.current = this.placed.has(node) ? node : this.top;
		this.placed.get(this.current).shape.classList.add("current");
		this.say(this.current);
		this.onView();
	}

	/** A caller is no part of what is below it: its own method is shown. */
	zoom(node) {
		if (node.depth < 0) {
			this.showMethod(node.frame);
			return;
		}
		this.current = this.top = node;
		this.draw();
	}

	firstBelow(node) {
		return node?.children.find((child) => this.placed.has(child));
	}

	above(node) {
		return node.depth < 0 || (node === this.view.root && this.view.callers) ?
			this.firstBelow(node.depth < 0 ? node : this.view.callers) : node.parent;
	}

	below(node) {
		return node.depth === -1 ? this.view.root : node.depth < 0 ? node.parent : this.firstBelow(node);
	}

	/** The next one beside it that is shown. */
	beside(step) {
		const siblings = (this.current.parent?.children ?? [this.current]).filter((node) => this.placed.has(node));

		return siblings[siblings.indexOf(this.current) + step];
	}

	key(event) {
		const moves = { ArrowUp: () => this.above(this.current), ArrowLeft: () => this.beside(-1),
			ArrowRight: () => this.beside(1), ArrowDown: () => this.below(this.current) };

		if (moves[event.key])
			this.moveTo(moves[event.key]() ?? this.current);
		else if (event.key === "Enter")
			this.zoom(this.current);
		else if (event.key === "Escape")
			this.showAll();
		else if (event.key === "c")
			this.showMethod();
		else
			return;
		event.preventDefault();
	}
}

// ---- the page ----

const REQUESTS_STEP = 20, ROWS_SHOWN = 300, METHODS_SHOWN = 20;

function titleOf(field) {
	return MEANING.figures[field].title;
}

/** { field, title, unit } */
function columnOf(field) {
	return { field, title: titleOf(field), unit: MEANING.figures[field].unit };
}

class Page {
	constructor(sides) {
		this.sides = sides;
		this.columns = [...document.querySelectorAll("#groups thead th")].map((head) => ({
			field: head.dataset.field, title: head.textContent, unit: head.dataset.unit }));
		this.requestColumns = [{ field: "id", title: "request" }, { field: "group", title: "" },
			...MEANING.views.requests.filter((field) => this.tells(field)).map(columnOf),
			{ field: "first", title: "from", unit: "offset" }];
		this.groupSorting = { field: "cpu", isAscending: false };
		this.requestSorting = { field: "wall", isAscending: false };
		this.compareSorting = { field: "change", isAscending: false };
		this.requestsShown = REQUESTS_STEP;
		this.rowsShown = ROWS_SHOWN;
		this.opened = new Set();
		this.chart = new TimeChart(byId("time-chart"), byId("time-legend"), (from, to) => this.selectTime(from, to));
		this.flames = new FlameGraph(byId("code-graph"), byId("code-line"), () => this.showCodeView());
		this.listen();
		this.chooseSide(0);
	}

	/** What does not always tell something is shown where groups show it, or its mean. */
	tells(field) {
		return MEANING.figures[field].always ||
			this.columns.some((column) => column.field === field || column.field === `${field}_mean`);
	}

	listen() {
		byId("metric").replaceChildren(...MEANING.views.costs.map((field) => element("option", { value: field }, titleOf(field))));
		byId("clear-time").addEventListener("click", () => this.selectTime(0, this.side.timeCount - 1));
		byId("clear-group").addEventListener("click", () => this.selectGroup(0));
		byId("metric").addEventListener("change", () => this.showTime());
		byId("with-unattributed").addEventListener("change", () => this.showTime());
		for (const id of ["code-measure", "code-of", "code-colours"])
			byId(id).addEventListener("change", () => this.showCode());
		byId("code-find").addEventListener("input", () => this.findCode());
		byId("code-find").addEventListener("keydown", ({ key }) => key === "Enter" && this.found && this.flames.showMethod(this.found.frame));
		byId("code-method").addEventListener("click", () => this.flames.showMethod());
		byId("code-all").addEventListener("click", () => this.flames.showAll());
		byId("find").addEventListener("input", () => this.showRequests());
		byId("more").addEventListener("click", () => {
			this.requestsShown += REQUESTS_STEP;
			this.showRequests();
		});
		for (const id of ["from", "to"])
			byId(id).addEventListener("change", () => this.selectSeconds());
		if (this.sides.length > 1)
			this.offerSides();
		new ResizeObserver(() => this.figures && this.showDistribution()).observe(byId("distribution"));
	}

	offerSides() {
		byId("side-choice").hidden = false;
		byId("side").append(...this.sides.map((side, index) =>
			element("option", { value: index }, `${"AB"[index]}: ${nameOf(side)}`)));
		byId("side").addEventListener("change", (event) => this.chooseSide(Number(event.target.value)));
	}

	chooseSide(index) {
		const label = this.selection ? this.side.groups[this.selection.group] : "";

		this.side = this.sides[index];
		this.selection = { from: 0, to: this.side.timeCount - 1, group: 0 };
		this.series = chooseSeries(new Figures(this.side, this.selection));
		this.selection.group = Math.max(this.side.groups.indexOf(label), 0);
		this.opened.clear();
		this.codeOf = null;
		byId("code-of").value = "all";
		this.show();
	}

	selectTime(from, to) {
		this.selection = { ...this.selection, from, to };
		this.show();
	}

	selectGroup(group) {
		this.selection = { ...this.selection, group: this.selection.group === group ? 0 : group };
		this.show();
	}

	/** What was typed, to the windows that it lies in. */
	selectSeconds() {
		const { end } = this.side.times, last = this.side.timeCount - 1;
		const since = Number(byId("from").value) * NS_PER_S, until = Number(byId("to").value) * NS_PER_S;
		let from = 0, to = last;

		while (from < last && end[from] <= since)
			from++;
		while (to > from && this.chart.begin(to) >= until)
			to--;
		this.selectTime(from, to);
	}

	show() {
		this.figures = new Figures(this.side, this.selection);
		this.requestsShown = REQUESTS_STEP;
		this.showSelection();
		this.showSummary();
		this.showTime();
		this.showGroups();
		this.showCompare();
		this.showCode();
		this.showDistribution();
		this.showRequests();
		this.showThreads();
		this.showBooks();
		this.showCommand();
	}

	showSelection() {
		const { side, selection } = this;
		const isAll = isAllTime(side, selection);
		const begin = side.timeCount > 0 ? this.beginOf(selection.from) : 0;
		const end = side.timeCount > 0 ? side.times.end[selection.to] : 0;

		byId("selection").replaceChildren(
			element("strong", {}, isAll ? "All time" : `${formatSeconds(begin)} to ${formatSeconds(end)}`),
			isAll ? ` (${formatSeconds(end)})` : ` (${selection.to - selection.from + 1} of ${side.timeCount} windows)`,
			" of ", element("strong", {}, selection.group ? side.groups[selection.group] : `every ${side.by}`));
		byId("from").value = begin / NS_PER_S;
		byId("to").value = end / NS_PER_S;
		byId("clear-time").disabled = isAll;
		byId("clear-group").disabled = selection.group === 0;
		byId("clear-group").textContent = `Every ${side.by}`;
	}

	beginOf(time) {
		const { start, end } = this.side.times;

		return time > 0 ? Math.max(start[time], end[time - 1]) : start[0];
	}

	showSummary() {
		const { figures, side, selection } = this;
		const { total } = figures;
		const books = booksOf(side, selection);
		const part = (ns) => books.exec > 0 ? `${(100 * ns / books.exec).toFixed(2)} %` : NOT_MEASURED;
		const figure = (field, unit) => formatNumber(figureOf(figures, total, field), unit);
		const cards = [["requests", figure("requests", "count")], ["a second", figure("rate", "rate")],
			["CPU", figure("cpu", "ns")], ["CPU p99", figure("cpu_p99", "ns")], ["wall p50", figure("wall_p50", "ns")],
			["wall p99", figure("wall_p99", "ns")], ["unattributed", part(books.unattributed)], ["residual", part(books.residual)]];

		byId("summary").replaceChildren(...cards.map(([title, value]) =>
			element("div", {}, element("span", {}, title), element("b", {}, value))));
	}

	showTime() {
		const metric = byId("metric").value;

		byId("time-title").textContent = metric === "cpu" || metric === "user" || metric === "kernel" ?
			"Over time: CPUs busy" : "Over time: threads waiting";
		this.chart.show(this.side, this.selection, this.series, metric, byId("with-unattributed").checked);
	}

	// ---- groups ----

	showGroups() {
		const { figures, groupSorting } = this;
		const valueOf = (row) => groupSorting.field === "key" ? row.label : figureOf(figures, row, groupSorting.field);
		const rows = figures.rows(), groups = rows.filter(({ kind }) => kind === "group");
		const others = rows.filter(({ kind }) => kind !== "group");
		const showGroups = () => this.showGroups();

		groups.sort(compareBy(valueOf, groupSorting.isAscending));
		byId("groups-title").textContent = `By ${this.side.by}`;
		this.columns[0].title = this.side.by;
		byId("groups").replaceChildren(sortableHead(this.columns, groupSorting, showGroups),
			element("tbody", {}, ...groups.slice(0, this.rowsShown).map((row) => this.groupRow(row)),
				this.restRow(groups.length), ...others.map((row) => this.groupRow(row))));
		this.noteFolded(byId("groups-note"));
	}

	/** A table of ten thousand rows is no use before somebody asks for it. */
	restRow(count) {
		const showAll = () => {
			this.rowsShown = Infinity;
			this.showGroups();
		};

		return count <= this.rowsShown ? null : element("tr", {}, element("td", { class: "text", colspan: this.columns.length },
			element("button", { type: "button", click: showAll }, `${formatInteger(count - this.rowsShown)} more`)));
	}

	groupRow(row) {
		const group = row.kind === "group" ? this.side.groups.indexOf(row.label, 1) : 0;
		const series = row.kind === "group" || row.kind === "without_key" ? this.series.get(group) ?? SERIES_OTHER :
			row.kind === "unattributed" ? SERIES_NONE : null;
		const isChosen = group !== 0 && group === this.selection.group;
		const label = element("span", {}, row.label);
		const mark = series ? swatchOf(series) : null;
		const head = row.kind === "group" ? element("button", { type: "button", class: "pick", title: row.label,
			"aria-pressed": String(isChosen), click: () => this.pickGroup(group) }, mark, label) :
			element("span", { class: "pick" }, mark, label);

		return element("tr", { "data-row": row.kind, "data-key": row.kind === "group" ? row.label : null,
			class: isChosen && "chosen" }, element("th", { scope: "row" }, head),
			...this.columns.slice(1).map(({ field, unit }) => numberCell(field, figureOf(this.figures, row, field), unit)));
	}

	pickGroup(group) {
		this.selectGroup(group);
		// The row was made anew.
		[...document.querySelectorAll("#groups .pick")].find((pick) => pick.textContent.endsWith(this.side.groups[group]))?.focus();
	}

	noteFolded(note) {
		const { side } = this;

		note.hidden = side.folded === 0;
		note.textContent = `This page holds the ${formatInteger(side.ids.length)} costliest requests, by CPU and by wall time. ` +
			`The other ${formatInteger(side.folded)} are in every sum; of a selected span, how many requests there were and their percentiles are not known.`;
	}

	// ---- A and B ----

	/** Of the other side all of its time; a group that it lacks (-1) selects nothing there. */
	figuresOf(side) {
		return side === this.side ? this.figures : new Figures(side,
			{ from: 0, to: side.timeCount - 1, group: side.groups.indexOf(this.side.groups[this.selection.group]) });
	}

	showCompare() {
		if (this.sides.length < 2)
			return;
		const rows = comparedRows(this.sides.map((side) => this.figuresOf(side)));
		const columns = [{ field: "key", title: this.side.by }, ...MEANING.views.compared.flatMap((field) => [
			{ field: `${field} A`, title: `${titleOf(field)} A`, unit: "ns" }, { field: `${field} B`, title: "B", unit: "ns" },
			{ field: `${field} change`, title: "change", unit: "ns" }])];
		const valueOf = (row) => this.compareSorting.field === "key" ? row.label :
			row.values[this.compareSorting.field] ?? null;
		const showCompare = () => this.showCompare();

		byId("compare").hidden = false;
		byId("compare-hint").textContent = `A: ${nameOf(this.sides[0])}. B: ${nameOf(this.sides[1])}. ` +
			(isAllTime(this.side, this.selection) ? "" : `The selected span is of ${"AB"[this.sides.indexOf(this.side)]}; the other one is whole. `) +
			"A change is how much more B has. A table says nothing of chance: p99 of few requests moves by itself.";
		const isGroup = ({ kind }) => kind === "group";
		rows.sort(compareBy(valueOf, this.compareSorting.isAscending)).sort((a, b) => isGroup(b) - isGroup(a));
		byId("compare-table").replaceChildren(sortableHead(columns, this.compareSorting, showCompare),
			element("tbody", {}, ...rows.map(comparedRow)));
	}

	// ---- code ----

	showCode() {
		const { side } = this;

		byId("code").hidden = side.code === null;
		if (side.code === null)
			return;
		const select = byId("code-measure");
		const { measures } = side.code;

		byId("code-one").hidden = this.codeOf === null;
		if (this.codeOf !== null)
			byId("code-one").textContent = this.side.ids[this.codeOf];
		byId("code-choice").hidden = measures.size < 2;
		if (!measures.has(Number(select.value)) && measures.size < 2)
			select.value = Math.min(...measures);
		const codeOf = (figures) => new Code(figures, Number(select.value), this.codeRequests(figures));
		const code = codeOf(this.figures), change = this.codeChange(code, codeOf);
		byId("code-note").textContent = codeNote(code) +
			(side.code.dropped > 0 ? ` ${formatInteger(side.code.dropped)} samples are not in this page.` : "");
		const colours = change ? Object.entries(CHANGE_TITLES).map(([name, title]) => [`change-${name}`, title]) :
			side.code.kinds.filter((_, kind) => side.code.frames.kind.includes(kind)).map((kind) => [`kind-${kind}`, KIND_TITLES[kind]]);
		byId("code-legend").replaceChildren(...colours.map(([name, title]) => element("li", {}, swatch(name), title)));
		this.flames.show(code, change);
		this.findCode();
		this.showMethods(code);
	}

	/** What can be done with the frame that is current. */
	showCodeView() {
		const { view, current, top } = this.flames;

		byId("code-method").disabled = current.frame === 0 || (view.callers !== null && current === view.root);
		byId("code-all").disabled = view.callers === null && top === view.root;
	}

	findCode() {
		const { code } = this.flames;

		this.found = this.flames.find(byId("code-find").value);
		byId("code-found").textContent = !this.found ? "" : this.found.frame === 0 ? "no such code" :
			`${code.describeShare(this.found.total / code.sampled)}, ${formatDuration(this.found.total)} in ` +
			`${formatInteger(this.found.samples)} ${SAMPLE_TITLES[code.measure]}`;
	}

	showMethods(code) {
		const share = (ns) => element("td", { "data-value": ns, title: `${formatInteger(ns)} ns` },
			code.sampled > 0 ? code.describeShare(ns / code.sampled) : NOT_MEASURED);
		const row = ({ frame, self, total }) => element("tr", {}, element("th", { scope: "row" },
			element("button", { type: "button", class: "pick", title: "Its callers and callees", click: () => this.pickMethod(frame) },
				element("span", {}, nameOfFrame(code.side, frame)))),
			element("td", { class: "text" }, placeOfFrame(code.side, frame).slice(2, -1)), share(self), numberCell("self", self, "ns"),
			share(total), numberCell("total", total, "ns"));
		const methods = code.methods();

		byId("code-methods").hidden = methods.length === 0;
		byId("code-methods").replaceChildren(element("thead", {}, element("tr", {}, ...["method", "defined in", "self", "", "total", ""]
			.map((title, column) => element("th", { scope: "col", class: column < 2 && "text" }, title)))),
			element("tbody", {}, ...methods.slice(0, METHODS_SHOWN).map(row)));
	}

	pickMethod(frame) {
		this.flames.showMethod(frame);
		byId("code").scrollIntoView();
		this.flames.svg.focus({ preventScroll: true });
	}

	/** Between A and B, where that is asked for; else null. */
	codeChange(code, codeOf) {
		const others = this.sides.filter((side) => side !== this.side);

		byId("code-colours-choice").hidden = others.length === 0 || others[0].code === null;
		if (byId("code-colours-choice").hidden || byId("code-colours").value !== "change")
			return null;
		const index = this.sides.indexOf(this.side), other = codeOf(this.figuresOf(others[0]));

		return new Change(index === 0 ? [code, other] : [other, code], index);
	}

	/** The requests whose code is shown; null: all that is selected. One that was picked is of this side. */
	codeRequests({ side, requests }) {
		const select = byId("code-of");
		const ids = (chosen) => new Set(chosen.map(({ request }) => request));

		if (side !== this.side && select.value === "one")
			return null;
		switch (select.value) {
		case "all":
			return null;
		case "one":
			return ids(requests.filter(({ request }) => request === this.codeOf));
		default:
			return ids(requests.filter(({ costs }) => costs.wall() !== null)
				.sort((a, b) => b.costs.wall() - a.costs.wall()).slice(0, Number(select.value)));
		}
	}

	/** Of one request, from its story. */
	showCodeOf(request) {
		this.codeOf = request;
		byId("code-of").value = "one";
		this.showCode();
		byId("code").scrollIntoView();
		byId("code-of").focus({ preventScroll: true });
	}

	// ---- requests ----

	showDistribution() {
		const { total } = this.figures;

		drawDistribution(byId("cpu-distribution"), "CPU of a request", total.cpu);
		drawDistribution(byId("wall-distribution"), "Wall time of a request", total.wall);
	}

	showRequests() {
		const { side, requestSorting } = this;
		const wanted = byId("find").value;
		const found = this.figures.requests.filter(({ request }) => wanted === "" || side.ids[request].includes(wanted));
		const columns = this.requestColumns.map((column) => column.field === "group" ? { ...column, title: side.by } : column);
		const showRequests = () => this.showRequests();

		found.sort(compareBy((entry) => this.requestValue(entry, requestSorting.field), requestSorting.isAscending));
		byId("requests-table").replaceChildren(sortableHead(columns, requestSorting, showRequests),
			element("tbody", {}, ...found.slice(0, this.requestsShown).flatMap((entry) => this.requestRows(entry))));
		byId("more").hidden = found.length <= this.requestsShown;
		byId("more").textContent = `More (${formatInteger(found.length - this.requestsShown)})`;
		byId("requests-title").textContent = requestSorting.field === "wall" ? "Slowest requests" : "Requests";
		byId("requests-note").hidden = side.droppedSlices === 0;
		byId("requests-note").textContent = `${formatInteger(side.droppedSlices)} slices of the timeline found no room in this page.`;
	}

	requestValue({ request, place, costs }, field) {
		switch (field) {
		case "id":
			return this.side.ids[request];
		case "group":
			return this.side.groups[place];
		case "wall":
			return costs.wall();
		case "parked":
			return costs.parked();
		case "first":
			return costs.wall() === null ? null : costs.first;
		default:
			return costs.has(field) ? costs[field] : null;
		}
	}

	requestRows(entry) {
		const { side } = this;
		const isOpen = this.opened.has(entry.request);
		const pick = element("button", { type: "button", class: "pick", "aria-expanded": String(isOpen), "data-request": entry.request,
			click: () => this.toggleStory(entry.request) }, isOpen ? "▾" : "▸", element("span", {}, side.ids[entry.request]));
		const row = element("tr", { "data-request": side.ids[entry.request] }, element("th", { scope: "row" }, pick),
			element("td", { class: "text" }, side.groups[entry.place] || `(no ${side.by})`),
			...this.requestColumns.slice(2).map(({ field, unit }) => this.requestCell(entry, field, unit)));

		return isOpen ? [row, this.storyRow(entry)] : [row];
	}

	requestCell(entry, field, unit) {
		const value = this.requestValue(entry, field);

		return unit === "offset" ? element("td", { "data-field": field, "data-value": value,
			title: value === null ? null : formatWallClock(this.side, value) },
			value === null ? NOT_MEASURED : formatSeconds(value)) : numberCell(field, value, unit);
	}

	storyRow(entry) {
		const width = Math.max(Math.min(byId("requests-table").parentElement.clientWidth - 30, 1300), 300);

		return element("tr", { class: "story" }, element("td", { colspan: this.requestColumns.length },
			element("div", { class: "story-body" }, storyOf(this.side, this.selection, entry, width),
				this.side.code === null ? null : element("button", { type: "button", class: "its-code",
					click: () => this.showCodeOf(entry.request) }, "Its code"))));
	}

	toggleStory(request) {
		if (!this.opened.delete(request))
			this.opened.add(request);
		this.showRequests();
		document.querySelector(`button[data-request="${request}"]`)?.focus();
	}

	// ---- nobody, the books, the command ----

	showThreads() {
		const fields = MEANING.views.costs;
		const rows = [...this.figures.threads].sort(([, a], [, b]) => b.cpu - a.cpu);

		byId("threads").hidden = rows.length === 0;
		byId("threads-table").replaceChildren(element("thead", {}, element("tr", {}, ...["thread_name", ...fields].map((field) =>
			element("th", { scope: "col" }, titleOf(field))))),
			element("tbody", {}, ...rows.slice(0, ROWS_SHOWN).map(([name, costs]) => element("tr", {}, element("th", { scope: "row" }, name || "(no name)"),
				...fields.map((field) => numberCell(field, costs.has(field) ? costs[field] : null, "ns"))))));
	}

	showBooks() {
		const { side, selection } = this;
		const books = booksOf(side, selection);
		const part = (ns) => `${formatDuration(ns)}${books.exec > 0 ? ` = ${(100 * ns / books.exec).toFixed(2)} %` : ""}`;
		const ppm = books.exec > 0 ? ` = ${(1e6 * books.residual / books.exec).toFixed(2)} ppm of the exec time` : "";
		const rows = books.balances === 0 ? [["balance records", NOT_MEASURED]] : [
			["the kernel's exec time", formatDuration(books.exec), books.exec],
			["attributed", part(books.attributed), books.attributed],
			["unattributed", part(books.unattributed), books.unattributed],
			["overflow", part(books.overflow), books.overflow],
			["residual", `${formatInteger(books.residual)} ns${ppm}`, books.residual],
			["largest of a window", `${formatInteger(books.worst)} ns`, books.worst]];

		byId("books").replaceChildren(element("tbody", {}, ...rows.map(bookRow), ...this.lossRows(books), ...this.costRows(books),
			...this.modeRows()));
		if (books.balances > 0 && Math.abs(books.residual) > books.exec / 1000)
			byId("books").append(element("tbody", {}, element("tr", {}, element("td", { class: "bad", colspan: 2 }, "The books do not balance."))));
	}

	lossRows(books) {
		const rows = Object.entries(this.side.losses).filter(([name]) => books[name] > 0).map(([name, text]) =>
			bookRow([name, `${formatInteger(books[name])}: ${text}`, books[name]]));

		if (books.dropped > 0)
			rows.push(bookRow(["records dropped", `${formatInteger(books.dropped)}: the times above are too low`, books.dropped]));
		return rows.length > 0 ? rows : [bookRow(["losses", "none", 0])];
	}

	costRows(books) {
		const cost = this.side.report.own_cost;
		const rows = [bookRow(["Correlator's own CPU", formatDuration(books.self_cpu || books.own_cpu), books.self_cpu || books.own_cpu])];

		if (cost?.programs_run_ns !== undefined)
			rows.push(bookRow(["in its BPF programs", `${formatDuration(cost.programs_run_ns)}, of the whole recording` +
				(cost.programs_samples ? `, estimated from ${formatInteger(cost.programs_samples)} samples` : "")]));
		if (cost?.rss_bytes_max)
			rows.push(bookRow(["memory, at most", `${(cost.rss_bytes_max / 2 ** 20).toFixed(1)} MiB`]));
		return rows;
	}

	modeRows() {
		const { meta } = this.side.report;
		const rows = (meta.modes ?? [{ mode: meta.mode, kernel_split: meta.kernel_split }]).filter(({ mode }) => mode).map(({ mode, kernel_split: hasSplit, reason }) =>
			bookRow(["mode", `${mode}${hasSplit === false ? ", without user/kernel split" : ""}${reason ? `: ${reason}` : ""}`]));

		if (meta.double_records)
			rows.push(bookRow(["read again", `${formatInteger(meta.double_records)} records, which are counted once`]));
		return rows;
	}

	showCommand() {
		const { side, selection } = this;
		const words = ["correlator", "report", "--by", side.report.by];

		if (!isAllTime(side, selection) && selection.from > 0)
			words.push("--since", formatWallClock(side, side.times.end[selection.from - 1]));
		if (!isAllTime(side, selection))
			words.push("--until", formatWallClock(side, side.times.end[selection.to]));
		if (selection.group)
			words.push("--where", quote(`${side.by}=${side.groups[selection.group]}`));
		byId("command").textContent = [...words, ...side.report.meta.files.map(({ name }) => quote(name))].join(" ");
	}
}

function quote(word) {
	return /^[\w./:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function nameOf(side) {
	return side.report.meta.files.map(({ name }) => name).join(", ");
}

function bookRow([label, text, value = null]) {
	return element("tr", {}, element("th", { scope: "row" }, label), element("td", { class: "wide", "data-field": label, "data-value": value }, text));
}

/** By label: [{ label, kind, values }], where a change is in percent. */
function comparedRows(figures) {
	const rows = new Map();

	figures.forEach((of, index) => {
		for (const row of of.rows()) {
			const key = `${row.kind} ${row.label}`;

			if (!rows.has(key))
				rows.set(key, { label: row.label, kind: row.kind, values: {} });
			for (const field of MEANING.views.compared)
				rows.get(key).values[`${field} ${"AB"[index]}`] = figureOf(of, row, field);
		}
	});
	for (const { values } of rows.values()) {
		for (const field of MEANING.views.compared) {
			const before = values[`${field} A`] ?? null, after = values[`${field} B`] ?? null;

			values[`${field} change`] = before && after !== null ? 100 * (after - before) / before : null;
		}
		values.change = Math.abs(values["cpu_mean change"] ?? 0);
	}
	return [...rows.values()].filter(({ kind }) => kind !== "unattributed" && kind !== "overflow");
}

function comparedRow({ label, kind, values }) {
	return element("tr", { "data-row": kind, "data-key": label }, element("th", { scope: "row" }, label),
		...MEANING.views.compared.map(columnOf).flatMap(({ field, unit }) => [
			numberCell(`${field} A`, values[`${field} A`] ?? null, unit),
			numberCell(`${field} B`, values[`${field} B`] ?? null, unit),
			changeCell(`${field} change`, values[`${field} change`], field === "rate")]));
}

/** More time is worse; more requests are neither. */
function changeCell(field, percent, isNeutral) {
	const sign = percent === null || Math.abs(percent) < 0.05 ? "" : percent > 0 ? "▲ +" : "▼ ";
	const isBig = percent !== null && Math.abs(percent) >= 5 && !isNeutral;

	return element("td", { "data-field": field, "data-value": percent, class: isBig && (percent > 0 ? "worse" : "better") },
		percent === null ? NOT_MEASURED : `${sign}${percent.toFixed(1)} %`);
}

// ---- colours ----

const THEMES = ["auto", "light", "dark"];

function remembered() {
	try {
		return localStorage.getItem("correlator-theme");
	} catch {
		return null; // a file may have no storage
	}
}

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	byId("theme").textContent = `Colours: ${theme}`;
	byId("theme").setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system has them" : theme}`);
	try {
		localStorage.setItem("correlator-theme", theme);
	} catch {
		// then it is as the system has it, next time
	}
}

function startTheme() {
	const theme = remembered();

	setTheme(THEMES.includes(theme) ? theme : "auto");
	byId("theme").addEventListener("click", () =>
		setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
}

function start() {
	try {
		const sides = [readSide(0), readSide(1)].filter((side) => side !== null);

		document.documentElement.classList.add("has-script");
		startTheme();
		addPatterns();
		new Page(sides);
	} catch (error) {
		document.documentElement.classList.remove("has-script");
		byId("problem").hidden = false;
		byId("problem").textContent = `This page cannot be shown in full (${error.message}): the tables below are of the whole recording.`;
		throw error;
	}
}

start();
})();
