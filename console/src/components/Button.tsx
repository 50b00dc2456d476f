import type { ComponentChildren, JSX } from "preact";
import { Link } from "../router";

type Kind = "normal" | "primary" | "danger" | "quiet";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "class"> & { look?: Kind };

export function Button({ look = "normal", type = "button", ...rest }: ButtonProps) {
  return <button {...rest} type={type} class={`button button-${look}`} />;
}

/** A link to another page that looks like a button. */
export function ButtonLink({
  to,
  look = "normal",
  children,
}: {
  to: string;
  look?: Kind;
  children: ComponentChildren;
}) {
  return (
    <Link to={to} class={`button button-${look}`}>
      {children}
    </Link>
  );
}
