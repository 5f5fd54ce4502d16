import type { InputRequests, JsonObject } from "../../src/mod.ts";
import { envelope, TASKS } from "../support/rpc.ts";

/** What chance is taken from: numbers of at least 0 and below 1. */
export type Random = () => number;

/** An HTTP request to the endpoint, or without its headers a line on stdio. */
export interface Shot {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** What earlier answers gave to go on with. */
export class Loot {
  readonly taskIds: string[] = [];
  readonly rounds: { name: string; args: JsonObject; requestState: string; inputRequests: InputRequests }[] = [];
  readonly questions: { taskId: string; inputRequests: InputRequests }[] = [];

  /** Takes out of an answer to a shot what another shot can use. */
  take(shot: string, answer: unknown): void {
    const result = (answer as { result?: JsonObject } | undefined)?.result;
    if (typeof result !== "object" || result === null) return;
    const { taskId, requestState, inputRequests } = result;
    if (typeof taskId === "string") {
      if (!this.taskIds.includes(taskId)) keep(this.taskIds, taskId);
      if (inputRequests !== undefined) keep(this.questions, { taskId, inputRequests: inputRequests as InputRequests });
    } else if (typeof requestState === "string") {
      try {
        const { params } = JSON.parse(shot) as { params: { name: string; arguments: JsonObject } };
        const { name, arguments: args } = params;
        keep(this.rounds, { name, args, requestState, inputRequests: inputRequests as InputRequests });
      } catch {
        // The shot was no JSON, and cannot be told again.
      }
    }
  }
}

/** Keeps a limited number of things, the newest. */
function keep<Thing>(things: Thing[], thing: Thing): void {
  things.push(thing);
  if (things.length > 50) things.shift();
}

const TOOLS = ["echo", "brief", "wait", "slow", "rounds", "asks", "elsewhere", "structured", "refuses", "strict", "none"];

const METHODS = [
  "server/discover",
  "initialize",
  "ping",
  "tools/list",
  "tasks/list",
  "tasks/result",
  "resources/list",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/progress",
  "__proto__",
  "constructor",
];

/** Makes shots: valid ones, spoilt ones, and garbage. */
export class Gun {
  readonly #random: Random;
  readonly #loot: Loot;
  #lastId = 0;

  constructor(random: Random, loot: Loot) {
    this.#random = random;
    this.#loot = loot;
  }

