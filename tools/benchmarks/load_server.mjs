// The side of the HTTP rows written with the official TypeScript SDK (2.x): prints its URL, and serves until the process ends.
//
//     MCP_BENCH_NODE=node_modules node load_server.mjs

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.MCP_BENCH_NODE, "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer, createMcpHandler } = await load("@modelcontextprotocol/server");
const { toNodeHandler, localhostHostValidation, localhostOriginValidation } = await load("@modelcontextprotocol/node");
const { z } = await load("zod");

const inputSchema = z.object({ text: z.string() });
const outputSchema = z.object({ result: z.string() });
const answer = (text) => ({ content: [{ type: "text", text }], structuredContent: { result: text } });

// As in its documentation: a server for each request, in both eras.
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "echo", version: "0.1.0" });
  server.registerTool("echo", { description: "Echo a text.", inputSchema, outputSchema }, async ({ text }) => answer(text));
  server.registerTool("stream", { description: "Echo a text.", inputSchema, outputSchema }, async ({ text }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    return answer(text);
  });
  return server;
});
const [checkHost, checkOrigin, handle] = [localhostHostValidation(), localhostOriginValidation(), toNodeHandler(handler)];
const http = createServer((req, res) => {
  if (checkHost(req, res) && checkOrigin(req, res)) void handle(req, res);
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
