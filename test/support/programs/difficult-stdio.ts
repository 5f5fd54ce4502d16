// Passes its standard streams on to the difficult server, which the test that started it holds on a port.
import { connect } from "node:net";
import process from "node:process";

const socket = connect(Number(process.argv[2]), "127.0.0.1");
process.stdin.pipe(socket);
socket.pipe(process.stdout);
socket.on("error", () => process.exit(1));
socket.on("close", () => process.exit(0));
