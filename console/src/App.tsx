/** The whole console: sign-in, or the layout with the page of the current address. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { forgetAccess } from "./api/access";
import { ApiError, setUnauthorizedHandler } from "./api/client";
import { fetchSession, type Session, signIn, signOut, takeCode } from "./api/session";
import { forgetLists } from "./api/watch";
import { Layout } from "./components/Layout";
import { ErrorState, Loading } from "./components/States";
import { Toasts, toast } from "./components/Toasts";
import { PAGES } from "./pages";
import { NotFound } from "./pages/NotFound";
import { SignIn } from "./pages/SignIn";
import { matchPath, navigate, useLocation } from "./router";
import { loadNamespace, NamespaceContext, saveNamespace } from "./settings";

type State =
  | { name: "starting" }
  | { name: "signed-out"; message: string }
  | { name: "signed-in"; session: Session }
  | { name: "unreachable"; error: ApiError };

export function App() {
  const [state, setState] = useState<State>({ name: "starting" });
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt starts again
  useEffect(() => {
    setUnauthorizedHandler(() => {
      forgetUser();
      setState({ name: "signed-out", message: "Your session has ended. Sign in again." });
    });
    void start(setState);
  }, [attempt]);

  const leave = async () => {
    try {
      await signOut();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 401) return toast.error("Signing out failed", error);
    }
    forgetUser();
    setState({ name: "signed-out", message: "You are signed out." });
  };

  switch (state.name) {
    case "starting":
      return <Loading label="Connecting" />;
    case "unreachable":
      return (
        <ErrorState
          whole
          title="The server cannot be reached"
          error={state.error}
          retry={() => setAttempt(attempt + 1)}
        />
      );
    case "signed-out":
      return <SignIn message={state.message} onSignedIn={(session) => setState({ name: "signed-in", session })} />;
    case "signed-in":
      return <Console session={state.session} signOut={leave} />;
  }
}

function forgetUser(): void {
  forgetLists();
  forgetAccess();
}

async function start(setState: (state: State) => void): Promise<void> {
  const code = takeCode();
  try {
    const session = code ? await signIn({ code }) : await fetchSession();
    setState({ name: "signed-in", session });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 0 || error.code >= 500) setState({ name: "unreachable", error });
    else setState({ name: "signed-out", message: code ? `The link cannot be used: ${error.message}` : "" });
  }
}

function Console({ session, signOut }: { session: Session; signOut: () => void }) {
  const { path } = useLocation();
  const [namespace, setNamespace] = useState(loadNamespace);
  const context = useMemo(
    () => ({
      namespace,
      setNamespace: (name: string) => {
        saveNamespace(name);
        setNamespace(name);
      },
    }),
    [namespace],
  );
  const shown = useRef(path);
  useEffect(() => {
    if (path === "/") navigate("/vms", { replace: true });
    // On a new page, keyboard navigation and screen readers start at its content.
    if (path !== shown.current && shown.current !== "/") document.getElementById("content")?.focus();
    shown.current = path;
  }, [path]);
  return (
    <NamespaceContext.Provider value={context}>
      <Layout session={session} path={path} signOut={signOut}>
        <CurrentPage path={path} />
      </Layout>
      <Toasts />
    </NamespaceContext.Provider>
  );
}

function CurrentPage({ path }: { path: string }) {
  if (path === "/") return null;
  for (const page of PAGES) {
    const parameters = matchPath(page.path, path);
    if (parameters) return <page.component key={path} parameters={parameters} />;
  }
  return <NotFound />;
}
