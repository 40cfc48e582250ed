// SPDX-License-Identifier: GPL-2.0-only
// What Perfetto's trace processor says of a trace: node query.mjs FOLDER TRACE SQL...
// prints the rows of each query as a line of JSON. FOLDER: what `fetch` left. What it says itself goes to
// standard error.
//
// It is WebAssembly with a frame made for a browser's worker: the frame is told that it runs in one, which
// reads its files from FOLDER.
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);
const file = name => resolve(folder, name);

console.log = console.warn = console.error;
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = Object;
globalThis.location = { href: pathToFileURL(file("worker")).href };
globalThis.XMLHttpRequest = class {
    open(_method, url) {
        this.path = join(folder, basename(url));
    }

    send() {
        this.response = readFileSync(this.path);
    }
};
runInThisContext(readFileSync(file("engine_bundle.node.js"), "utf8"));
const { EngineBase } = await import(pathToFileURL(file("engine.mjs")));

class Engine extends EngineBase {
    constructor() {
        super();
        this.port = { postMessage: bytes => this.onRpcResponseBytes(bytes) };
        self.onmessage({ data: this.port });
    }

    rpcSendRequestBytes(bytes) {
        this.port.onmessage({ data: bytes });
    }

    fail(reason) {
        throw new Error(reason);
    }
}

// Its integers are of 64 bits, and a nanosecond of today is above what a number holds.
const tell = (_name, value) => typeof value === "bigint" ? String(value) : value;

const engine = new Engine();
await engine.parse(readFileSync(trace));
await engine.notifyEof();
for (const query of queries) {
    const result = await engine.query(query);
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(result.columns().map(name => row.get(name)));
    process.stdout.write(`${JSON.stringify(rows, tell)}\n`);
}
