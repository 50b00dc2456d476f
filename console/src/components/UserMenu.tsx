/** The signed-in user, the theme and sign-out, in a menu that opens below the user's name. */
import { useId, useState } from "preact/hooks";
import type { Session } from "../api/session";
import { applyTheme, loadTheme, type Theme } from "../settings";
import { Button } from "./Button";
import { SelectField } from "./Field";

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

export function UserMenu({ session, signOut }: { session: Session; signOut: () => void }) {
  const id = useId();
  const [theme, setTheme] = useState(loadTheme);
  const choose = (chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <>
      <button type="button" class="user-button" popovertarget={id} aria-label={`User ${session.username}`}>
        <Person />
        <span class="user-name">{session.username}</span>
      </button>
      <div id={id} popover="auto" class="user-menu">
        <div>
          <strong class="user-full-name">{session.username}</strong>
          {session.groups.length > 0 && <p class="muted user-groups">{session.groups.join(", ")}</p>}
        </div>
        <SelectField label="Theme" value={theme} onValue={(chosen) => choose(chosen as Theme)} options={THEMES} />
        <Button onClick={signOut}>Sign out</Button>
      </div>
    </>
  );
}

function Person() {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
      <path d="M10 3.5a3.2 3.2 0 1 0 .01 0M3.8 17c.6-3.4 3-5.2 6.2-5.2s5.6 1.8 6.2 5.2" class="line-icon" />
    </svg>
  );
}
