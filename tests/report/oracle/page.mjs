// SPDX-License-Identifier: GPL-2.0-only
// What a page of `report --html` counts, by the page's own script: node page.mjs QUESTION < PAGE
// QUESTION is JSON: { "span": [NS, NS] or null, "group": LABEL or null } selects the windows that end in that span,
// and a group; { "compared": true } asks for the table of two recordings. The ends of a span are texts: a number of
// JavaScript does not hold them.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const START = /start\(\);\n\}\)\(\);\s*$/;
const WANTED = "Code, Figures, booksOf, comparedRows, figureOf, meaning: () => MEANING, readSide";
const MEASURES = [0, 1];
const DISTRIBUTIONS = ["cpu", "wall", "parked"].flatMap((what) =>
	["mean", "p50", "p90", "p99", "max"].map((which) => `${what}_${which}`));

/** What is between a tag and the end of its element; null: there is no such tag. */
function textBehind(page, tag, from = page.indexOf(tag)) {
	return from < 0 ? null : page.slice(page.indexOf(">", from) + 1, page.indexOf("</script>", from));
}

/** The page's script runs, and shows nothing: it gives its functions away where it would start. */
function load(page) {
	const script = textBehind(page, "<script nonce=", page.lastIndexOf("<script nonce="));
	const getElementById = (id) => {
		const textContent = textBehind(page, `<script type="application/json" id="${id}">`);

		return textContent === null ? null : { textContent };
	};
	const context = { document: { getElementById } };

	if (!START.test(script))
		throw new Error("the page's script does not start as it did");
	vm.runInNewContext(script.replace(START, `globalThis.given = { ${WANTED} };\n})();`), context);
	return context.given;
}

/** A group that the page lacks selects nothing. */
function selectionOf(side, { span, group }) {
	const ends = [...side.times.end].map((end) => side.origin + BigInt(end));
	const [since, until] = span ? span.map(BigInt) : [0n, ends.at(-1) ?? 0n];

	return { from: ends.filter((end) => end < since).length, to: ends.filter((end) => end <= until).length - 1,
		group: group === null ? 0 : side.groups.indexOf(group, 1) };
}

function answerSelection(given, side, question) {
	const { Code, Figures, booksOf, figureOf } = given, costNames = given.meaning().views.cells;
	const selection = selectionOf(side, question), figures = new Figures(side, selection);
	const fields = [...costNames, "requests", "rate", "share", "syscalls_mean", ...DISTRIBUTIONS];
	const known = (costs) => costNames.filter((cost) => costs.has(cost)).map((cost) => [cost, costs[cost]]);
	const when = (costs) => costs.wall() === null ? {} :
		{ wall: costs.wall(), parked: costs.parked(), first: String(side.origin + BigInt(costs.first)) };

	return {
		rows: figures.rows().map((row) => ({ kind: row.kind, label: row.label,
			figures: Object.fromEntries(fields.map((field) => [field, figureOf(figures, row, field)])) })),
		requests: figures.requests.map(({ request, place, costs }) => ({ id: side.ids[request],
			figures: { place: side.groups[place], ...Object.fromEntries(known(costs)), ...when(costs) } })),
		threads: [...figures.threads].map(([name, costs]) => ({ name, figures: Object.fromEntries(known(costs)) })),
		books: booksOf(side, selection),
		code: side.code && MEASURES.map((measure) => new Code(figures, measure)).map((code) => ({
			spent: code.sampled + code.notSampled, "of its parts": code.root.total + code.notSampled,
			samples: code.samples, "samples of its parts": code.root.samples })),
	};
}

function answerComparison({ Figures, comparedRows }, sides) {
	return comparedRows(sides.map((side) => new Figures(side, selectionOf(side, { span: null, group: null }))));
}

const question = JSON.parse(process.argv[2]);
const given = load(readFileSync(0, "utf8"));
const sides = [given.readSide(0), given.readSide(1)].filter((side) => side !== null);

console.log(JSON.stringify(question.compared ? answerComparison(given, sides) :
	answerSelection(given, sides[0], question)));
