// A client on sockets of its own, to cost little beside the servers that are measured: it keeps each connection busy
// with one request at a time, and listens on many.
import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { answerCommands } from "./commands.ts";
import { callTool, getTask, listenTo, toBytes } from "./requests.ts";
import { endOfResponse } from "./response.ts";

interface Options {
  readonly url: string;
  readonly taskIds: readonly string[];
  readonly listeners: number;
  readonly connections: number;
  readonly ms: number;
}

/** Milliseconds since the epoch, with a fraction: the same in every process of this machine. */
const now = () => performance.timeOrigin + performance.now();

async function open(url: URL): Promise<Socket> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  socket.setEncoding("latin1");
  await once(socket, "connect");
  return socket;
}

/** Sends one request and gives the response as text. */
async function exchange(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const onData = (chunk: string) => {
      text += chunk;
      if (endOfResponse(text) === undefined) return;
      socket.off("data", onData);
      resolve(text);
    };
    socket.on("data", onData).once("close", () => reject(new Error(`The server closed the connection: ${text}`)));
    socket.write(request);
  });
}

/** The listeners' delays in milliseconds, each once its message is there. */
let heard: Promise<number>[] = [];
let sockets: Socket[] = [];

await answerCommands({
  /** Asks for tasks, as often as the server answers. */
  async load({ url: address, taskIds, connections, ms }: Options) {
    const url = new URL(address);
    const requests = taskIds.map((taskId) => toBytes(getTask(taskId), url));
    const all = await Promise.all(Array.from({ length: connections }, () => open(url)));
    let answered = 0;
    let next = 0;
    const start = performance.now();
    const deadline = start + ms;
    await Promise.all(
      all.map(
        (socket) =>
          new Promise<void>((resolve, reject) => {
            let text = "";
            const send = () => {
              next = (next + 1) % requests.length;
              socket.write(requests[next] ?? "");
            };
            socket.on("data", (chunk: string) => {
              text = text === "" ? chunk : text + chunk;
              const end = endOfResponse(text);
              if (end === undefined) return;
              if (!text.startsWith("HTTP/1.1 200") || !text.includes('"working"')) reject(new Error(text));
              text = text.slice(end);
              answered += 1;
              if (performance.now() < deadline) send();
              else resolve();
            });
            socket.once("close", () => reject(new Error("The server closed the connection.")));
            send();
          }),
      ),
    );
    const perSecond = (answered * 1_000) / (performance.now() - start);
    for (const socket of all) socket.destroy();
    return { answered, perSecond };
  },

  /** Has a tool's call become a task, and gives the task's id. */
  async call({ url: address }: Options) {
    const url = new URL(address);
    const socket = await open(url);
    const text = await exchange(socket, toBytes(callTool("wait", {}), url));
    socket.destroy();
    const taskId = /"taskId":"([^"]+)"/.exec(text)?.[1];
    if (taskId === undefined) throw new Error(`There is no task in ${text}`);
    return taskId;
  },

  /** Opens streams on tasks, and resolves once each has shown its task's present state. */
  async listen({ url: address, taskIds, listeners }: Options) {
    const url = new URL(address);
    const streams = taskIds.flatMap((taskId) => Array.from({ length: listeners }, () => taskId));
    heard = [];
    sockets = await Promise.all(
      streams.map(async (taskId) => {
        const socket = await open(url);
        const shown = new Promise<void>((resolve) => {
          heard.push(
            new Promise((resolveHeard, reject) => {
              let text = "";
              socket.on("data", (chunk: string) => {
                const at = now();
                text += chunk;
                if (text.includes('"working"')) resolve();
                const saidAt = /"text":"at ([\d.]+)"/.exec(text)?.[1];
                if (saidAt !== undefined) resolveHeard(at - Number(saidAt));
              });
              socket.once("close", () => reject(new Error(`The server closed a stream: ${text}`)));
            }),
          );
        });
        socket.write(toBytes(listenTo(taskId), url));
        await shown;
        return socket;
      }),
    );
  },

  /** Waits for the end of every task that is listened to, and gives each listener's delay in milliseconds. */
  async collect() {
    const delays = await Promise.all(heard);
    for (const socket of sockets) socket.destroy();
    return delays;
  },
});
