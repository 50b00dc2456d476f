import type { CoreEvent } from "../api/objects";
import { EVENTS } from "../api/resources";
import { Badge } from "../components/Badge";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { formatAge } from "../format";
import { useLive } from "../hooks";

const KINDS = ["VirtualMachine", "VirtualMachineInstance"];

/** Events of a VM and its instances, the newest first, as they happen. */
export function VmEvents({ namespace, name }: { namespace: string; name: string }) {
  const selector = { fieldSelector: `involvedObject.name=${name}` };
  const { items, state, error, retry } = useLive(EVENTS, namespace, selector);
  const events = items.filter((event) => KINDS.includes(event.involvedObject.kind ?? ""));
  events.sort((one, other) => timeOf(other).localeCompare(timeOf(one)));
  if (state === "failed") return <ErrorState title="The events cannot be shown" error={error} retry={retry} />;
  if (state === "loading") return <Loading label="Loading events" />;
  if (events.length === 0) {
    return (
      <EmptyState title="No events">
        <p>The server keeps events for a limited time.</p>
      </EmptyState>
    );
  }
  return (
    <div class="scroll-x card">
      <table class="plain-table events">
        <thead>
          <tr>
            <th scope="col" class="word">
              Age
            </th>
            <th scope="col">Type</th>
            <th scope="col">Reason</th>
            <th scope="col" class="sentence">
              Message
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.metadata.name}>
              <td class="word">
                <time title={timeOf(event)}>{formatAge(timeOf(event))}</time>
              </td>
              <td>
                <Badge tone={event.type === "Warning" ? "warning" : "neutral"}>{event.type ?? "Normal"}</Badge>
              </td>
              <td class="word">{event.reason}</td>
              <td class="event-message">
                {event.message}
                {(event.count ?? 1) > 1 && <span class="muted"> ({event.count} times)</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function timeOf(event: CoreEvent): string {
  return event.lastTimestamp || event.eventTime || event.firstTimestamp || event.metadata.creationTimestamp || "";
}
