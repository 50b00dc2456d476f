/** All pages, in the order of the navigation. Each page is one file in this folder. */
import type { Page } from "../router";
import { InstancetypeComparison, PreferenceComparison } from "./Comparison";
import { CompatibilityMatrix } from "./CompatibilityMatrix";
import { CreateVm } from "./CreateVm";
import { Import } from "./Import";
import { InstancetypeDetail } from "./InstancetypeDetail";
import { InstancetypeList } from "./InstancetypeList";
import { PreferenceDetail } from "./PreferenceDetail";
import { PreferenceList } from "./PreferenceList";
import { VmDetail } from "./VmDetail";
import { VmList } from "./VmList";

export const PAGES: readonly Page[] = [
  { path: "/vms", component: VmList, label: "Virtual machines", shortLabel: "VMs" },
  { path: "/create", component: CreateVm, label: "Create" },
  { path: "/import", component: Import },
  { path: "/vms/:namespace/:name", component: VmDetail },
  { path: "/instancetypes", component: InstancetypeList, label: "Instance types" },
  { path: "/instancetypes/:name", component: InstancetypeDetail },
  { path: "/instancetypes/:namespace/:name", component: InstancetypeDetail },
  { path: "/preferences", component: PreferenceList, label: "Preferences" },
  { path: "/preferences/:name", component: PreferenceDetail },
  { path: "/preferences/:namespace/:name", component: PreferenceDetail },
  { path: "/matrix", component: CompatibilityMatrix },
  { path: "/compare/instancetypes", component: InstancetypeComparison },
  { path: "/compare/preferences", component: PreferenceComparison },
];
