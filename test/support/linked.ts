import assert from "node:assert/strict";
import { linkedTransports } from "../../src/client/link.ts";
import type { ConnectionHandle, DetailedTask, Host, JsonObject, JsonRpcError, Task } from "../../src/mod.ts";
import type { Variation } from "./rpc.ts";
import { envelope } from "./rpc.ts";
import { patiently } from "./until.ts";

type Sent = Parameters<ReturnType<typeof linkedTransports>[0]["send"]>[0];

/** A small client of a host in the same process, over a pair of linked transports. */
export class LinkedPeer {
  readonly handle: ConnectionHandle;
  readonly #transport: ReturnType<typeof linkedTransports>[0];
  readonly #waiting = new Set<() => void>();
  #lastId = 0;
  #closed = false;
  /** What came and nobody has read. */
  readonly unread: JsonObject[] = [];

  constructor(host: Host) {
    const [ours, theirs] = linkedTransports();
    this.#transport = ours;
    ours.onmessage = (message) => {
      this.unread.push(message);
      this.#wake();
    };
    ours.onclose = () => {
      this.#closed = true;
      this.#wake();
    };
    this.handle = host.connect(theirs);
    void ours.start();
  }

  /** Whether the connection is over, as the client knows it. */
  get closed(): boolean {
    return this.#closed;
  }

  send(message: JsonObject): Promise<void> {
    return this.#transport.send(message as unknown as Sent);
  }

  /** Sends a request and gives its id. */
  async begin(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<unknown> {
    const { id = (this.#lastId += 1), capabilities, meta } = variation;
    await this.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope(capabilities, meta) } });
    return id;
  }

  notify(method: string, params: JsonObject = {}): Promise<void> {
    return this.send({ jsonrpc: "2.0", method, params });
  }

  /** The next message that is not read yet and that `wanted` takes; the others stay unread. */
  next(wanted: (message: JsonObject) => boolean): Promise<JsonObject> {
    return patiently(async () => {
      for (;;) {
        const at = this.unread.findIndex(wanted);
        const [message] = at < 0 ? [] : this.unread.splice(at, 1);
        if (message !== undefined) return message;
        if (this.#closed) throw new Error("The connection is closed.");
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    });
  }

  async notification(method: string): Promise<JsonObject> {
    return (await this.next((message) => message["method"] === method))["params"] as JsonObject;
  }

  response(id: unknown): Promise<JsonObject> {
    return this.next((message) => message["id"] === id && !("method" in message));
  }

  async result(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    const response = await this.response(await this.begin(method, params, variation));
    assert.equal(response["error"], undefined, `${method} failed: ${JSON.stringify(response["error"])}`);
    return response["result"] as JsonObject;
  }

  async error(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonRpcError> {
    const response = await this.response(await this.begin(method, params, variation));
    assert.equal(response["result"], undefined, `${method} succeeded: ${JSON.stringify(response["result"])}`);
    return response["error"] as JsonRpcError;
  }

  call(name: string, args: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    return this.result("tools/call", { name, arguments: args }, variation);
  }

  async task(name: string, args: JsonObject = {}): Promise<Task> {
    const result = await this.call(name, args);
    assert.equal(result["resultType"], "task", `${name} was answered inline: ${JSON.stringify(result)}`);
    return result as unknown as Task;
  }

  async get(taskId: string): Promise<DetailedTask> {
    return (await this.result("tasks/get", { taskId })) as unknown as DetailedTask;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}
