/**
 * Import objects of another cluster. The server plans the import (`preview-import`); this page reads and writes the
 * objects with the user's permissions.
 */
import { ApiError, describeError, request, send } from "../api/client";
import type { KubernetesObject, List, ObjectMeta } from "../api/objects";
import type { FieldChange } from "../api/previews";
import {
  CONTROLLER_REVISIONS,
  collectionPath,
  NAMESPACES,
  objectPath,
  type Resource,
  subresourcePath,
} from "../api/resources";
import { formatBytes } from "../format";

export interface ImportFile {
  name: string;
  text: string;
}

export interface ImportProblem {
  file: string;
  message: string;
  line?: number;
  column?: number;
}

export interface PlannedObject {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  /** Absent if the object is skipped. */
  resource?: string;
  result: "create" | "unchanged" | "differs" | "skipped";
  message?: string;
  changes?: FieldChange[];
  dropped?: { field: string; reason: string }[];
  /** The JSON text to create the object, or to update one that differs. */
  body?: string;
  /** The JSON text of a merge patch that sets the owners of an existing object. */
  owners?: string;
}

interface Preview {
  problems: ImportProblem[];
  items: PlannedObject[];
}

interface ReplacedRevision {
  namespace: string;
  name: string;
  by: string;
}

interface Request {
  files: ImportFile[];
  halted: boolean;
  existing?: object[];
  replaced?: ReplacedRevision[];
}

/** What the user imports, and where the permission to plan it is checked. */
export interface ImportSource {
  namespace: string;
  files: ImportFile[];
  halted: boolean;
}

export interface ImportPlan {
  source: ImportSource;
  problems: ImportProblem[];
  items: PlannedObject[];
  existing: KubernetesObject[];
  /** Why an object cannot be read, by its path; such an object is not written. */
  unreadable: ReadonlyMap<string, unknown>;
}

export interface Outcome {
  result: "created" | "updated" | "unchanged" | "kept" | "skipped" | "failed";
  message: string;
}

const LIMIT = 3 * 1024 * 1024; // of a request to the API
const CONCURRENCY = 6; // connections of a browser to one server
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const UPGRADED_FROM = "virtshape.io/upgraded-from";

/** Plan the import, read the objects that exist, and compare them with the plan. */
export async function planImport(source: ImportSource, signal: AbortSignal): Promise<ImportPlan> {
  const first = await preview(source, {}, signal);
  const wanted = first.items.filter((item) => item.resource);
  const existing: KubernetesObject[] = [];
  const unreadable = new Map<string, unknown>();
  await inParallel(wanted, async (item) => {
    try {
      existing.push(withoutServerFields(await request<KubernetesObject>("GET", pathOf(item), { signal })));
    } catch (error) {
      if (!hasCode(error, 404)) unreadable.set(pathOf(item), error);
    }
  });
  const replaced = await listReplaced(wanted, signal);
  const compared = wanted.length ? await preview(source, { existing, replaced }, signal) : first;
  return { source, ...compared, existing, unreadable };
}

/** Write the objects of a plan in its order, then set their owners. `onOutcome` gets the result for each object. */
export async function runImport(
  plan: ImportPlan,
  overwrite: boolean,
  onOutcome: (item: PlannedObject, outcome: Outcome) => void,
): Promise<void> {
  const stored = new Map(plan.existing.map((object) => [keyOf(object), object]));
  const write = async (item: PlannedObject) => {
    try {
      if (plan.unreadable.has(pathOf(item))) throw plan.unreadable.get(pathOf(item));
      const { object, ...outcome } = await writeObject(item, overwrite);
      if (object) stored.set(keyOf(object), object);
      onOutcome(item, outcome);
    } catch (error) {
      onOutcome(item, describeFailure(item, error));
    }
  };
  for (const group of groupByKind(plan.items)) await inParallel(group, write);
  await setOwners(plan, [...stored.values()], onOutcome);
}

async function writeObject(item: PlannedObject, overwrite: boolean): Promise<Outcome & { object?: KubernetesObject }> {
  const { result, body = "", message = "" } = item;
  if (result === "create") {
    const object = await request<KubernetesObject>("POST", collectionPath(resourceOf(item), item.namespace), {
      text: body,
    });
    return { result: "created", message, object };
  }
  if (result === "differs" && overwrite) {
    const object = await request<KubernetesObject>("PUT", pathOf(item), { text: body });
    return { result: "updated", message, object };
  }
  return { result: result === "differs" ? "kept" : result, message };
}

