import assert from "node:assert/strict";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";
import type { DetailedTask, JsonObject, JsonRpcError, Task } from "../../src/mod.ts";
import type { Variation } from "./rpc.ts";
import { envelope } from "./rpc.ts";
import { patiently } from "./until.ts";

/** The command that runs one of the tests' programs on the runtime that the tests run on. */
export function programOf(name: string, args: readonly string[] = []): [string, ...string[]] {
  return runFile(runningOn(), fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url)), args);
}

/** A program that speaks JSON-RPC on its standard streams, and a small client of it. */
export class StdioChild {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Set<() => void>();
  readonly #unread: JsonObject[] = [];
  readonly #exited: Promise<number | NodeJS.Signals | null>;
  #lastId = 0;
  #partial = "";
  /** Every line on standard output that is no JSON-RPC message: there may be none. */
  readonly garbage: string[] = [];
  /** All that came on standard error. */
  stderr = "";

  constructor(name: string, args: readonly string[] = []) {
    const [command, ...rest] = programOf(name, args);
    this.#process = spawn(command, rest);
    this.#process.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.#process.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    // One that is gone already reads nothing more.
    this.#process.stdin.on("error", () => {});
    this.#exited = once(this.#process, "close").then(([code, signal]) => {
      this.#wake();
      return (code ?? signal) as number | NodeJS.Signals | null;
    });
  }

  /** Sends a text as it is. */
  write(text: string): void {
    this.#process.stdin.write(text);
  }

  send(message: JsonObject): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a request and gives its id. */
  begin(method: string, params: JsonObject = {}, variation: Variation = {}): unknown {
    const { id = (this.#lastId += 1), capabilities, meta } = variation;
    this.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope(capabilities, meta) } });
    return id;
  }

  notify(method: string, params: JsonObject = {}): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /** The next message that is not read yet and that `wanted` takes; the others stay unread. */
  async next(wanted: (message: JsonObject) => boolean): Promise<JsonObject> {
    return patiently(async () => {
      for (;;) {
        const at = this.#unread.findIndex(wanted);
        const [message] = at < 0 ? [] : this.#unread.splice(at, 1);
        if (message !== undefined) return message;
        if (this.#process.exitCode !== null) throw new Error(`The program has ended. It wrote: ${this.stderr}`);
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    });
  }

  /** The response to a request. */
  async response(id: unknown): Promise<JsonObject> {
    return this.next((message) => message["id"] === id && !("method" in message));
  }

  /** The next notification of a method that carries a subscription's id, or whatever `of` asks for. */
  async notification(method: string, of: (params: JsonObject) => boolean = () => true): Promise<JsonObject> {
    const message = await this.next((one) => one["method"] === method && of(one["params"] as JsonObject));
    return message["params"] as JsonObject;
  }

  async request(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    return this.response(this.begin(method, params, variation));
  }

  async result(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    const response = await this.request(method, params, variation);
    assert.equal(response["error"], undefined, `${method} failed: ${JSON.stringify(response["error"])}`);
    return response["result"] as JsonObject;
  }

  async error(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonRpcError> {
    const response = await this.request(method, params, variation);
    assert.equal(response["result"], undefined, `${method} succeeded: ${JSON.stringify(response["result"])}`);
    return response["error"] as JsonRpcError;
  }

  async call(name: string, args: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    return this.result("tools/call", { name, arguments: args }, variation);
  }

  async task(name: string, args: JsonObject = {}, variation: Variation = {}): Promise<Task> {
    const result = await this.call(name, args, variation);
    assert.equal(result["resultType"], "task", `${name} was answered inline: ${JSON.stringify(result)}`);
    return result as unknown as Task;
  }

  async get(taskId: string): Promise<DetailedTask> {
    return (await this.result("tasks/get", { taskId })) as unknown as DetailedTask;
  }

  /** Takes nothing from standard output until `work` is done. */
  async withoutReading(work: () => Promise<void>): Promise<void> {
    this.#process.stdout.pause();
    try {
      await work();
    } finally {
      this.#process.stdout.resume();
    }
  }

  /** What came and nobody has read. */
  get unread(): readonly JsonObject[] {
    return this.#unread;
  }

  /** Closes the program's standard input, waits for it to end by itself, and gives its exit code or signal. */
  async end(): Promise<number | NodeJS.Signals | null> {
    this.#process.stdin.end();
    return patiently(() => this.#exited);
  }

  /** Ends the program, if it is there still. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#exited;
  }

  #take(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) {
      try {
        const message = JSON.parse(line) as JsonObject;
        if (message["jsonrpc"] !== "2.0") throw new Error("no JSON-RPC");
        this.#unread.push(message);
      } catch {
        this.garbage.push(line);
      }
    }
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

/** A test with a program of its own, which is ended at the test's end, and may write nothing but the protocol. */
export function withChild(
  name: string,
  test: (child: StdioChild) => Promise<void>,
  args: readonly string[] = [],
): () => Promise<void> {
  return async () => {
    const child = new StdioChild(name, args);
    try {
      await test(child);
    } finally {
      await child.kill();
    }
    assert.deepEqual(child.garbage, [], "nothing but the protocol on standard output");
    assert.equal(child.stderr, "");
  };
}

/** Runs one of the tests' programs to its end, and gives its exit code and all that it wrote. */
export async function runProgram(name: string, args: readonly string[] = []): Promise<{ code: unknown; output: string }> {
  const [command, ...rest] = programOf(name, args);
  const program = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const closed = once(program, "close");
  try {
    const [code] = (await patiently(() => closed)) as [unknown];
    return { code, output };
  } finally {
    program.kill("SIGKILL");
  }
}
