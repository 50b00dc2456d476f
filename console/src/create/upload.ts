/** Upload a disk image into a new DataVolume, with CDI's protocol: a token for one claim, then the bytes. */
import { ApiError, request } from "../api/client";
import type { DataVolume } from "../api/objects";
import { collectionPath, DATA_VOLUMES, objectPath } from "../api/resources";

export interface UploadTarget {
  namespace: string;
  name: string;
  size: string;
}

const READY_TIMEOUT = 60_000;
const POLL = 500;
const ENDED = ["Succeeded", "Failed"]; // reached at once with simulated guests, which have no storage

/** Create the DataVolume, send the file and wait until the disk is filled. `onProgress` gets the part that was sent. */
export async function uploadImage(
  target: UploadTarget,
  file: File,
  onProgress: (part: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = target;
  await request("POST", collectionPath(DATA_VOLUMES, namespace), { body: buildDataVolume(target), signal });
  try {
    await waitUntilReady(target, signal);
    const token = await requestToken(namespace, name, signal);
    await sendFile(file, token, onProgress, signal);
  } catch (error) {
    await request("DELETE", objectPath(DATA_VOLUMES, name, namespace)).catch(() => undefined);
    throw error;
  }
}

function buildDataVolume({ namespace, name, size }: UploadTarget): object {
  return {
    apiVersion: DATA_VOLUMES.apiVersion,
    kind: DATA_VOLUMES.kind,
    metadata: { name, namespace },
    spec: { source: { upload: {} }, storage: { resources: { requests: { storage: size } } } },
  };
}

async function waitUntilReady({ namespace, name }: UploadTarget, signal: AbortSignal): Promise<void> {
  const end = Date.now() + READY_TIMEOUT;
  while (Date.now() < end) {
    const volume = await request<DataVolume>("GET", objectPath(DATA_VOLUMES, name, namespace), { signal });
    const phase = volume.status?.phase ?? "";
    if (phase === "UploadReady") return;
    if (ENDED.includes(phase))
      throw new ApiError({ message: `${name} does not accept an upload: its phase is ${phase}` }, 0);
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
  throw new ApiError({ message: `${name} is not ready for an upload after ${READY_TIMEOUT / 1000} seconds` }, 0);
}

async function requestToken(namespace: string, claim: string, signal: AbortSignal): Promise<string> {
  const apiVersion = "upload.cdi.kubevirt.io/v1beta1";
  const path = `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/uploadtokenrequests`;
  const body = {
    apiVersion,
    kind: "UploadTokenRequest",
    metadata: { name: claim, namespace },
    spec: { pvcName: claim },
  };
  const answer = await request<{ status?: { token?: string } }>("POST", path, { body, signal });
  return answer.status?.token ?? "";
}

/** Send the file. XMLHttpRequest reports the progress of a request body; fetch does not. */
function sendFile(file: File, token: string, onProgress: (part: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const upload = new XMLHttpRequest();
    upload.open("POST", "/v1beta1/upload");
    upload.setRequestHeader("Authorization", `Bearer ${token}`);
    upload.setRequestHeader("Content-Type", "application/octet-stream");
    upload.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    upload.onload = () => {
      if (upload.status < 300) resolve();
      else reject(new ApiError({ message: readMessage(upload.responseText) }, upload.status));
    };
    upload.onerror = () => reject(new ApiError({ message: "The upload was interrupted" }, 0));
    upload.onabort = () => reject(new DOMException("The upload was cancelled", "AbortError"));
    signal.addEventListener("abort", () => upload.abort());
    upload.send(file);
  });
}

function readMessage(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text.trim();
  }
}
