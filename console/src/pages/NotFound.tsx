import { ButtonLink } from "../components/Button";
import { EmptyState } from "../components/States";
import { useTitle } from "../hooks";

export function NotFound() {
  useTitle("Not found");
  return (
    <EmptyState whole title="There is no such page">
      <ButtonLink to="/vms">Show the virtual machines</ButtonLink>
    </EmptyState>
  );
}
