/** The session of the signed-in user; its cookie is not readable by scripts. */
import { request, setCsrfToken } from "./client";

export interface Session {
  username: string;
  groups: string[];
  expires: string;
  csrfToken: string;
  /** True if the server accepts uploads of disk images. */
  uploads: boolean;
}

const PATH = "/console/session";

let uploads = false;

/** Return the session of the cookie; raise ApiError 401 without one. */
export async function fetchSession(): Promise<Session> {
  return keep(await request<Session>("GET", PATH));
}

/** Start a session with a bearer token or with the code of a one-time link. */
export async function signIn(credential: { token: string } | { code: string }): Promise<Session> {
  return keep(await request<Session>("POST", PATH, { body: credential }));
}

/** End the session on the server. */
export async function signOut(): Promise<void> {
  await request("DELETE", PATH);
  setCsrfToken("");
}

/** Return true if the server of this session accepts uploads of disk images. */
export function acceptsUploads(): boolean {
  return uploads;
}

/** Return the code of a one-time link, and remove it from the address bar. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

function keep(session: Session): Session {
  setCsrfToken(session.csrfToken);
  uploads = session.uploads;
  return session;
}
