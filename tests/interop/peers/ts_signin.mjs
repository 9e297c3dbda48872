// A client of the official TypeScript SDK (1.x) that signs in to a protected server, and calls a tool that needs more.
//
//     MCP_PEER_NODE=node_modules node ts_signin.mjs URL
//
// Prints the answers of the tools as JSON.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.MCP_PEER_NODE, "index.js"));
const sdk = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}.js`)));
const { Client } = await sdk("client/index");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");
const { UnauthorizedError } = await sdk("client/auth");

const url = new URL(process.argv[2]);
const redirect = "http://127.0.0.1:9/callback";
const visited = [];
const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadata: { client_name: "interop", redirect_uris: [redirect], token_endpoint_auth_method: "none" },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  // With a refresh token, the SDK refreshes instead of asking for more scopes.
  saveTokens: ({ refresh_token, ...tokens }) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  state: () => "some-state",
  redirectToAuthorization: (target) => void visited.push(target),
};

const fetchCode = async () => {
  const answer = await fetch(visited.at(-1), { redirect: "manual" });
  return new URL(answer.headers.get("location")).searchParams.get("code");
};
const connected = async () => {
  const client = new Client({ name: "interop client", version: "1.0" });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
  await client.connect(transport);
  return [client, transport];
};
let client, transport;
try {
  [client, transport] = await connected();
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  const first = new StreamableHTTPClientTransport(url, { authProvider: provider });
  await first.finishAuth(await fetchCode());
  [client, transport] = await connected();
}
const call = async (name) => (await client.callTool({ name, arguments: { path: "x" } })).content[0].text;
const answers = [await call("read")];
try {
  answers.push(await call("save"));
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  await transport.finishAuth(await fetchCode());
  answers.push(await call("save"));
}
console.log(JSON.stringify({ answers, scopes: visited.map((each) => each.searchParams.get("scope")) }));
await client.close();
