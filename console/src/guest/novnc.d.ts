declare module "@novnc/novnc" {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, url: string, options?: { wsProtocols?: string[]; shared?: boolean });
    scaleViewport: boolean;
    background: string;
    focusOnClick: boolean;
    disconnect(): void;
    focus(): void;
    sendCtrlAltDel(): void;
  }
}
