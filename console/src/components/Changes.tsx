import type { Change } from "../compare";

/** The fields that differ between two versions. */
export function Changes({ changes, none }: { changes: readonly Change[]; none: string }) {
  if (changes.length === 0) return <p>{none}</p>;
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col" class="word">
            Now
          </th>
          <th scope="col" class="word">
            After
          </th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row" class="mono">
              {field}
            </th>
            <td class="mono">{before ? <del>{before}</del> : <span class="muted">not set</span>}</td>
            <td class="mono">{after ? <ins>{after}</ins> : <span class="muted">not set</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
