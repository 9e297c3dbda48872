// A client written with the official TypeScript SDK (1.x) that goes through all that `offer.py` lists.
//
//     MCP_PEER_NODE=node_modules node ts_client.mjs REVISION COMMAND [ARGUMENT ...]
//
// Starts the server that the command line names and prints one line of JSON per scenario: what the client saw.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.MCP_PEER_NODE, "index.js"));
const sdk = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}.js`)));
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");
const types = await sdk("types");

const [revision, command, ...args] = process.argv.slice(2);
const since = (first) => revision >= first;

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const ROOTS = [{ uri: "file:///srv/one", name: "one" }, { uri: "file:///srv/two%20words" }];
const ANSWERS = {
  accept: { action: "accept", content: { name: "Ada", age: 36 } },
  decline: { action: "decline" },
  cancel: { action: "cancel" },
  "Sign in": { action: "accept" },
};
const TOOL_USE = { type: "tool_use", id: "t-1", name: "add", input: { a: 1, b: 2 } };

const asked = [];
const heard = [];
let roots = ROOTS.slice(0, 1);

const capabilities = { roots: { listChanged: true }, sampling: {} };
if (since("2025-11-25")) capabilities.sampling = { tools: {} };
if (since("2025-06-18")) capabilities.elicitation = since("2025-11-25") ? { form: {}, url: {} } : {};
const client = new Client({ name: "interop client", version: "2.0" }, { capabilities });
client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots }));
client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => {
  asked.push(params);
  if (params.tools) {
    const turn = params.messages.at(-1).content;
    const answer = { role: "assistant", model: "parrot" };
    if (!Array.isArray(turn)) return { ...answer, content: [TOOL_USE], stopReason: "toolUse" };
    return { ...answer, content: { type: "text", text: `It is ${turn[0].content[0].text}.` }, stopReason: "endTurn" };
  }
  const words = params.messages[0].content.text;
  if (words === "something forbidden") throw new types.McpError(-1, "User rejected sampling request");
  const content = { type: "text", text: words.toUpperCase() };
  return { role: "assistant", content, model: "parrot", stopReason: "endTurn" };
});
if (since("2025-06-18")) {
  client.setRequestHandler(types.ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return ANSWERS[params.message];
  });
}
// The SDK hands no report to `onprogress` that it reads together with the answer, so all of them are counted here.
const reports = [];
const onprogress = client._onprogress.bind(client);
client.setNotificationHandler(types.ProgressNotificationSchema, (notification) => {
  reports.push(notification.params);
  onprogress(notification);
});
client.fallbackNotificationHandler = async ({ method, params }) => void heard.push({ method, params });

// Results are read with the SDK's schemas; params are sent as they are.
const request = (method, result, params = {}, options = {}) =>
  client.request({ method, params }, types[result], options);
const call = async (name, args = {}, options = {}) => {
  const answer = await request("tools/call", "CallToolResultSchema", { name, arguments: args }, options);
  if (!answer.isError) delete answer.isError; // Absent means false, and some peers write it in full.
  return answer;
};
const text = async (name, args = {}) => {
  const answer = await call(name, args);
  if (answer.isError) throw new Error(`${name}: ${JSON.stringify(answer)}`);
  return answer.content[0].text;
};
const pages = async (method, result, member) => {
  const found = [];
  let params = {};
  for (;;) {
    const answer = await request(method, result, params);
    found.push(answer[member]);
    if (answer.nextCursor === undefined) return found;
    params = { cursor: answer.nextCursor };
  }
};
const code = async (promise) => {
  try {
    return `answered: ${JSON.stringify(await promise)}`;
  } catch (error) {
    return error.code;
  }
};
const until = async (isDone) => {
  for (const end = Date.now() + 30000; Date.now() < end && !(await isDone()); ) await sleep(10);
};
const listen = async (method, count) => {
  const found = () => heard.filter((item) => item.method === method).map((item) => item.params);
  await until(() => found().length >= count);
  await sleep(50);
  const all = found();
  heard.length = 0;
  return all;
};
const prompt = (params) => request("prompts/get", "GetPromptResultSchema", params);
const read = (uri) => request("resources/read", "ReadResourceResultSchema", { uri });
const complete = async (ref, name, value, more = {}) => {
  const params = { ref, argument: { name, value }, ...more };
  return (await request("completion/complete", "CompleteResultSchema", params)).completion;
};

const scenarios = {
  initialize() {
    const all = client.getServerCapabilities();
    const features = ["logging", "prompts", "resources", "tools", ...(since("2025-03-26") ? ["completions"] : [])];
    const { name, version } = client.getServerVersion();
    return {
      protocolVersion: negotiated,
      serverInfo: { name, version },
      instructions: client.getInstructions(),
      capabilities: Object.fromEntries(features.map((feature) => [feature, all[feature] ?? null])),
    };
  },
  whoami: async () => JSON.parse(await text("whoami")),
  ping: async () => ({ ours: await client.ping(), theirs: JSON.parse(await text("ping_back")) }),
  async tools_list() {
    const found = await pages("tools/list", "ListToolsResultSchema", "tools");
    return { pages: found.map((page) => page.map((tool) => tool.name)), add: found[0][0] };
  },
  tools_call: () => call("add", { a: 2, b: 3 }),
  tools_content: async () => (await call("content")).content,
  tools_error: () => call("fail"),
  tools_unknown: () => code(call("no such tool")),
  async tools_meta() {
    const params = { name: "echo_meta", arguments: {}, _meta: { "interop/trace": "abc" } };
    return (await request("tools/call", "CallToolResultSchema", params))._meta;
  },
  async progress() {
    reports.length = 0;
    await call("count", { steps: 3 }, { onprogress: () => {} });
    await until(() => reports.length >= 3);
    return reports.map(({ progress, total, message }) => [progress, total, message ?? null]);
  },
  async cancellation() {
    const stop = new AbortController();
    const onprogress = () => stop.abort("no longer needed");
    await call("slow", {}, { onprogress, signal: stop.signal }).catch(() => {});
    let noticed = 0;
    await until(async () => (noticed = Number(await text("cancelled_calls"))) > 0);
    return noticed;
  },
  async concurrency() {
    const words = ["one", "two", "three"];
    const [sum, ...answers] = await Promise.all([
      text("add", { a: 1, b: 1 }),
      ...words.map((word) => text("ask_model", { prompt: word })),
    ]);
    return { sum, ...Object.fromEntries(words.map((word, index) => [word, answers[index]])) };
  },
  async resources_list() {
    const found = await pages("resources/list", "ListResourcesResultSchema", "resources");
    return { pages: found.map((page) => page.map((item) => item.uri)), first: found[0][0] };
  },
  resources_templates: () =>
    pages("resources/templates/list", "ListResourceTemplatesResultSchema", "resourceTemplates"),
  async resources_read() {
    const found = {};
    for (const uri of ["memo://readme", "memo://logo", "memo://notes/todo"]) found[uri] = (await read(uri)).contents;
    return found;
  },
  resources_unknown: () => code(read("memo://nothing")),
  async resources_subscribe() {
    const seen = {};
    for (const step of ["subscribe", "unsubscribe"]) {
      await request(`resources/${step}`, "EmptyResultSchema", { uri: "memo://readme" });
      await text("touch", { uri: "memo://logo" });
      await text("touch", { uri: "memo://readme" });
      seen[step] = await listen("notifications/resources/updated", step === "subscribe" ? 1 : 0);
    }
    return seen;
  },
  async prompts_list() {
    const found = await pages("prompts/list", "ListPromptsResultSchema", "prompts");
    return { pages: found.map((page) => page.map((item) => item.name)), first: found[0][0] };
  },
  prompts_get: () =>
    Promise.all([prompt({ name: "greet", arguments: { name: "Ada", style: "funny" } }), prompt({ name: "readme" })]),
  prompts_wrong: async () => ({
    argument: await code(prompt({ name: "greet", arguments: {} })),
    name: await code(prompt({ name: "no such prompt" })),
  }),
  async completion() {
    const template = { type: "ref/resource", uri: "memo://notes/{name}" };
    const seen = {
      prompt: await complete({ type: "ref/prompt", name: "greet" }, "style", "f"),
      template: await complete(template, "name", "s"),
    };
    const context = { arguments: { other: "shopping" } };
    if (since("2025-06-18")) seen.context = await complete(template, "name", "s", { context });
    return seen;
  },
  async logging() {
    const seen = {};
    for (const level of ["warning", "debug"]) {
      await request("logging/setLevel", "EmptyResultSchema", { level });
      await text("log_all");
      seen[level] = await listen("notifications/message", LEVELS.length - LEVELS.indexOf(level));
    }
    return seen;
  },
  async sampling() {
    asked.length = 0;
    return { answer: await text("ask_model", { prompt: "hello" }), asked: [...asked] };
  },
  sampling_denied: () => text("ask_model", { prompt: "something forbidden" }),
  async roots() {
    const before = JSON.parse(await text("roots"));
    roots = ROOTS;
    await client.sendRootsListChanged();
    let after;
    await until(async () => (after = JSON.parse(await text("roots"))).changes > 0);
    return [before, after];
  },
  async list_changed() {
    heard.length = 0;
    await text("change_lists");
    const kinds = ["tools", "resources", "prompts"];
    await until(() => heard.length >= kinds.length);
    const count = (kind) => heard.filter((item) => item.method === `notifications/${kind}/list_changed`).length;
    return Object.fromEntries(kinds.map((kind) => [kind, count(kind)]));
  },
};
if (since("2025-06-18")) {
  scenarios.elicitation = async () => {
    asked.length = 0;
    const answers = {};
    for (const word of ["accept", "decline", "cancel"]) {
      answers[word] = JSON.parse(await text("ask_user", { question: word }));
    }
    return { schema: asked[0].requestedSchema, answers };
  };
}
if (since("2025-11-25")) {
  scenarios.elicitation_url = async () => {
    asked.length = 0;
    const action = await text("ask_user_elsewhere");
    return { asked: [...asked], action, completed: await listen("notifications/elicitation/complete", 1) };
  };
  scenarios.sampling_with_tools = async () => {
    asked.length = 0;
    const answer = await text("ask_model_with_tools");
    return { turns: asked.map(({ messages }) => messages.at(-1).content), answer };
  };
  scenarios.tasks = async () => {
    if (!client.getServerCapabilities().tasks) return { offered: false };
    const start = async (name, args) => {
      const params = { name, arguments: args, task: { ttl: 60000 } };
      return (await request("tools/call", "CreateTaskResultSchema", params)).task;
    };
    const get = (taskId) => request("tasks/get", "GetTaskResultSchema", { taskId });
    const cancel = (taskId) => request("tasks/cancel", "CancelTaskResultSchema", { taskId });
    const result = (taskId) => request("tasks/result", "CallToolResultSchema", { taskId });
    const [short, long] = [await start("work", { steps: 1 }), await start("work", { steps: 100000 })];
    return {
      offered: true,
      created: short.status,
      ttl: short.ttl,
      result: (await result(short.taskId)).content,
      after: (await get(short.taskId)).status,
      cancelled: (await cancel(long.taskId)).status,
      listed: (await request("tasks/list", "ListTasksResultSchema")).tasks.map((task) => task.status).sort(),
      again: await code(cancel(long.taskId)),
      unknown: await code(get("no such task")),
      asked: JSON.parse((await result((await start("ask_user", { question: "accept" })).taskId)).content[0].text),
    };
  };
}

// The SDK asks for the newest revision that it knows, and tells nobody but its transport what was agreed upon.
let negotiated;
const transport = new StdioClientTransport({ command, args, env: process.env });
const send = transport.send.bind(transport);
transport.send = (message, options) => {
  if (message.method === "initialize") message.params.protocolVersion = revision;
  return send(message, options);
};
transport.setProtocolVersion = (version) => void (negotiated = version);
await client.connect(transport);
for (const [scenario, play] of Object.entries(scenarios)) {
  try {
    const late = sleep(15000).then(() => Promise.reject(new Error("no end within 15 s")));
    console.log(JSON.stringify({ scenario, saw: await Promise.race([play(), late]) }));
  } catch (error) {
    console.log(JSON.stringify({ scenario, failed: String(error) }));
  }
}
await client.close();
process.exit(0);
