import type { InputRequest, JsonObject } from "../task/task.ts";

/**
 * The part of the Standard Schema interface that Errand reads: zod, Valibot, ArkType and others have it. `jsonSchema`
 * is what describes a question's form to the client.
 */
export interface Schema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema's `validate` gives. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: ReadonlyArray<{
        readonly message: string;
        readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
      }>;
    };

declare const externalBrand: unique symbol;

/** What `task.external()` gives, for a handler to return. */
export interface External {
  readonly [externalBrand]: true;
}

/** A root that the client exposes (MCP, "Roots"). */
export interface Root {
  uri: string;
  name?: string;
}

/** A client's answer to a sampling question. */
export interface SamplingResult {
  role: "user" | "assistant";
  content: JsonObject | JsonObject[];
  model: string;
  stopReason?: string;
  [key: string]: unknown;
}

/**
 * What a handler works with: the same in a task and in a plain call, whatever the client.
 *
 * A question parks a task in `input_required`. In a plain call it is a multi-round-trip `input_required` result, the
 * run waiting between the rounds. Questions may be asked side by side (`Promise.all`).
 */
export interface TaskContext {
  /** The task's id; a plain call has one too, which no client ever sees. */
  readonly taskId: string;
  /** Whether the call is a task by now. */
  readonly isTask: boolean;
  /** Fires when the task or call is cancelled, expires, or the host closes. */
  readonly signal: AbortSignal;
  /** Who called; `undefined` without authentication. */
  readonly principal: string | undefined;

  /** Tells in words what goes on: the task's `statusMessage`. */
  readonly status: (message: string) => void;
  /**
   * Tells how far the work is: in a task as its `statusMessage`, for example `sending (1/2)`; in a plain call whose
   * request carries a progress token as `notifications/progress`.
   */
  readonly progress: (done: number, total?: number, message?: string) => void;

  /**
   * Asks a person for the fields of a flat object schema, and resolves to what they gave, checked. A form knows `min` and
   * `max`, lengths, formats and enums; what else a schema asks for (`positive()`, for example) is refused when the
   * question is asked, with a `TypeError` that names it. Rejects with
   * `DeclinedError` when they decline or dismiss the question, and with `MissingCapabilityError` when the client
   * declared no elicitation.
   */
  readonly elicit: <Output>(message: string, schema: Schema<Output>) => Promise<Output>;
  /** Asks a person to open a page, and resolves when they agreed to. Rejects like `elicit`. */
  readonly elicitUrl: (message: string, url: string | URL) => Promise<void>;
  /** Asks the client's model (`sampling/createMessage`; `params` are its parameters). */
  readonly sample: (params: JsonObject) => Promise<SamplingResult>;
  /** Asks which folders and files the client works with (`roots/list`). */
  readonly roots: () => Promise<Root[]>;
  /** Asks several questions at once, and resolves to the answers as they came, under the same names. */
  readonly ask: <Name extends string>(questions: Record<Name, InputRequest>) => Promise<Record<Name, JsonObject>>;

  /** Does one step of the work. Rejects without doing it when the signal has fired. */
  readonly step: <Output>(name: string, work: () => Output | Promise<Output>) => Promise<Output>;
  /** Waits `ms` milliseconds without taking up one of the host's running slots. Rejects when the signal fires. */
  readonly sleep: (name: string, ms: number) => Promise<void>;
  /** Moves the end of the task's time to live to `ms` milliseconds from now. Never earlier; nothing in a plain call. */
  readonly extend: (ms: number) => void;

  /**
   * Makes this call a task now, if it is none yet, and resolves once it is stored. Does nothing for a client that did
   * not declare the extension.
   */
  readonly begin: () => Promise<void>;
  /** To return from a handler whose work goes on elsewhere: `host.task(taskId)` completes or fails it later. */
  readonly external: () => External;
}
