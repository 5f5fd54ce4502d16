// The same SDK server as `stdio-plain`, with three lines of tasks.
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { adoptPlainServer, createPlainTasks } from "../sdk-servers.ts";

const tasks = createPlainTasks();
serveStdio(() => adoptPlainServer(tasks), { transport: tasks.transport(new StdioServerTransport()) });
