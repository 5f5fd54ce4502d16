import type { Clock } from "../task/clock.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { Frames } from "./frames.ts";
import type { Sink, Subscription } from "./listen.ts";

const encoder = new TextEncoder();
const KEEP_ALIVE = encoder.encode(": keepalive\n\n");

/** How many bytes may wait in a stream before its reader counts as slow. */
const HIGH_WATER_BYTES = 64 * 1024;

/** The open event streams, kept alive by one timer. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  readonly #beats = new Set<() => void>();
  #beating = false;

  constructor(clock: Clock, keepAliveMs: number) {
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
  }

  /** How many are open. */
  get size(): number {
    return this.#beats.size;
  }

  /** Answers a `subscriptions/listen` with an event stream; `inner` is the SDK's stream for the rest of the filter. */
  respond(subscription: Subscription, signal: AbortSignal, inner: Response | undefined): Response {
    const innerReader = inner?.body?.pipeThrough(new TextDecoderStream()).getReader();
    const leave = () => {
      this.#beats.delete(beat);
      signal.removeEventListener("abort", onAbort);
      innerReader?.cancel().catch(() => {});
    };
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const takesMore = () => (controller?.desiredSize ?? 0) > 0;
    const frames = new Frames();
    let isLast = false;
    /** Puts in what the reader takes. */
    const pump = () => {
      while (takesMore()) {
        const portion = frames.next();
        if (portion === undefined) break;
        controller?.enqueue(portion);
      }
      if (!isLast || !frames.isEmpty) return;
      controller?.close();
      controller = undefined;
    };
    const sink: Sink = {
      get ready() {
        return frames.isEmpty && takesMore();
      },
      write: (message) => {
        frames.push(message);
        pump();
      },
      end: (last) => {
        leave();
        frames.push(...last);
        isLast = true;
        pump();
      },
    };
    const beat = () => {
      // A reader that has not taken what is there already needs no sign of life.
      if (sink.ready) controller?.enqueue(KEEP_ALIVE);
    };
    const onAbort = () => {
      subscription.drop();
      leave();
      controller?.close();
      controller = undefined;
    };
    const body = new ReadableStream<Uint8Array>(
      {
        start: (streamController) => {
          controller = streamController;
          if (innerReader === undefined) subscription.start(sink, {});
          else merge(innerReader, subscription, sink).catch(() => {}); // The SDK's stream broke off: the tasks go on.
        },
        pull: () => {
          pump();
          subscription.flush();
        },
        cancel: () => {
          controller = undefined;
          subscription.drop();
          leave();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_BYTES }),
    );
    if (!subscription.ended) {
      this.#beats.add(beat);
      this.#arm();
    }
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      },
    });
  }

  #arm(): void {
    if (this.#keepAliveMs === 0 || this.#beating) return;
    this.#beating = true;
    this.#clock.setTimeout(() => {
      this.#beating = false;
      for (const beat of this.#beats) beat();
      if (this.#beats.size > 0) this.#arm();
    }, this.#keepAliveMs);
  }
}

/** Brings the SDK's notifications into a subscription: its acknowledgement first, then each as it comes. */
async function merge(
  inner: TextReader,
  subscription: Subscription,
  sink: Sink,
): Promise<void> {
  let started = false;
  try {
    for await (const message of events(inner)) {
      const params = isJsonObject(message["params"]) ? message["params"] : {};
      if (!started) {
        started = true;
        subscription.start(sink, isJsonObject(params["notifications"]) ? params["notifications"] : {});
      } else if (typeof message["method"] === "string") {
        subscription.offer(`${message["method"]} ${String(params["uri"])}`, () => [JSON.stringify(message)]);
      }
    }
  } finally {
    if (!started) subscription.start(sink, {});
    subscription.endOthers();
  }
}

/** What reads the text of a stream. */
interface TextReader {
  read(): Promise<{ done: boolean; value?: string | undefined }>;
}

/** The JSON messages of an event stream. */
async function* events(reader: TextReader): AsyncGenerator<JsonObject> {
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value ?? "";
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const data = frame.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join("\n")) as JsonObject;
    }
  }
}
