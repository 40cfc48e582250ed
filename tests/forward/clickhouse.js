// SPDX-License-Identifier: GPL-2.0-only
// ClickHouse itself, by its embedded build (chdb), behind as much of its HTTP interface as
// collectors use: NODE_PATH=BUILD/npm/node_modules node clickhouse.js FOLDER
// Says `ready PORT`; ends when its standard input does.
const http = require("http");
const zlib = require("zlib");
const { Session } = require("chdb");

const session = new Session(process.argv[2]);
const quoted = (text) => `'${text.replace(/[\\']/g, "\\$&")}'`;

// A request's parameters are settings of its query alone: in an INSERT they stand before FORMAT.
function withSettings(query, parameters) {
  const settings = parameters.map(([name, value]) => `${name} = ${quoted(value)}`).join(", ");
  return settings ? query.replace(/\s+FORMAT\s+\w+\s*$/, ` SETTINGS ${settings}$&`) : query;
}

function answer(request, body) {
  const parameters = new URL(request.url, "http://localhost").searchParams;
  const query = parameters.get("query") || "";
  const settings = [];
  for (const [name, value] of parameters) {
    if (name.startsWith("param_")) session.query(`SET ${name} = ${quoted(value)}`);
    else if (name !== "query") settings.push([name, value]);
  }
  return session.query(`${withSettings(query, settings)}\n${body}`);
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    try {
      const bytes = Buffer.concat(parts);
      const gzip = request.headers["content-encoding"] === "gzip";
      response.end(answer(request, (gzip ? zlib.gunzipSync(bytes) : bytes).toString()));
    } catch (error) {
      response.statusCode = 500;
      response.end(`${error.message}\n`);
    }
  });
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`ready ${server.address().port}\n`));
process.stdin.resume();
process.stdin.on("end", () => {
  session.close();
  process.exit(0);
});
