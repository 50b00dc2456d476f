/** What the user may do in a namespace, so that pages offer only permitted actions. The server checks each request anyway. */
import { useEffect, useState } from "preact/hooks";
import { request } from "./client";

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

interface RulesReview {
  status?: { resourceRules?: Rule[]; incomplete?: boolean };
}

/** Return true if the user may use the verb on the resource of the group; true while this is not known. */
export type Allowed = (verb: string, group: string, resource: string) => boolean;

const reviews = new Map<string, Promise<void>>();
const rules = new Map<string, Rule[]>(); // of the namespaces that were reviewed completely

/** Return what the user may do; rows of a list use it too, so it costs nothing once the namespace is reviewed. */
export function useAccess(namespace: string): Allowed {
  const [, redraw] = useState(0);
  const reviewed = namespace || "default";
  useEffect(() => {
    if (rules.has(reviewed)) return;
    let isShown = true;
    void review(reviewed).then(() => isShown && redraw((count) => count + 1));
    return () => {
      isShown = false;
    };
  }, [reviewed]);
  const known = rules.get(reviewed);
  return (verb, group, resource) => known?.some((rule) => matches(rule, verb, group, resource)) ?? true;
}

function review(namespace: string): Promise<void> {
  let running = reviews.get(namespace);
  if (!running) {
    running = requestRules(namespace).catch(() => void reviews.delete(namespace));
    reviews.set(namespace, running);
  }
  return running;
}

async function requestRules(namespace: string): Promise<void> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
  const { status } = await request<RulesReview>("POST", path, { body });
  if (status?.resourceRules && !status.incomplete) rules.set(namespace, status.resourceRules);
}

/** Forget what the last user may do. */
export function forgetAccess(): void {
  reviews.clear();
  rules.clear();
}

function matches(rule: Rule, verb: string, group: string, resource: string): boolean {
  return (
    !rule.resourceNames?.length &&
    has(rule.verbs, verb) &&
    has(rule.apiGroups, group) &&
    (has(rule.resources, resource) || has(rule.resources, `*/${resource.split("/")[1]}`))
  );
}

function has(values: string[] | undefined, value: string): boolean {
  return values?.some((one) => one === value || one === "*") ?? false;
}
