// SPDX-License-Identifier: GPL-2.0-only
// A collector of @fluent-org/logger: NODE_PATH=BUILD/npm/node_modules node receiver.js OPTIONS
// OPTIONS is JSON: shared_key, user, password, counts (print only how many, at the end).
// Says `ready PORT`, then each entry as a line of JSON; ends when its standard input does.
const { FluentServer } = require("@fluent-org/logger");

const options = JSON.parse(process.argv[2] || "{}");
const settings = { listenOptions: { port: 0, host: "127.0.0.1" }, keepalive: true };
let count = 0;

if (options.shared_key)
  settings.security = {
    serverHostname: "receiver",
    sharedKey: options.shared_key,
    authorize: Boolean(options.user),
    userDict: options.user ? { [options.user]: options.password } : {},
  };

// 64-bit integers come as doubles, or as BigInt where the library has them so.
const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);

const server = new FluentServer(settings);
server.on("entry", (tag, time, record) => {
  count++;
  if (!options.counts)
    process.stdout.write(
      JSON.stringify({ tag, seconds: time.epoch, nano: time.nano, record }, plain) + "\n"
    );
});
server.listen().then(() => process.stdout.write(`ready ${server.port}\n`));
process.stdin.resume();
process.stdin.on("end", () => {
  if (options.counts) process.stdout.write(`${count}\n`);
  process.stdout.write("", () => process.exit(0));
});
