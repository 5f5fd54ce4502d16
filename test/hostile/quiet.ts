import process from "node:process";

/** What was written or broke meanwhile although nothing should have been. */
export interface Watch {
  readonly noises: string[];
  /** Stops watching. */
  readonly end: () => void;
}

const LOUD = ["log", "info", "warn", "error", "debug", "trace"] as const;

/** Notes whatever is logged, and every rejection that nobody handles. */
export function watchForNoise(): Watch {
  const noises: string[] = [];
  const kept = LOUD.map((name) => [name, console[name]] as const);
  for (const name of LOUD) {
    console[name] = (...said: unknown[]) => void noises.push(`console.${name}: ${said.map(String).join(" ")}`);
  }
  const onRejection = (reason: unknown) => void noises.push(`unhandled rejection: ${told(reason)}`);
  const onException = (error: unknown) => void noises.push(`uncaught exception: ${told(error)}`);
  const onWarning = (warning: Error) => void noises.push(`warning: ${warning.message}`);
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  process.on("warning", onWarning);
  return {
    noises,
    end: () => {
      for (const [name, given] of kept) console[name] = given;
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onException);
      process.off("warning", onWarning);
    },
  };
}

function told(reason: unknown): string {
  return reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
}
