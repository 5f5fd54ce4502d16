// A host in a Hono app that has routes of its own, with bearer tokens. A task belongs to whom the token belongs to:
// nobody else can see it, even with its id.
//
//   node examples/hono-app.ts
//   ERRAND_TOKEN=ann-secret node src/cli/main.ts call http://127.0.0.1:3000/mcp countdown '{"from":3}'

import { OAuthError, OAuthErrorCode, requireBearerAuth } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import process from "node:process";
import { z } from "zod";
import { createHost, serve } from "../src/mod.ts";

/** Who has which token. A real verifier asks the authorisation server, or checks a signature. */
const people = new Map([
  ["ann-secret", "ann"],
  ["ben-secret", "ben"],
]);
const TOKEN_SECONDS = 3600;

const host = createHost({
  name: "countdown",
  version: "1.0.0",
  auth: requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const person = people.get(token);
        if (person === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, "Unknown token");
        const expiresAt = Math.floor(Date.now() / 1000) + TOKEN_SECONDS;
        return { token, clientId: "countdown-clients", scopes: [], expiresAt, extra: { sub: person } };
      },
    },
  }),
  // Without this, a principal is the client's id and the person's together.
  principal: ({ extra }) => String(extra?.["sub"]),
});

host.tool(
  "countdown",
  { description: "Counts down", inputSchema: z.object({ from: z.int().min(0).max(60) }) },
  async ({ from }, task) => {
    for (let left = from; left > 0; left -= 1) {
      task.progress(from - left, from, `${left} to go`);
      await task.sleep("tick", 100);
    }
    return `Lift-off, ${task.principal}`;
  },
);

const app = new Hono();
app.get("/", (c) => c.text("The countdown is at /mcp"));
app.route("/", host.app);

const { url } = await serve(app, { port: Number(process.env["PORT"] ?? 3000) });
console.log(`Counting down at ${url}`);
