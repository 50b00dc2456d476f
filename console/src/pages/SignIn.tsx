/** Sign in with a bearer token; local users can use a one-time link instead. */
import { useState } from "preact/hooks";
import { describeError } from "../api/client";
import { type Session, signIn } from "../api/session";
import { Button } from "../components/Button";
import { TextField } from "../components/Field";
import { Logo } from "../components/Logo";
import { useTitle } from "../hooks";

export function SignIn({ message, onSignedIn }: { message: string; onSignedIn: (session: Session) => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  useTitle("Sign in");

  const submit = async (event: Event) => {
    event.preventDefault();
    if (!token.trim()) return setError("Enter a token.");
    setBusy(true);
    setError("");
    try {
      onSignedIn(await signIn({ token: token.trim() }));
    } catch (failure) {
      setError(describeError(failure));
      setBusy(false);
    }
  };

  return (
    <main class="sign-in">
      <form class="card sign-in-card" onSubmit={submit}>
        <h1 class="sign-in-title">
          <Logo size={30} /> virtshape
        </h1>
        <p role="status">{message || "Sign in to choose, create and run virtual machines."}</p>
        <TextField
          label="Token"
          type="password"
          value={token}
          onValue={setToken}
          errors={error ? [error] : []}
          hint="A bearer token of a user or service account"
        />
        <Button type="submit" look="primary" disabled={isBusy}>
          Sign in
        </Button>
        <dl class="sign-in-help">
          <dt>On the server's machine</dt>
          <dd>
            <code>virtshape open</code> signs you in without a token
          </dd>
          <dt>With a service account</dt>
          <dd>
            <code>kubectl create token NAME</code> prints a token
          </dd>
        </dl>
      </form>
    </main>
  );
}
