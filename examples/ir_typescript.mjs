// The TypeScript types of a revision, from the file that `mcp-bindgen export ir` writes:
//
//     mcp-bindgen export ir 2025-11-25 --output ir.json
//     node examples/ir_typescript.mjs ir.json > protocol.ts

import { readFileSync } from "node:fs";

const quote = JSON.stringify;
const KEYWORDS = { any: "unknown", integer: "number" };

function spell(type) {
  switch (type.kind) {
    case "literal":
      return type.values.map(quote).join(" | ");
    case "ref":
      return type.name;
    case "list":
      return `Array<${spell(type.items)}>`;
    case "map":
      return `{ [key: string]: ${type.values.kind === "any" ? "any" : spell(type.values)} }`;
    case "union":
      return type.members.map(spell).join(" | ");
    default:
      return [...(type.known ?? []).map(quote), KEYWORDS[type.kind] ?? type.kind].join(" | ");
  }
}

// The documentation, and tags for what TypeScript cannot express.
function comment(item, type, indent) {
  const number = [type, ...(type?.members ?? [])].find((each) => each && ["integer", "number"].includes(each.kind));
  const tags = { ...type?.bounds, format: type?.format, "TJS-type": number?.kind, deprecated: item.deprecated };
  const stated = Object.entries(tags).filter(([, value]) => value !== undefined);
  const lines = [item.doc ?? item.name, ...stated.map(([tag, value]) => `@${tag}${value === true ? "" : ` ${value}`}`)];
  const text = lines.join("\n").replaceAll("*/", "*\\/").split("\n");
  return ["/**", ...text.map((line) => ` * ${line}`.trimEnd()), " */"].map((line) => `${indent}${line}\n`).join("");
}

function declare(definition) {
  const head = comment(definition, definition.type, "");
  if (definition.kind === "alias") return `${head}export type ${definition.name} = ${spell(definition.type)};\n`;
  const bases = (definition.extends ?? []).map(({ name, omits }) =>
    omits ? `Omit<${name}, ${omits.map(quote).join(" | ")}>` : name);
  const members = definition.properties.filter((property) => !property.inherited).map((property) =>
    comment(property, property.type, "  ") +
    `  ${quote(property.name)}${property.required ? "" : "?"}: ${spell(property.type)};\n`);
  if (definition.additional && definition.additional.kind !== "any") {
    members.push(`  [key: string]: ${spell(definition.additional)};\n`);
  }
  return `${head}export interface ${definition.name}${bases.length ? ` extends ${bases.join(", ")}` : ""} {\n${members.join("")}}\n`;
}

const ir = JSON.parse(readFileSync(process.argv[2], "utf8"));
if (ir.format !== 1) throw new Error(`this program reads format 1, not ${ir.format}`);

const requests = ir.methods.filter((method) => method.kind === "request").map((method) =>
  `  ${quote(method.name)}: { params: ${method.params ?? "undefined"}; result: ${[method.result, ...(method.alternatives ?? [])].join(" | ")} };\n`);
const constants = ir.constants.map(({ name, value }) => `export const ${name} = ${quote(value)};\n`);
const requestTypes = `/** The params and the result of each request. */\nexport interface Requests {\n${requests.join("")}}\n`;
process.stdout.write([constants.join(""), ...ir.definitions.map(declare), requestTypes].join("\n"));
