package main

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	virtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/api/instancetype/v1beta1"

	"kubevirt.io/kubevirt/pkg/instancetype/annotations"
	"kubevirt.io/kubevirt/pkg/instancetype/apply"
	"kubevirt.io/kubevirt/pkg/instancetype/conflict"
	controller "kubevirt.io/kubevirt/pkg/instancetype/controller/vm"
	"kubevirt.io/kubevirt/pkg/instancetype/expand"
	"kubevirt.io/kubevirt/pkg/instancetype/find"
	"kubevirt.io/kubevirt/pkg/instancetype/infer"
	preferenceannotations "kubevirt.io/kubevirt/pkg/instancetype/preference/annotations"
	preferencefind "kubevirt.io/kubevirt/pkg/instancetype/preference/find"
	"kubevirt.io/kubevirt/pkg/instancetype/preference/requirements"
	"kubevirt.io/kubevirt/pkg/instancetype/preference/validation"
)

type tree = map[string]any

var operations = map[string]func(json.RawMessage) (any, error){
	"apply":                parsed(answerApply),
	"requirements":         parsed(answerRequirements),
	"spreadCheck":          parsed(answerSpreadCheck),
	"expand":               parsed(answerExpand),
	"infer":                parsed(answerInfer),
	"startVMI":             parsed(answerStartVMI),
	"annotations":          parsed(answerAnnotations),
	"validateInstancetype": parsed(answerValidateInstancetype),
	"validatePreference":   parsed(answerValidatePreference),
	"matcher":              parsed(answerMatcher),
	"admitVM":              parsed(answerAdmitVM),
	"evaluateVM":           parsed(answerEvaluateVM),
	"compareRevisions":     parsed(answerCompareRevisions),
	"upgradeRevisions":     parsed(answerUpgradeRevisions),
}

func parsed[Input any](operation func(Input) (any, error)) func(json.RawMessage) (any, error) {
	return func(raw json.RawMessage) (any, error) {
		var input Input
		if err := json.Unmarshal(raw, &input); err != nil {
			return tree{"error": err.Error(), "goText": true}, nil
		}
		return operation(input)
	}
}

func failure(err error) tree {
	var conflicts conflict.Conflicts
	if errors.As(err, &conflicts) {
		return tree{"error": err.Error(), "conflicts": paths(conflicts)}
	}
	return tree{"error": err.Error()}
}

func paths(conflicts conflict.Conflicts) []string {
	found := make([]string, 0, len(conflicts))
	for _, one := range conflicts {
		found = append(found, one.String())
	}
	return found
}

// specsInput is an instance type, a preference and a VMI, none of them stored.
type specsInput struct {
	InstancetypeSpec *v1beta1.VirtualMachineInstancetypeSpec `json:"instancetypeSpec"`
	PreferenceSpec   *v1beta1.VirtualMachinePreferenceSpec   `json:"preferenceSpec"`
	VMISpec          virtv1.VirtualMachineInstanceSpec       `json:"vmiSpec"`
	VMIMetadata      metav1.ObjectMeta                       `json:"vmiMetadata"`
	FieldPath        string                                  `json:"fieldPath"`
}

func answerApply(input specsInput) (any, error) {
	root := field.NewPath("spec", "template", "spec")
	if input.FieldPath != "" {
		root = field.NewPath(input.FieldPath)
	}
	conflicts := apply.NewVMIApplier().ApplyToVMI(
		root, input.InstancetypeSpec, input.PreferenceSpec, &input.VMISpec, &input.VMIMetadata)
	if len(conflicts) > 0 {
		return tree{"conflicts": paths(conflicts), "causes": causes(conflicts.StatusCauses()), "error": conflicts.Error()}, nil
	}
	return tree{"vmiSpec": input.VMISpec, "vmiMetadata": input.VMIMetadata}, nil
}

func answerRequirements(input specsInput) (any, error) {
	conflicts, err := requirements.New().Check(input.InstancetypeSpec, input.PreferenceSpec, &input.VMISpec)
	if err != nil {
		return tree{"met": false, "error": err.Error(), "conflicts": paths(conflicts), "field": conflicts.String()}, nil
	}
	return tree{"met": true}, nil
}

func answerSpreadCheck(input specsInput) (any, error) {
	found := validation.CheckSpreadCPUTopology(input.InstancetypeSpec, input.PreferenceSpec)
	if found == nil {
		return tree{"conflict": nil}, nil
	}
	return tree{"conflict": found.String(), "error": found.Error(), "causes": causes(found.StatusCauses())}, nil
}

// vmInput is a VM and the objects that it may refer to.
type vmInput struct {
	VM                  virtv1.VirtualMachine        `json:"vm"`
	Objects             []json.RawMessage            `json:"objects"`
	Configuration       virtv1.KubeVirtConfiguration `json:"configuration"`
	DefaultArchitecture string                       `json:"defaultArchitecture"`
	VMIMetadata         metav1.ObjectMeta            `json:"vmiMetadata"`
}

func answerExpand(input vmInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	expander := expand.New(
		newConfiguration(input),
		find.NewSpecFinder(nil, nil, nil, objects),
		preferencefind.NewSpecFinder(nil, nil, nil, objects),
	)
	expanded, err := expander.Expand(&input.VM)
	if err != nil {
		return nil, err
	}
	return tree{"vm": expanded}, nil
}

func answerInfer(input vmInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	if err := infer.New(objects).Infer(&input.VM); err != nil {
		return nil, err
	}
	return tree{"instancetype": input.VM.Spec.Instancetype, "preference": input.VM.Spec.Preference, "vm": input.VM}, nil
}

func answerStartVMI(input vmInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	vmi := &virtv1.VirtualMachineInstance{
		ObjectMeta: *input.VM.Spec.Template.ObjectMeta.DeepCopy(),
		Spec:       *input.VM.Spec.Template.Spec.DeepCopy(),
	}
	starter := controller.New(nil, nil, nil, nil, nil, objects, newConfiguration(input), nil)
	if err := starter.ApplyToVMI(&input.VM, vmi); err != nil {
		return nil, err
	}
	return tree{"vmiSpec": vmi.Spec, "vmiMetadata": vmi.ObjectMeta}, nil
}

func answerAnnotations(input vmInput) (any, error) {
	vmi := &virtv1.VirtualMachineInstance{ObjectMeta: input.VMIMetadata}
	annotations.Set(&input.VM, vmi)
	preferenceannotations.Set(&input.VM, vmi)
	return tree{"vmiMetadata": vmi.ObjectMeta}, nil
}
