// Tasks of the npm package @modelcontextprotocol/ext-tasks: node ts_tasks_client.mjs COMMAND... prints what became of each.
// MCP_PEER_NODE names the folder of the packages. The server speaks over stdio; the package frames no requests itself.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const home = pathToFileURL(`${process.env.MCP_PEER_NODE}/`);
const { withTasks } = await import(new URL("@modelcontextprotocol/ext-tasks/dist/client/index.js", home));

const [program, ...rest] = process.argv.slice(2);
const server = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  const answer = waiting.get(message.id);
  if (answer === undefined) return;
  waiting.delete(message.id);
  answer(message.error ? { kind: "error", error: message } : { kind: "result", result: message.result });
});

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "ext-tasks", version: "0.2.2" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
};
let last = 0;
const port = {
  endpointId: "bakery",
  taskCapabilities: { generation: "v2", capabilities: {} },
  invalidated: false,
  onServerRequest: () => () => {},
  onNotification: () => () => {},
  onInvalidated: () => () => {},
  dispatch: (request) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      const params = { ...request.params, _meta: { ...request.params?._meta, ...meta } };
      server.stdin.write(`${JSON.stringify({ ...request, jsonrpc: "2.0", id, params })}\n`);
    }),
};

const session = withTasks(port, {
  onInputRequest: async () => ({ action: "accept", content: { loaves: 3 } }),
});
const outcomes = {};
for (const name of ["bake", "survey", "burn", "protest"]) {
  const execution = await session.callTool(name, {});
  const { outcome } = await execution.settle();
  const seen =
    outcome.status === "completed"
      ? [outcome.result.isError === true, outcome.result.content[0].text]
      : [outcome.error?.code, outcome.error?.message];
  outcomes[name] = [execution.kind, outcome.status, ...seen];
}
const endless = await session.callTool("forever", {});
await endless.cancel();
const controller = session.task(endless.handle.taskId);
outcomes.forever = (await controller.snapshot()).status;
await session.close();
server.kill();
console.log(JSON.stringify(outcomes));
process.exit(0);
