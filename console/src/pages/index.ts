/** All pages, in the order of the navigation. Each page is one file in this folder. */
import type { Page } from "../router";
import { CreateVm } from "./CreateVm";
import { VmDetail } from "./VmDetail";
import { VmList } from "./VmList";

export const PAGES: readonly Page[] = [
  { path: "/vms", component: VmList, label: "Virtual machines" },
  { path: "/create", component: CreateVm, label: "Create" },
  { path: "/vms/:namespace/:name", component: VmDetail },
];
