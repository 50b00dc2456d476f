/** The screen of a running guest. noVNC is loaded when it is opened. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/Button";
import { PROTOCOL, streamUrl } from "./stream";

type State = "connecting" | "connected" | "closed";

interface Screen {
  disconnect: () => void;
  sendCtrlAltDel: () => void;
}

const TEXT: Record<State, string> = {
  connecting: "Connecting…",
  connected: "Connected. Click the screen to type in it.",
  closed: "Disconnected: the guest stopped, or another client opened its screen.",
};

export function GuestScreen({ namespace, name }: { namespace: string; name: string }) {
  const target = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const [state, setState] = useState<State>("connecting");
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt connects again
  useEffect(() => {
    let isGone = false;
    setState("connecting");
    void import("@novnc/novnc").then(({ default: RFB }) => {
      if (isGone || !target.current) return;
      const rfb = new RFB(target.current, streamUrl(namespace, name, "vnc"), { wsProtocols: [PROTOCOL] });
      rfb.scaleViewport = true;
      rfb.background = "#101318";
      rfb.addEventListener("connect", () => isGone || setState("connected"));
      rfb.addEventListener("disconnect", () => isGone || setState("closed"));
      screen.current = rfb;
    });
    return () => {
      isGone = true;
      screen.current?.disconnect();
      screen.current = null;
    };
  }, [namespace, name, attempt]);

  return (
    <div class="guest">
      <div class="guest-bar">
        <span role="status">{TEXT[state]}</span>
        <Button disabled={state !== "connected"} onClick={() => screen.current?.sendCtrlAltDel()}>
          Send Ctrl+Alt+Del
        </Button>
        <Button disabled={state === "connecting"} onClick={() => setAttempt(attempt + 1)}>
          {state === "closed" ? "Connect again" : "Reconnect"}
        </Button>
      </div>
      <div class="screen" ref={target} />
    </div>
  );
}
