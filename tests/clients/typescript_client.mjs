// What a program does with a memory through the TypeScript SDK; prints JSON.
//
// node typescript_client.mjs NODE_MODULES '{"command": "commonplace", "args": ["mcp"]}' '["a question"]'
// node typescript_client.mjs NODE_MODULES '{"url": "http://127.0.0.1:7412/mcp", "token": "…"}' '["a question"]'
import { pathToFileURL } from "node:url";

const [modules, target, questions] = [process.argv[2], ...process.argv.slice(3).map((text) => JSON.parse(text))];
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}.js`));
const { Client } = await sdk("index");
const { StdioClientTransport } = await sdk("stdio");
const { StreamableHTTPClientTransport } = await sdk("streamableHttp");

const client = new Client({ name: "a-typescript-program", version: "1.0.0" });
const headers = { Authorization: `Bearer ${target.token}` };
await client.connect(
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
    : new StdioClientTransport(target),
);
const call = (name, args) => client.callTool({ name, arguments: args });
const found = { tools: (await client.listTools()).tools, searches: [] };
for (const query of questions) found.searches.push(await call("memory_search", { query, limit: 1 }));
found.resource = (await client.readResource({ uri: "commonplace://memory/MEMORY.md" })).contents;
const completion = await client.complete({
  ref: { type: "ref/resource", uri: "commonplace://{collection}/{+path}" },
  argument: { name: "path", value: "memory/2026-02-1" },
});
found.completed = completion.completion.values;
found.written = await call("memory_write", { text: "The heron nests in the boathouse." });
await client.close();
console.log(JSON.stringify(found));
