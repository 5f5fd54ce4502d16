// An SDK server on stdio that knows nothing of tasks.
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { buildPlainServer } from "../sdk-servers.ts";

serveStdio(buildPlainServer);
