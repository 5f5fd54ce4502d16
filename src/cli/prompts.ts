// Asks a person what a server asks: a form, field by field, or to open a page.

import type { ElicitAnswer, InputHandlers } from "../client/mod.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { Field, toBoolean } from "./fields.ts";
import type { Dialogue, Terminal } from "./terminal.ts";
import { bold, cyan, dim, red } from "./terminal.ts";
import { clean, cleanLine } from "./text.ts";

/** The handlers that ask on a terminal. There is no model and no folder to offer: other questions have none. */
export function prompts(terminal: Terminal): InputHandlers {
  return {
    form: (params, { signal }) => terminal.dialogue(signal, (dialogue) => answerForm(params, dialogue)),
    url: (params, { signal }) => terminal.dialogue(signal, (dialogue) => answerUrl(params, dialogue)),
  };
}

/** Asks for the fields of a form, each until its value fits. */
async function answerForm(params: JsonObject, dialogue: Dialogue): Promise<ElicitAnswer> {
  const { properties, required } = isJsonObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
  tellMessage(params, dialogue);
  const content: [string, unknown][] = [];
  for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const field = new Field(name, schema, Array.isArray(required) && required.includes(name));
    const answer = await askField(field, dialogue);
    if ("action" in answer) return answer;
    if (answer.value !== undefined) content.push([name, answer.value]);
  }
  return { action: "accept", content: Object.fromEntries(content) };
}

type Left = { action: "decline" | "cancel" };

/** Asks for a field until what is typed fits, or the person leaves the form. */
async function askField(field: Field, dialogue: Dialogue): Promise<{ value: unknown } | Left> {
  const { title, description, choices, hint } = field;
  if (description !== undefined) dialogue.say(dim(`  ${cleanLine(description)}`));
  choices.forEach((choice, at) => dialogue.say(`  ${dim(`${at + 1})`)} ${cleanLine(choice.title)}`));
  for (;;) {
    const typed = await dialogue.ask(`  ${title}${dim(hint)}: `);
    const answer = typed === undefined ? await askToLeave(dialogue) : field.read(typed);
    if (answer !== undefined && !("problem" in answer)) return answer;
    if (answer !== undefined) dialogue.say(red(`  ${cleanLine(answer.problem)}. (Ctrl-D leaves the question.)`));
  }
}

async function askToLeave(dialogue: Dialogue): Promise<Left | undefined> {
  const typed = await dialogue.ask("  Decline (d), dismiss the question (x), or go on answering (Enter)? ");
  if (typed === undefined || typed.trim() === "x") return { action: "cancel" };
  return typed.trim() === "d" ? { action: "decline" } : undefined;
}

/** Shows the page that a server wants opened, and asks for consent. It opens nothing. */
async function answerUrl(params: JsonObject, dialogue: Dialogue): Promise<ElicitAnswer> {
  const given = typeof params["url"] === "string" ? params["url"] : "";
  tellMessage(params, dialogue);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    dialogue.say(red(`  The page to open is none, so that this was declined: ${cleanLine(given)}`));
    return { action: "decline" };
  }
  // A URL writes its host so that one which only looks like another shows.
  dialogue.say(`  The server asks you to open a page at ${bold(url.host)}:\n  ${url.href}`);
  for (;;) {
    const typed = await dialogue.ask(`  Open it in a browser if you trust it. Do you agree? ${dim("(y/n)")} `);
    if (typed === undefined) return { action: "cancel" };
    const agrees = toBoolean(typed);
    if (agrees !== undefined) return { action: agrees ? "accept" : "decline" };
  }
}

function tellMessage({ message }: JsonObject, dialogue: Dialogue): void {
  dialogue.say(`${cyan("?")} ${bold(clean(typeof message === "string" ? message : ""))}`);
}
