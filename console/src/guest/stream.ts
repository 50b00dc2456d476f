/** Streams to a guest. */
import { subresourcePath } from "../api/resources";

/** KubeVirt's subprotocol: raw bytes in binary messages. */
export const PROTOCOL = "plain.kubevirt.io";

/** Return the WebSocket address of a stream of a running guest. */
export function streamUrl(namespace: string, name: string, stream: "console" | "vnc"): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${subresourcePath(namespace, "virtualmachineinstances", name, stream)}`;
}