  /** The next shot. */
  load(): Shot {
    const message = this.#message();
    if (this.#chance(0.55)) this.#spoil(message, 1 + this.#below(3));
    const { method, params } = message as { method?: unknown; params?: JsonObject };
    const name = params?.["name"] ?? params?.["uri"] ?? params?.["taskId"];
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
    };
    if (typeof method === "string") headers["mcp-method"] = headerSafe(method);
    if (typeof name === "string") headers["mcp-name"] = headerSafe(name);
    if (this.#chance(0.15)) this.#spoilHeaders(headers);
    let body = JSON.stringify(this.#chance(0.02) ? [message, message] : message);
    if (this.#chance(0.12)) body = this.#spoilText(body);
    return { method: this.#chance(0.02) ? this.#pick(["GET", "DELETE", "PUT", "OPTIONS"]) : "POST", headers, body };
  }

  #message(): JsonObject {
    const id = this.#chance(0.9) ? (this.#lastId += 1) : this.#strange();
    const meta = structuredClone(envelope(this.#chance(0.8) ? undefined : TASKS));
    if (this.#chance(0.2)) meta["progressToken"] = this.#below(9);
    const params: JsonObject = { _meta: meta };
    const method = this.#method(params);
    return { jsonrpc: "2.0", id, method, params };
  }

  /** A method, and its parameters. */
  #method(params: JsonObject): string {
    const { taskIds, rounds, questions } = this.#loot;
    const taskId = this.#chance(0.85) && taskIds.length > 0 ? this.#pick(taskIds) : this.#strange();
    switch (this.#below(8)) {
      case 0:
        Object.assign(params, { name: this.#pick(TOOLS), arguments: this.#arguments() });
        return "tools/call";
      case 1: {
        if (rounds.length === 0) return this.#call(params, "rounds");
        const { name, args, requestState, inputRequests } = this.#pick(rounds);
        const inputResponses = this.#answers(inputRequests);
        Object.assign(params, { name, arguments: args, requestState, inputResponses });
        return "tools/call";
      }
      case 2:
        return this.#call(params, this.#pick(["asks", "rounds", "brief", "slow"]));
      case 3:
        params["taskId"] = taskId;
        return "tasks/get";
      case 4: {
        if (questions.length === 0) return this.#call(params, "asks");
        const asked = this.#pick(questions);
        Object.assign(params, { taskId: asked.taskId, inputResponses: this.#answers(asked.inputRequests) });
        return "tasks/update";
      }
      case 5:
        params["taskId"] = taskId;
        return this.#chance(0.4) ? "tasks/cancel" : "tasks/get";
      case 6:
        params["notifications"] = {
          taskIds: this.#some(taskIds),
          ...(this.#chance(0.3) && { toolsListChanged: true }),
        };
        return "subscriptions/listen";
      default:
        Object.assign(params, this.#chance(0.5) ? { name: this.#strange(), uri: this.#strange(), requestId: 1 } : {});
        return this.#pick(METHODS);
    }
  }

  #call(params: JsonObject, name: string): string {
    Object.assign(params, { name, arguments: this.#arguments() });
    return "tools/call";
  }

  #arguments(): JsonObject {
    if (this.#chance(0.2)) return { id: 7, tags: ["a"] };
    return this.#chance(0.5) ? {} : { text: String(this.#below(99)), any: this.#strange() };
  }

  #answers(inputRequests: InputRequests): JsonObject {
    const answers: JsonObject = this.#chance(0.1) ? { [String(this.#strange())]: this.#strange() } : {};
    for (const [key, { method }] of Object.entries(inputRequests)) {
      if (this.#chance(0.1)) continue;
      if (this.#chance(0.1)) answers[key] = this.#strange();
      else if (method === "roots/list") answers[key] = { roots: [{ uri: "file:///a" }] };
      else if (method === "sampling/createMessage") {
        answers[key] = { role: "assistant", content: { type: "text", text: "hm" }, model: "m" };
      } else {
        const action = this.#pick(["accept", "accept", "accept", "decline", "cancel", "maybe"]);
        answers[key] = { action, content: this.#chance(0.8) ? { name: "Ada" } : this.#strange() };
      }
    }
    return answers;
  }

  /** Changes something somewhere in a message, some times over. */
  #spoil(message: JsonObject, times: number): void {
    for (let left = times; left > 0; left -= 1) {
      let place = message;
      for (let depth = this.#below(5); depth > 0; depth -= 1) {
        const inner = Object.values(place).filter((value) => typeof value === "object" && value !== null);
        if (inner.length === 0) break;
        place = this.#pick(inner) as JsonObject;
      }
      const keys = Object.keys(place);
      const key = keys.length === 0 || this.#chance(0.2) ? String(this.#strange()) : this.#pick(keys);
      if (this.#chance(0.25)) delete place[key];
      else define(place, key, this.#strange());
    }
  }

  #spoilHeaders(headers: Record<string, string>): void {
    const name = this.#pick([...Object.keys(headers), "content-length", "origin", "mcp-session-id", "x-forwarded-host"]);
    const values = ["", "x", "=?base64?Zm9v?=", "=?base64?!?=", "null", "2025-11-25", "text/plain", "http://evil.example"];
    if (this.#chance(0.3)) delete headers[name];
    else headers[name] = this.#pick([...values, "a, b", "y".repeat(3_000), "\u00e9", "[::1", "-1", "__proto__"]);
  }

  #spoilText(text: string): string {
    const at = this.#below(text.length + 1);
    switch (this.#below(9)) {
      case 0:
        return text.slice(0, at);
      case 1:
        return text.slice(0, at) + this.#pick(['"', "{", "}", "[", ",", "\\", "\u0000", "\ud800", "\ufeff"]) + text.slice(at);
      case 2:
        return text.replace(/:\d+/, this.#pick([":1e999", ":-1e999", ":1e-999", ":0x10", ":01", `:${"9".repeat(400)}`]));
      case 3:
        return text.replace("{", `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},`);
      case 4:
        return text.replace(/"(id|method|taskId|name|params)":/, '"$1":null,"$1":');
      case 5:
        return text.replace(/\{\}/, () => `${'{"a":'.repeat(600)}{}${"}".repeat(600)}`);
      case 6:
        return text.replace(/\{\}|"[a-z]"/, () => "[".repeat(20_000) + "]".repeat(20_000));
      case 7:
        return Array.from({ length: this.#below(200) }, () => String.fromCharCode(this.#below(0x3000))).join("");
      default:
        return text.replace(/\{\}|"[a-z]"/, () => JSON.stringify("z".repeat(150_000)));
    }
  }

  /** A value that nobody asked for. */
  #strange(): unknown {
    switch (this.#below(16)) {
      case 0:
        return null;
      case 1:
        return this.#chance(0.5);
      case 2:
        return this.#pick([0, -1, 1.5, 2 ** 53, -(2 ** 53), 1e308, 5e-324, this.#below(1_000)]);
      case 3:
        return this.#pick(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "toJSON"]);
      case 4:
        return this.#pick(["\ud800", "\udfff\ud800", "\u0000", "\u2028", "\ufeff", "a\r\nset-cookie: b", "\u{1f4a9}"]);
      case 5:
        return "x".repeat(this.#pick([1, 100, 5_000]));
      case 6:
        return this.#pick(["=?base64?Zm9v?=", "../../etc/passwd", "' or 1=1 --", "%00", "${7*7}", "<script>", "0"]);
      case 7:
        return [];
      case 8:
        return {};
      case 9:
        return Array.from({ length: this.#below(5) }, () => this.#strange());
      case 10:
        return { [this.#pick(["a", "type", "method", "result", "action", "$ref"])]: this.#strange() };
      case 11: {
        const object: JsonObject = {};
        define(object, this.#pick(["__proto__", "constructor"]), { polluted: true, toString: 1 });
        return object;
      }
      case 12: {
        let deep: unknown = this.#below(9);
        for (let depth = this.#below(60); depth > 0; depth -= 1) deep = this.#chance(0.5) ? [deep] : { a: deep };
        return deep;
      }
      case 13:
        return Array.from({ length: this.#pick([3, 500]) }, (_none, at) => at);
      case 14:
        return { ["then" as string]: 1, "~standard": { version: 1 }, toJSON: 2, length: -1 };
      default:
        return "";
    }
  }

  #some(things: readonly unknown[]): unknown[] {
    const some = things.filter(() => this.#chance(0.2));
    if (this.#chance(0.3)) some.push(this.#strange());
    return some;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<Thing>(things: readonly Thing[]): Thing {
    return things[this.#below(things.length)] as Thing;
  }
}

/** Sets a member, also one named `__proto__`. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** What of a text a header can carry as it is. */
function headerSafe(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/gu, "").slice(0, 6_000);
}
