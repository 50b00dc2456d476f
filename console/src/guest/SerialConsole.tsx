/** The serial console of a running guest. xterm.js is loaded when it is opened. */
import { useEffect, useRef, useState } from "preact/hooks";
import { defineAdoptedStyle } from "./adoptedStyle";
import { PROTOCOL, streamUrl } from "./stream";

type State = "connecting" | "connected" | "closed";

const TEXT: Record<State, string> = {
  connecting: "Connecting…",
  connected: "Connected. Press Enter if nothing appears. Ctrl+] leaves the console.",
  closed: "Disconnected: the guest stopped, or another client opened its console.",
};

export function SerialConsole({ namespace, name }: { namespace: string; name: string }) {
  const screen = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [state, setState] = useState<State>("connecting");
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt connects again
  useEffect(() => {
    let close = () => {};
    let isGone = false;
    setState("connecting");
    const leave = () => button.current?.focus();
    void openTerminal(screen.current as HTMLElement, streamUrl(namespace, name, "console"), setState, leave).then(
      (opened) => {
        close = opened;
        if (isGone) close();
      },
    );
    return () => {
      isGone = true;
      close();
    };
  }, [namespace, name, attempt]);

  return (
    <div class="guest">
      <div class="guest-bar">
        <span role="status">{TEXT[state]}</span>
        <button
          type="button"
          ref={button}
          class="button"
          disabled={state === "connecting"}
          onClick={() => setAttempt(attempt + 1)}
        >
          {state === "closed" ? "Connect again" : "Reconnect"}
        </button>
      </div>
      <div class="serial" ref={screen} />
    </div>
  );
}

/** Show a terminal that is connected to the address; return a function that closes both. */
async function openTerminal(
  parent: HTMLElement,
  url: string,
  setState: (state: State) => void,
  leave: () => void,
): Promise<() => void> {
  defineAdoptedStyle();
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("@xterm/xterm"), import("@xterm/addon-fit")]);
  const style = getComputedStyle(document.documentElement);
  const terminal = new Terminal({
    convertEol: false,
    cursorBlink: false,
    fontFamily: style.getPropertyValue("--mono"),
    fontSize: 13,
    screenReaderMode: true,
    theme: { background: "#101318", foreground: "#e6e9ee" },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(parent);
  fit.fit();
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(parent);

  const socket = new WebSocket(url, [PROTOCOL]);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    setState("connected");
    terminal.focus();
  };
  socket.onmessage = ({ data }) => terminal.write(typeof data === "string" ? data : new Uint8Array(data));
  socket.onclose = () => setState("closed");
  const encoder = new TextEncoder();
  terminal.onData((text) => socket.readyState === WebSocket.OPEN && socket.send(encoder.encode(text)));
  terminal.attachCustomKeyEventHandler((event) => {
    const isEscape = event.ctrlKey && event.key === "]";
    if (isEscape && event.type === "keydown") leave();
    return !isEscape;
  });
  return () => {
    socket.onclose = null;
    socket.close();
    resized.disconnect();
    terminal.dispose();
  };
}
