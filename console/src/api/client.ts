/** HTTP requests to the server's own origin: JSON bodies, the CSRF header and Status errors. */

export interface Cause {
  reason?: string;
  message?: string;
  field?: string;
}

/** The Kubernetes Status object of an error response. */
export interface Status {
  code?: number;
  reason?: string;
  message?: string;
  details?: { name?: string; kind?: string; causes?: Cause[]; retryAfterSeconds?: number };
}

/** A request that the server refused, with its Status; code 0 means that the server cannot be reached. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: Cause[];

  constructor(status: Status, code: number) {
    super(status.message || `The server responded with status ${code}`);
    this.code = code;
    this.reason = status.reason ?? "";
    this.causes = status.details?.causes ?? [];
  }
}

/** Return the message of any error for users. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export interface RequestOptions {
  /** The body, as a value or as JSON text. */
  body?: unknown;
  text?: string;
  contentType?: string;
  accept?: string;
  query?: Record<string, string | undefined>;
  signal?: AbortSignal;
}

let csrfToken = "";
let onUnauthorized: () => void = () => {};

/** Set the CSRF token, which all requests except reads send. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

export function getCsrfToken(): string {
  return csrfToken;
}

/** Call `handler` when the server reports that the session has ended. */
export function setUnauthorizedHandler(handler: () => void): void {
  onUnauthorized = handler;
}

/** Send a request and return its response; raise ApiError on failure. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = csrfToken;
  const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store" };
  const text = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (text !== undefined) {
    headers["Content-Type"] = options.contentType ?? "application/json";
    init.body = text;
  }
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = await fetch(addQuery(path, options.query), init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError({ message: "The server cannot be reached", reason: "Unreachable" }, 0);
  }
  if (!response.ok) {
    if (response.status === 401 && path !== "/console/session") onUnauthorized();
    throw new ApiError(await readStatus(response), response.status);
  }
  return response;
}

/** Send a request and return the decoded JSON of its response. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

function addQuery(path: string, query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

async function readStatus(response: Response): Promise<Status> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Status;
  } catch {
    return { message: text.trim() || response.statusText };
  }
}
