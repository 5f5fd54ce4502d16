// A call, or a task that was left, followed to its end before somebody's eyes.

import process from "node:process";
import type { DetailedTask, PendingRequest, TaskClient, WaitOptions } from "../client/mod.ts";
import { systemClock } from "../task/clock.ts";
import type { TaskStatus } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import type { Address } from "./arguments.ts";
import { prompts } from "./prompts.ts";
import { showOutcome, waitCommand } from "./show.ts";
import type { Dialogue } from "./terminal.ts";
import { Terminal, bold, tell } from "./terminal.ts";
import { cleanLine, duration, messageOf, toJson } from "./text.ts";

export interface Following {
  readonly client: TaskClient;
  readonly address: Address;
  readonly begin: (options: WaitOptions) => PendingRequest;
  readonly mode: "auto" | "listen" | "poll";
  readonly timeoutMs: number;
  readonly json: boolean;
  readonly detach: boolean;
  /** Whether standard input is there to ask on. */
  readonly asks: boolean;
}

/** Follows a call to its end, shows how it goes on, and gives the exit code. */
export async function follow(following: Following): Promise<number> {
  const { client, address, begin, mode, timeoutMs, json, detach, asks } = following;
  const terminal = new Terminal({ asks: asks && !json && !detach, onInterrupt: (dialogue) => interrupt(dialogue) });
  const view = json || detach ? undefined : new View(terminal);
  const pending = begin({
    mode,
    timeoutMs,
    // "return" says that whatever is asked is welcome, and hands it on.
    input: terminal.asks ? prompts(terminal) : "return",
    onProgress: ({ message, progress, total }) => {
      view?.update("working", `${message ?? ""} (${progress}${total === undefined ? "" : `/${total}`})`);
    },
  });

  const interrupt = async (dialogue: Dialogue | undefined) => {
    const isTask = pending.taskId !== undefined;
    const choices = isTask ? "Leave the task running (d), cancel it (c)" : "Give the call up (c)";
    const typed = await dialogue?.ask(`${bold("Interrupted.")} ${choices}, or go on (Enter)? `);
    if (typed === undefined || typed.trim() === "d") return pending.detach();
    if (typed.trim() !== "c") return;
    view?.note("cancelling");
    // The answer is not waited for here: meanwhile nobody would notice another Ctrl-C.
    pending.cancel().catch((error: unknown) => view?.note(`not cancelled: ${messageOf(error)}`));
  };

  let isKnown = false;
  const onTaskStatus = (task: DetailedTask) => {
    const isNews = !isKnown;
    isKnown = true;
    if (json && !isTerminal(task)) tell(toJson({ task, ...(isNews && { reference: pending.reference() }) }));
    if (view === undefined) return;
    // Whoever reads this later, after a crash say, has nothing else to go on with.
    if (isNews && !process.stderr.isTTY) tell(`To go on elsewhere: ${waitCommand(pending.reference(), address)}`);
    view.update(task.status, task.statusMessage);
  };
  try {
    if (process.stderr.isTTY) view?.update("calling");
    // A call that fails, or is answered inline, says so in its outcome.
    if (detach && (await pending.created.catch(() => undefined)) !== undefined) pending.detach();
    const outcome = await pending.outcome({ onTaskStatus });
    terminal.close();
    return await showOutcome(outcome, { json, address, detach });
  } finally {
    terminal.close();
    await client.close();
  }
}

/** How a call goes on, in one line. */
class View {
  readonly #terminal: Terminal;
  readonly #since = systemClock.now();
  #status = "";
  #message = "";
  #note = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  update(status: string, message = ""): void {
    const isSmall = status === this.#status;
    if (isTerminal({ status: status as TaskStatus })) this.#note = "";
    this.#status = status;
    this.#message = cleanLine(message);
    this.#show(isSmall);
  }

  note(text: string): void {
    this.#note = cleanLine(text);
    this.#show(false);
  }

  get #elapsed(): string {
    return duration(Math.floor((systemClock.now() - this.#since) / 1_000) * 1_000);
  }

  #show(isSmall: boolean): void {
    const words = () => [this.#status.replace("_", " "), this.#message, this.#note].filter((word) => word !== "").join(": ");
    this.#terminal.show(process.stderr.isTTY ? () => `${this.#elapsed} ${words()}` : words, isSmall);
  }
}
