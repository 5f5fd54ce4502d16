import process from "node:process";
import { createInterface } from "node:readline";

/**
 * Answers the commands of the process that started this one, a line of JSON each, until it ends or says no more.
 * Nothing else may be written to stdout.
 */
export async function answerCommands(commands: Record<string, (options: never) => unknown>): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    const { command, options } = JSON.parse(line) as { command: string; options: never };
    let answer: { result: unknown } | { error: string };
    try {
      const work = commands[command];
      if (work === undefined) throw new Error(`There is no command "${command}".`);
      answer = { result: (await work(options)) ?? null };
    } catch (error) {
      answer = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}

/** Microseconds of processor time that this process has had. */
export function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
