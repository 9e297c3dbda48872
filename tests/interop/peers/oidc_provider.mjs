// An issuer by others: oidc-provider, which signs everybody in and consents to everything.
//
//     MCP_PEER_NODE=node_modules node oidc_provider.mjs RESOURCE [SECONDS]
//
// It issues JWTs for the resource, which are valid for some seconds, prints its URL, and ends with its standard input.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.MCP_PEER_NODE, "index.js"));
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
const { generateKeyPair, exportJWK } = await import(pathToFileURL(require.resolve("jose")));

const [resource, seconds = "3600"] = process.argv.slice(2);
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const { privateKey } = await generateKeyPair("ES256", { extractable: true });

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "machine",
      client_secret: "s3cret",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "ES256", use: "sig", kid: "one" }] },
  scopes: ["openid", "offline_access", "read", "write"],
  pkce: { required: () => true },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, indicator) => {
        if (indicator !== resource) throw new Error("unknown resource");
        return {
          scope: "read write",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: Number(seconds),
          jwt: { sign: { alg: "ES256" } },
        };
      },
    },
  },
  // A native client may use any port of 127.0.0.1 (RFC 8252, 7.3).
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  rotateRefreshToken: true,
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
const answer = provider.callback();
let requests = {};

process.on("unhandledRejection", (error) => console.error(error));
server.on("request", async (req, res) => {
  const path = req.url.split("?")[0];
  if (path === "/requests") {
    res.end(JSON.stringify(requests));
    return;
  }
  requests[path] = (requests[path] ?? 0) + 1;
  if (!path.startsWith("/interaction/")) {
    answer(req, res);
    return;
  }
  const { prompt, params, session } = await provider.interactionDetails(req, res);
  let result = { login: { accountId: "ada" } };
  if (prompt.name === "consent") {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope("openid offline_access read write");
    grant.addResourceScope(resource, "read write");
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
});
console.log(issuer);
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