/** Set the owner references that the server plans from the UIDs of the stored objects. */
async function setOwners(
  plan: ImportPlan,
  stored: KubernetesObject[],
  onOutcome: (item: PlannedObject, outcome: Outcome) => void,
): Promise<void> {
  const existing = stored.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    metadata: ownershipOf(metadata),
  }));
  const { items } = await preview(plan.source, { existing });
  await inParallel(
    items.filter((item) => item.owners),
    async (item) => {
      try {
        await send("PATCH", pathOf(item), { text: item.owners ?? "", contentType: "application/merge-patch+json" });
      } catch (error) {
        if (hasCode(error, 404)) return; // a controller may already have removed the object
        onOutcome(item, { result: "failed", message: `setting its owners: ${describeError(error)}` });
      }
    },
  );
}

async function preview(source: ImportSource, known: Partial<Request>, signal?: AbortSignal): Promise<Preview> {
  const { namespace, files, halted } = source;
  const text = JSON.stringify({ files, halted, ...known });
  const size = new TextEncoder().encode(text).length;
  if (size > LIMIT) {
    const message = `The request has ${formatBytes(size)}B, and the API accepts ${formatBytes(LIMIT)}B.`;
    throw new ApiError({ message: `${message} Import fewer files at once, or use virtshape import.` }, 413);
  }
  const path = subresourcePath(namespace || "default", "preview-import");
  return request("PUT", path, { text, ...(signal && { signal }) });
}

/** Return the revisions that the server replaced after an earlier import, in the namespaces of the plan. */
async function listReplaced(items: readonly PlannedObject[], signal: AbortSignal): Promise<ReplacedRevision[]> {
  const revisions = items.filter(({ kind }) => kind === CONTROLLER_REVISIONS.kind);
  const namespaces = [...new Set(revisions.map((item) => item.namespace ?? ""))];
  const lists = await Promise.all(
    namespaces.map(async (namespace) => {
      const path = collectionPath(CONTROLLER_REVISIONS, namespace);
      try {
        return (await request<List<KubernetesObject>>("GET", path, { signal, accept: METADATA_LIST })).items;
      } catch (error) {
        if (signal.aborted) throw error;
        return []; // without this permission, writing a revision reports the error
      }
    }),
  );
  return lists.flat().flatMap(({ metadata }) => {
    const name = metadata.annotations?.[UPGRADED_FROM];
    return name ? [{ namespace: metadata.namespace ?? "", name, by: metadata.name }] : [];
  });
}

/** Return the path of a planned object. */
export function pathOf(item: PlannedObject): string {
  return item.resource ? objectPath(resourceOf(item), item.name, item.namespace) : `${item.kind}/${item.name}`;
}

function resourceOf({ apiVersion, kind, resource = "", namespace }: PlannedObject): Resource<KubernetesObject> {
  return { apiVersion, kind, plural: resource, namespaced: Boolean(namespace) };
}

function keyOf({ apiVersion, kind, metadata }: KubernetesObject): string {
  return [apiVersion, kind, metadata.namespace ?? "", metadata.name].join("/");
}

/** Drop what is large and not compared. */
function withoutServerFields(object: KubernetesObject & { status?: unknown }): KubernetesObject {
  const { status: _, ...rest } = object;
  return { ...rest, metadata: { ...object.metadata, managedFields: undefined } as ObjectMeta };
}

function ownershipOf(metadata: ObjectMeta & { ownerReferences?: unknown }): object {
  const { name, namespace, uid, ownerReferences } = metadata;
  return { name, namespace, uid, ownerReferences };
}

/** Objects of one kind can be written at the same time; other kinds may need them. */
function groupByKind(items: readonly PlannedObject[]): PlannedObject[][] {
  const groups: PlannedObject[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last?.[0]?.kind === item.kind) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const run = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

/** Without access to a namespace, objects in it may still be imported; any other failure is one of the object. */
function describeFailure(item: PlannedObject, error: unknown): Outcome {
  const result = item.kind === NAMESPACES.kind && hasCode(error, 403) ? "skipped" : "failed";
  const causes = error instanceof ApiError ? error.causes.map(({ field, message }) => `${field}: ${message}`) : [];
  return { result, message: causes.length > 1 ? causes.join("; ") : describeError(error) };
}
