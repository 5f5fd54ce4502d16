// Fixtures of the `tools-*`, `json-schema-*`, `http-*` and `server-stateless` scenarios.

import { setTimeout as delay } from "node:timers/promises";
import { fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import type { CallToolResult, McpServer, ServerContext, ServerNotifier } from "@modelcontextprotocol/server";
import { z } from "zod";
import { RED_PIXEL_PNG, SILENT_WAV } from "./samples.ts";

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });

/** Registers the tools that take one round. */
export function registerTools(server: McpServer, notify: ServerNotifier): void {
  registerContentTools(server);
  registerSchemaTools(server);
  registerStreamTools(server);
  registerTriggerTools(server, notify);
}

function registerContentTools(server: McpServer): void {
  server.registerTool("test_simple_text", { description: "Returns plain text" }, () =>
    text("This is a simple text response for testing."),
  );
  server.registerTool("test_image_content", { description: "Returns an image" }, () => ({
    content: [{ type: "image", data: RED_PIXEL_PNG, mimeType: "image/png" }],
  }));
  server.registerTool("test_audio_content", { description: "Returns a sound" }, () => ({
    content: [{ type: "audio", data: SILENT_WAV, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", { description: "Returns an embedded resource" }, () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  server.registerTool("test_multiple_content_types", { description: "Returns text, an image and a resource" }, () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: RED_PIXEL_PNG, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      },
    ],
  }));
  server.registerTool("test_error_handling", { description: "Always throws" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

function registerSchemaTools(server: McpServer): void {
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has an input schema of many keywords", inputSchema: fromJsonSchema(JSON_SCHEMA_2020_12) },
    (input) => text(`Called with ${JSON.stringify(input)}`),
  );
  server.registerTool(
    "test_custom_header",
    {
      description: "Has an argument that is repeated in a request header",
      inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    },
    ({ region }) => text(`Region ${region}`),
  );
}

function registerStreamTools(server: McpServer): void {
  server.registerTool("test_tool_with_progress", { description: "Reports its progress" }, async (ctx) => {
    for (const [pause, progress] of [[0, 0], [50, 50], [50, 100]] as const) {
      await delay(pause);
      await report(ctx, progress);
    }
    return text("Tool with progress executed successfully");
  });
  server.registerTool(
    "test_streaming_elicitation",
    { description: "Reports progress, then asks a question" },
    async (ctx) => {
      await report(ctx, 50);
      return inputRequired({
        inputRequests: {
          confirm: inputRequired.elicit({ message: "Go on?", requestedSchema: z.object({ ok: z.boolean() }) }),
        },
      });
    },
  );
  server.registerTool("test_logging_tool", { description: "Logs, where the request asks for logs" }, async (ctx) => {
    await ctx.mcpReq.log("info", "Diagnostic trace logging activated");
    return text("Logging evaluated");
  });
  server.registerTool("test_missing_capability", { description: "Cannot work without sampling" }, () =>
    inputRequired({
      inputRequests: {
        sample: inputRequired.createMessage({
          messages: [{ role: "user", content: { type: "text", text: "Say anything" } }],
          maxTokens: 10,
        }),
      },
    }),
  );
}

async function report(ctx: ServerContext, progress: number): Promise<void> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
}

function registerTriggerTools(server: McpServer, notify: ServerNotifier): void {
  server.registerTool("test_trigger_tool_change", { description: "Announces a change of the tool list" }, () => {
    notify.toolsChanged();
    return text("Mutation triggered");
  });
  server.registerTool("test_trigger_prompt_change", { description: "Announces a change of the prompt list" }, () => {
    notify.promptsChanged();
    return text("Mutation triggered");
  });
}

const JSON_SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // `then` is a keyword of the schema here, not a promise's method.
  // oxlint-disable-next-line unicorn/no-thenable
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
