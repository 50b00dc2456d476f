"""A dump of a KubeVirt cluster: VMs before the objects they need, with server-set fields, status and revisions."""

SIZE_UID = "0d2ad5e5-9a3b-4c5a-9b1e-1b6f0f3f7a10"
WEB_UID = "5e1c2f4e-7b1d-4a53-8d27-6b7f6a2f9c01"
SIZE_REVISION = f"web-cx1.medium-{SIZE_UID}-1"

DUMP = f"""
apiVersion: v1
kind: List
metadata:
  resourceVersion: ""
items:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: web
    namespace: shop
    uid: {WEB_UID}
    resourceVersion: "884213"
    generation: 3
    creationTimestamp: "2025-03-04T10:11:12Z"
    labels: {{app: web}}
    annotations:
      kubevirt.io/latest-observed-api-version: v1
    finalizers: [kubevirt.io/virtualMachineControllerFinalize]
    managedFields:
    - {{manager: kubectl, operation: Update, apiVersion: kubevirt.io/v1, time: "2025-03-04T10:11:12Z"}}
  spec:
    runStrategy: Always
    instancetype: {{kind: virtualmachineclusterinstancetype, name: cx1.medium}}
    preference: {{kind: VirtualMachinePreference, name: linux}}
    dataVolumeTemplates:
    - metadata: {{name: web-root}}
      spec:
        source: {{blank: {{}}}}
        storage: {{resources: {{requests: {{storage: 1Gi}}}}}}
    template:
      metadata: {{labels: {{app: web}}}}
      spec:
        domain:
          devices: {{}}
          futureField: {{enabled: true}}
        volumes:
        - {{name: root, dataVolume: {{name: web-root}}}}
        - {{name: data, persistentVolumeClaim: {{claimName: web-data}}}}
  status:
    printableStatus: Running
    created: true
    ready: true
    observedGeneration: 3
    desiredGeneration: 3
    instancetypeRef:
      kind: virtualmachineclusterinstancetype
      name: cx1.medium
      controllerRevisionRef: {{name: {SIZE_REVISION}}}
- apiVersion: kubevirt.io/v1
  kind: VirtualMachineInstance
  metadata:
    name: web
    namespace: shop
    ownerReferences:
    - {{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: {WEB_UID}, controller: true}}
  spec:
    domain: {{devices: {{}}}}
  status: {{phase: Running}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: web-data
    namespace: shop
    uid: 2b1f7c9d-1111-4222-8333-444455556666
    annotations:
      pv.kubernetes.io/bind-completed: "yes"
      cdi.kubevirt.io/storage.pod.phase: Succeeded
      team: shop
    finalizers: [kubernetes.io/pvc-protection]
  spec:
    accessModes: [ReadWriteOnce]
    resources: {{requests: {{storage: 2Gi}}}}
    volumeName: pvc-2b1f7c9d
  status: {{phase: Bound}}
- apiVersion: cdi.kubevirt.io/v1beta1
  kind: DataVolume
  metadata:
    name: web-root
    namespace: shop
    ownerReferences:
    - {{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: {WEB_UID}, controller: true}}
  spec:
    source: {{blank: {{}}}}
    storage: {{resources: {{requests: {{storage: 1Gi}}}}}}
  status: {{phase: Succeeded}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: {SIZE_REVISION}
  namespace: shop
  uid: 77777777-aaaa-4bbb-8ccc-dddddddddddd
  labels:
    instancetype.kubevirt.io/object-generation: "1"
    instancetype.kubevirt.io/object-kind: VirtualMachineClusterInstancetype
    instancetype.kubevirt.io/object-name: cx1.medium
    instancetype.kubevirt.io/object-uid: {SIZE_UID}
    instancetype.kubevirt.io/object-version: v1beta1
  ownerReferences:
  - {{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: {WEB_UID}, controller: true}}
data:
  apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineClusterInstancetype
  metadata: {{name: cx1.medium, uid: {SIZE_UID}, generation: 1, resourceVersion: "100"}}
  spec: {{cpu: {{guest: 1}}, memory: {{guest: 1Gi}}}}
revision: 0
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: revision-start-vm-{WEB_UID}-3
  namespace: shop
  ownerReferences:
  - {{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: {WEB_UID}, controller: true}}
data: {{spec: {{runStrategy: Always}}}}
revision: 3
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {{name: web-move, namespace: shop}}
spec: {{vmiName: web}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: cx1.medium
  uid: {SIZE_UID}
  generation: 2
  labels: {{instancetype.kubevirt.io/vendor: example.com}}
spec: {{cpu: {{guest: 2}}, memory: {{guest: 4Gi}}}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata: {{name: linux, namespace: shop}}
spec: {{cpu: {{preferredCPUTopology: preferCores}}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: unrelated}}
"""
