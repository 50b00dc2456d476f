// Command objects prints what virt-operator installs for virt-api, as a List: CRDs, webhooks and APIServices.
package main

import (
	"encoding/json"
	"os"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
)

const namespace = "kubevirt"

var definitions = []func() (*extv1.CustomResourceDefinition, error){
	components.NewKubeVirtCrd,
	components.NewMigrationPolicyCrd,
	components.NewPresetCrd,
	components.NewReplicaSetCrd,
	components.NewVirtualMachineBackupCrd,
	components.NewVirtualMachineBackupTrackerCrd,
	components.NewVirtualMachineCloneCrd,
	components.NewVirtualMachineClusterInstancetypeCrd,
	components.NewVirtualMachineClusterPreferenceCrd,
	components.NewVirtualMachineCrd,
	components.NewVirtualMachineExportCrd,
	components.NewVirtualMachineInstanceCrd,
	components.NewVirtualMachineInstanceMigrationCrd,
	components.NewVirtualMachineInstancetypeCrd,
	components.NewVirtualMachinePoolCrd,
	components.NewVirtualMachinePreferenceCrd,
	components.NewVirtualMachineRestoreCrd,
	components.NewVirtualMachineSnapshotContentCrd,
	components.NewVirtualMachineSnapshotCrd,
}

func main() {
	objects := []runtime.Object{}
	for _, build := range definitions {
		definition, err := build()
		if err != nil {
			panic(err)
		}
		definition.SetGroupVersionKind(extv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		objects = append(objects, definition)
	}
	mutating := components.NewVirtAPIMutatingWebhookConfiguration(namespace)
	validating := components.NewVirtAPIValidatingWebhookConfiguration(namespace)
	registration := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	mutating.SetGroupVersionKind(registration.WithKind("MutatingWebhookConfiguration"))
	validating.SetGroupVersionKind(registration.WithKind("ValidatingWebhookConfiguration"))
	objects = append(objects, mutating, validating)
	for _, service := range components.NewVirtAPIAPIServices(namespace) {
		service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		objects = append(objects, service)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		panic(err)
	}
}
