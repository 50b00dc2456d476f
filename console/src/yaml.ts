/** Write objects as YAML, line by line, with the field that each line belongs to. */

export interface YamlLine {
  /** Spaces before the text. */
  indent: number;
  /** The key with its colon, or "- " for an item of a list. */
  key: string;
  /** The scalar after the key, if there is one. */
  value: string;
  /** Field path, such as spec.template.spec.domain.cpu.cores or spec.volumes[0].name. */
  path: string;
}

type Tree = unknown;

/** Return the lines of an object; fields that are undefined or null are left out. `root` starts their paths. */
export function yamlLines(tree: Tree, root = ""): YamlLine[] {
  const lines: YamlLine[] = [];
  writeTree(tree, root, 0, lines);
  return lines;
}

/** Return an object as a YAML document. */
export function formatYaml(tree: Tree): string {
  const lines = yamlLines(tree).map(({ indent, key, value }) => {
    const text = value.replaceAll("\n", `\n${" ".repeat(indent + 2)}`);
    return `${" ".repeat(indent)}${key}${key.endsWith(":") && text ? " " : ""}${text}`;
  });
  return `${lines.join("\n")}\n`;
}

function writeTree(tree: Tree, path: string, indent: number, lines: YamlLine[]): void {
  if (Array.isArray(tree)) {
    for (const [index, item] of tree.entries()) writeItem(item, `${path}[${index}]`, indent, lines);
    return;
  }
  for (const [key, value] of fieldsOf(tree)) {
    const at = extendPath(path, key);
    const name = `${formatKey(key)}:`;
    const inner = Array.isArray(value) ? indent : indent + 2;
    if (isNested(value)) {
      lines.push({ indent, key: name, value: "", path: at });
      writeTree(value, at, inner, lines);
    } else {
      lines.push({ indent, key: name, value: formatScalar(value), path: at });
    }
  }
}

/** Return the path of a field; keys with characters other than letters are in brackets, as the server writes them. */
function extendPath(path: string, key: string): string {
  if (!path) return key;
  return /^[A-Za-z0-9_-]+$/.test(key) ? `${path}.${key}` : `${path}[${key}]`;
}

function writeItem(item: Tree, path: string, indent: number, lines: YamlLine[]): void {
  if (!isNested(item)) {
    lines.push({ indent, key: "- ", value: formatScalar(item), path });
    return;
  }
  const start = lines.length;
  writeTree(item, path, indent + 2, lines);
  const first = lines[start];
  if (first) lines[start] = { ...first, indent, key: `- ${first.key}` };
}

function fieldsOf(tree: Tree): [string, Tree][] {
  return Object.entries(tree as object).filter(([, value]) => value !== undefined && value !== null);
}

function isNested(value: Tree): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function formatScalar(value: Tree): string {
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  return typeof value === "string" ? formatString(value) : String(value);
}

function formatKey(key: string): string {
  return isPlain(key) ? key : JSON.stringify(key);
}

function formatString(text: string): string {
  // A block scalar cannot start with a space, and keeps one newline at its end.
  if (/^[^\s][^\n]*(\n[^\n]*)+$/.test(text) && !text.endsWith("\n\n") && !/[^\S\n]+$|\t|\r/m.test(text)) {
    return `|${text.endsWith("\n") ? "" : "-"}\n${text.replace(/\n$/, "")}`;
  }
  return isPlain(text) ? text : JSON.stringify(text);
}

// Words and numbers that YAML 1.1 reads as something other than a string.
const SPECIAL = /^(y|n|yes|no|on|off|true|false|null|~|[-+]?[0-9.][0-9a-fxo_.:eE+-]*|[-+]?\.(inf|nan))$/i;

function isPlain(text: string): boolean {
  return (
    /^[A-Za-z0-9_./][^\n\t:#"'{}[\],&*!|>%@`\\]*$/.test(text.replaceAll(/:(?=\S)/g, "")) &&
    !/\s$/.test(text) &&
    !SPECIAL.test(text)
  );
}
