// Calls a tool, follows the task it may become, answers its questions, and prints the result:
//
//   node examples/call.ts <url> <tool> ['{"arguments": "as JSON"}']
//   node examples/call.ts "<command of a stdio server>" <tool> ['{"arguments": "as JSON"}']
//
// A bearer token for the server is taken from TOKEN.

import type { Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import process from "node:process";
import type { DetailedTask } from "../src/mod.ts";
import { TaskClient } from "./support/task-client.ts";
import { answer, bold, dim } from "./support/terminal.ts";

const [server, name, json = "{}"] = process.argv.slice(2);
if (server === undefined || name === undefined) {
  console.error("Usage: call.ts <url or command> <tool> ['{\"arguments\": \"as JSON\"}']");
  process.exit(2);
}

let client: TaskClient | undefined;
try {
  client = await TaskClient.connect(transportTo(server), answer);
  let told = "";
  const show = ({ taskId, status, statusMessage }: DetailedTask) => {
    if (told === "") console.log(`   ${dim("task")} ${taskId}`);
    const now = statusMessage === undefined ? status : `${status}: ${statusMessage}`;
    if (now !== told) console.log(`   ${dim(now)}`);
    told = now;
  };
  const { content, structuredContent, isError } = await client.call({ name, arguments: JSON.parse(json) }, show);
  if (structuredContent !== undefined) console.log(bold(JSON.stringify(structuredContent)));
  else for (const block of content) console.log(bold(block.type === "text" ? block.text : `[${block.type}]`));
  process.exitCode = isError === true ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await client?.close();
}

function transportTo(server: string): Transport {
  if (!/^https?:/.test(server)) {
    const [command = "", ...args] = server.split(" ");
    return new StdioClientTransport({ command, args });
  }
  const token = process.env["TOKEN"];
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(server), { requestInit: { headers } });
}
