import { Button } from "./Button";
import { toast } from "./Toasts";

/** Copy a text to the clipboard. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      toast.success("Copied");
    } catch (error) {
      toast.error("The browser does not allow copying", error);
    }
  };
  return <Button onClick={copy}>{label}</Button>;
}
