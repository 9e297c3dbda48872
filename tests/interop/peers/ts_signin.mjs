// A client of the official TypeScript SDK that signs in to a protected server, and calls a tool that needs more.
//
//     MCP_PEER_NODE=node_modules node ts_signin.mjs URL [REVISION]
//
// Without a revision it is 1.x of the SDK, otherwise 2.x. Prints the answers of the tools as JSON.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.MCP_PEER_NODE, "index.js"));
const sdk = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${path}`)));
const revision = process.argv[3];
const modules = revision ? ["client"] : ["index", "streamableHttp", "auth"].map((name) => `sdk/client/${name}.js`);
const found = Object.assign({}, ...(await Promise.all(modules.map(sdk))));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = found;

const url = new URL(process.argv[2]);
const mode = revision >= "2026-07-28" ? { pin: revision } : "legacy";
const redirect = "http://127.0.0.1:9/callback";
const visited = [];
const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadata: { client_name: "interop", redirect_uris: [redirect], token_endpoint_auth_method: "none" },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  // With a refresh token, 1.x refreshes instead of asking for more scopes.
  saveTokens: ({ refresh_token, ...rest }) => void (kept.tokens = revision ? { refresh_token, ...rest } : rest),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  state: () => "some-state",
  redirectToAuthorization: (target) => void visited.push(target),
};

const fetchCode = async () => {
  const answer = await fetch(visited.at(-1), { redirect: "manual" });
  const found = new URL(answer.headers.get("location")).searchParams;
  return [found.get("code"), found.get("iss") ?? undefined];
};
const connected = async () => {
  const client = new Client({ name: "interop client", version: "1.0" }, { versionNegotiation: { mode } });
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
  await first.finishAuth(...(await fetchCode()));
  [client, transport] = await connected();
}
const call = async (name) => (await client.callTool({ name, arguments: { path: "x" } })).content[0].text;
const answers = [await call("read")];
try {
  answers.push(await call("save"));
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  await transport.finishAuth(...(await fetchCode()));
  answers.push(await call("save"));
}
const scopes = visited.map((each) => each.searchParams.get("scope"));
console.log(JSON.stringify({ answers, scopes, revision: client.getNegotiatedProtocolVersion?.() ?? null }));
await client.close();
