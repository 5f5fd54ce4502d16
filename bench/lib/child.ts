import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { childEnv } from "../../scripts/lib/command.mjs";
import type { Runtime } from "../../scripts/lib/runtimes.mjs";
import { runFile } from "../../scripts/lib/runtimes.mjs";

/** A process that answers commands (see `commands.ts`), one at a time. It ends with this one. */
export interface Child {
  /** Rejects with what the command threw, or with what the process wrote when it ended instead. */
  ask<Answer>(command: string, options?: object): Promise<Answer>;
  end(): Promise<void>;
}

/** Starts a module of this folder's on a runtime, with its garbage collector at hand. */
export function startChild(runtime: Runtime, file: string, args: readonly string[] = []): Child {
  const [program, ...rest] = runFile(runtime, fileURLToPath(new URL(`../${file}`, import.meta.url)), args);
  if (runtime === "node") rest.unshift("--expose-gc");
  if (runtime === "deno") rest.splice(1, 0, "--v8-flags=--expose-gc");
  const child = spawn(program, rest, { env: childEnv({ NODE_ENV: "production" }), stdio: ["pipe", "pipe", "pipe"] });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  // A command that cannot be written is never answered, and the end says why.
  child.stdin.on("error", () => {});
  const ended = once(child, "close");
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  return {
    async ask<Answer>(command: string, options: object = {}) {
      child.stdin.write(`${JSON.stringify({ command, options })}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error(`${file} on ${runtime} ended before it answered "${command}":\n${complaints}`);
      const answer = JSON.parse(value) as { result: Answer } | { error: string };
      if ("error" in answer) throw new Error(`${file} on ${runtime} failed at "${command}":\n${answer.error}`);
      return answer.result;
    },
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

/** Starts processes for the time of some work, and ends them after it. */
export async function withChildren<Name extends string, Result>(
  children: Record<Name, Child>,
  work: (children: Record<Name, Child>) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(children);
  } finally {
    await Promise.all(Object.values<Child>(children).map((child) => child.end()));
  }
}
