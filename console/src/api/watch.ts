/** List a collection and keep it current with a watch; continue after disconnects, list again after 410. */
import { ApiError, request, type Status, send } from "./client";
import type { KubernetesObject, List } from "./objects";
import { collectionPath, type Resource } from "./resources";

export type LiveState = "loading" | "live" | "reconnecting" | "failed";

/** A snapshot of a live list. `items` is a new array after each change. */
export interface Live<T> {
  readonly items: readonly T[];
  readonly state: LiveState;
  readonly error: ApiError | null;
}

interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T & Status;
}

const PAGE = "500";
const FIRST_DELAY = 500;
const LAST_DELAY = 15_000;
const BATCH = 60; // milliseconds in which changes are collected before subscribers are called

/** A collection that follows the server while it has subscribers. */
export class LiveList<T extends KubernetesObject> {
  private objects = new Map<string, T>();
  private version = "";
  private live: Live<T> = { items: [], state: "loading", error: null };
  private readonly subscribers = new Set<() => void>();
  private stop: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly path: string,
    private readonly query: Record<string, string> = {},
  ) {}

  get snapshot(): Live<T> {
    return this.live;
  }

  /** Call `subscriber` after each change; return a function that ends the subscription. */
  subscribe(subscriber: () => void): () => void {
    this.subscribers.add(subscriber);
    this.resume();
    return () => {
      this.subscribers.delete(subscriber);
      if (this.subscribers.size === 0) this.pause();
    };
  }

  /** Close the connection; the objects are kept. */
  pause(): void {
    this.stop?.abort();
    this.stop = null;
  }

  /** Continue with the last version that was received. */
  resume(): void {
    if (this.stop || this.subscribers.size === 0) return;
    this.stop = new AbortController();
    void this.follow(this.stop.signal);
  }

  /** Try again after a failure. */
  retry(): void {
    this.pause();
    this.version = "";
    this.live = { ...this.live, state: "loading", error: null };
    this.resume();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let delay = FIRST_DELAY;
    while (!signal.aborted) {
      try {
        if (!this.version) await this.list(signal);
        const begin = Date.now();
        await this.watch(signal);
        // Servers end watches from time to time. A watch that ends immediately is repeated after a delay.
        delay = FIRST_DELAY;
        if (Date.now() - begin < FIRST_DELAY) await sleep(FIRST_DELAY, signal);
      } catch (error) {
        if (signal.aborted) return;
        const refused = error instanceof ApiError ? error : new ApiError({ message: String(error) }, 0);
        if (refused.code === 410) {
          this.version = "";
          continue;
        }
        const isFinal = refused.code >= 400 && refused.code < 500 && refused.code !== 429;
        this.publish(isFinal ? "failed" : this.version ? "reconnecting" : "loading", refused);
        if (isFinal) return;
        await sleep(delay * (0.75 + Math.random() / 2), signal);
        delay = Math.min(delay * 2, LAST_DELAY);
      }
    }
  }

  private async list(signal: AbortSignal): Promise<void> {
    const objects = new Map<string, T>();
    let token: string | undefined;
    do {
      const query = { ...this.query, limit: PAGE, continue: token };
      const page: List<T> = await request("GET", this.path, { query, signal });
      for (const item of page.items) objects.set(keyOf(item), item);
      token = page.metadata.continue || undefined;
      this.version = token ? "" : (page.metadata.resourceVersion ?? "");
      if (token && this.live.state === "loading") {
        this.objects = objects; // show the first pages while the others are loaded
        this.publish("loading");
      }
    } while (token);
    this.objects = objects;
  }

  private async watch(signal: AbortSignal): Promise<void> {
    const query = { ...this.query, watch: "1", allowWatchBookmarks: "true", resourceVersion: this.version };
    const response = await send("GET", this.path, { query, signal });
    this.publish("live");
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (true) {
      const { value, done } = await readChunk(reader, signal);
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) this.take(JSON.parse(line) as WatchEvent<T>);
    }
  }

  private take({ type, object }: WatchEvent<T>): void {
    if (type === "ERROR") throw new ApiError(object, object.code ?? 500);
    this.version = object.metadata.resourceVersion ?? this.version;
    if (type === "BOOKMARK") return;
    if (type === "DELETED") this.objects.delete(keyOf(object));
    else this.objects.set(keyOf(object), object);
    this.timer ??= setTimeout(() => this.publish("live"), BATCH);
  }

  private publish(state: LiveState, error: ApiError | null = null): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.live = { items: [...this.objects.values()], state, error };
    for (const subscriber of [...this.subscribers]) subscriber();
  }
}

async function readChunk(reader: ReadableStreamDefaultReader<string>, signal: AbortSignal) {
  try {
    return await reader.read();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError({ message: "The connection to the server was lost" }, 0);
  }
}

function keyOf(object: KubernetesObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const lists = new Map<string, LiveList<KubernetesObject>>();

/** Return the live list of a collection; components that show the same collection share one watch. */
export function liveList<T extends KubernetesObject>(
  of: Resource<T>,
  namespace = "",
  query: Record<string, string> = {},
): LiveList<T> {
  const path = collectionPath(of, namespace);
  const key = `${path}?${new URLSearchParams(query)}`;
  let list = lists.get(key);
  if (!list) {
    list = new LiveList<KubernetesObject>(path, query);
    lists.set(key, list);
  }
  return list as unknown as LiveList<T>;
}

/** Forget all collections, for the next user. */
export function forgetLists(): void {
  for (const list of lists.values()) list.pause();
  lists.clear();
}

// A browser opens at most six connections to a server, for all tabs together: hidden tabs release theirs.
document.addEventListener("visibilitychange", () => {
  for (const list of lists.values()) document.hidden ? list.pause() : list.resume();
});
