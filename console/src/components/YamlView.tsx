/** An object as YAML. Lines can have a class, to show where a field comes from. */
import { useMemo } from "preact/hooks";
import { type YamlLine, yamlLines } from "../yaml";

interface YamlViewProps {
  object: unknown;
  label: string;
  /** Path of the object within the complete object, such as spec. */
  root?: string;
  /** Class and title of a line. */
  mark?: (line: YamlLine) => { class: string; title: string } | null;
}

export function YamlView({ object, label, root = "", mark }: YamlViewProps) {
  const lines = useMemo(() => yamlLines(object, root), [object, root]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <section class="yaml" aria-label={label} tabIndex={0}>
      <pre>
        {lines.map((line) => {
          const marked = mark?.(line);
          return (
            <span key={line.path} class={`yaml-line ${marked?.class ?? ""}`} title={marked?.title}>
              {" ".repeat(line.indent)}
              <span class="yaml-key">{line.key}</span>
              {line.value && line.key.endsWith(":") ? " " : ""}
              <span class="yaml-value">{line.value.replaceAll("\n", `\n${" ".repeat(line.indent + 2)}`)}</span>
              {"\n"}
            </span>
          );
        })}
      </pre>
    </section>
  );
}
