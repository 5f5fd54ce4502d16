import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from "@modelcontextprotocol/server";

/** What is looked at between an SDK server and its transport. Each function passes on what it does not keep. */
export interface Tap {
  readonly onMessage: (message: JSONRPCMessage, extra: MessageExtraInfo | undefined, pass: Deliver) => void;
  readonly onSend: Send;
  /** The connection is gone; `pass` tells the server, which then aborts what it does. */
  readonly onClose?: (pass: () => void) => void;
}

/** Hands a message to the server. */
export type Deliver = (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;

/** Sends a message over the transport. */
export type Send = (message: JSONRPCMessage, options?: TransportSendOptions) => Promise<void>;

/** Puts a tap on every transport that a server connects to. The transport itself stays the one the SDK knows. */
export function tap(server: { connect(transport: Transport): Promise<void> }, makeTap: (send: Send) => Tap): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    const { onMessage, onSend, onClose } = makeTap(transport.send.bind(transport));
    transport.send = onSend;
    await connect(transport);
    const deliver: Deliver = transport.onmessage ?? (() => {});
    const close = transport.onclose ?? (() => {});
    transport.onmessage = (message, extra) => onMessage(message, extra, deliver);
    if (onClose !== undefined) transport.onclose = () => onClose(close);
  };
}
