/** What the user may do in a namespace, so that pages offer only what will work. The server decides in any case. */
import { useLoad } from "../hooks";
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

const reviews = new Map<string, Promise<RulesReview>>();

export function useAccess(namespace: string): Allowed {
  const { value } = useLoad(`access/${namespace}`, () => review(namespace || "default"));
  const rules = value?.status?.incomplete ? undefined : value?.status?.resourceRules;
  return (verb, group, resource) => rules?.some((rule) => matches(rule, verb, group, resource)) ?? true;
}

function review(namespace: string): Promise<RulesReview> {
  let answer = reviews.get(namespace);
  if (!answer) {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
    answer = request<RulesReview>("POST", path, { body });
    answer.catch(() => reviews.delete(namespace));
    reviews.set(namespace, answer);
  }
  return answer;
}

/** Forget what the last user may do. */
export function forgetAccess(): void {
  reviews.clear();
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
