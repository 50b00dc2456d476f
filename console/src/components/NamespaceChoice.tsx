/** Selects the namespace that lists show and in which new objects are created. */
import { useContext } from "preact/hooks";
import { NAMESPACES } from "../api/resources";
import { useCollection } from "../hooks";
import { ALL_NAMESPACES, NamespaceContext } from "../settings";

export function NamespaceChoice() {
  const { namespace, setNamespace } = useContext(NamespaceContext);
  const { value, error } = useCollection(NAMESPACES);
  const names = new Set(value?.map((item) => item.metadata.name));
  if (namespace !== ALL_NAMESPACES) names.add(namespace);
  if (error) return <NamespaceInput namespace={namespace} setNamespace={setNamespace} />;
  return (
    <select
      class="input input-small"
      aria-label="Namespace"
      value={namespace}
      onChange={(event) => setNamespace(event.currentTarget.value)}
    >
      <option value={ALL_NAMESPACES}>All namespaces</option>
      {[...names].sort().map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** A text field for users who may not list namespaces. */
function NamespaceInput({ namespace, setNamespace }: { namespace: string; setNamespace: (name: string) => void }) {
  return (
    <input
      class="input input-small"
      aria-label="Namespace"
      value={namespace}
      placeholder="All namespaces"
      onChange={(event) => setNamespace(event.currentTarget.value.trim())}
    />
  );
}
