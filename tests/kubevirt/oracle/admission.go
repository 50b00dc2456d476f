package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	virtv1 "kubevirt.io/api/core/v1"
	instancetypeapi "kubevirt.io/api/instancetype"

	"kubevirt.io/kubevirt/pkg/defaults"
	preferencewebhooks "kubevirt.io/kubevirt/pkg/instancetype/preference/webhooks"
	"kubevirt.io/kubevirt/pkg/instancetype/webhooks"
	vmwebhooks "kubevirt.io/kubevirt/pkg/instancetype/webhooks/vm"
	"kubevirt.io/kubevirt/pkg/testutils"
	virtwebhooks "kubevirt.io/kubevirt/pkg/virt-api/webhooks"
	vmadmitters "kubevirt.io/kubevirt/pkg/virt-api/webhooks/validating-webhook/admitters"
	virtconfig "kubevirt.io/kubevirt/pkg/virt-config"
)

func newConfiguration(input vmInput) *virtconfig.ClusterConfig {
	architecture := input.DefaultArchitecture
	if architecture == "" {
		architecture = "amd64"
	}
	found, _, _ := testutils.NewFakeClusterConfigUsingKVWithCPUArch(&virtv1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Namespace: "kubevirt"},
		Spec:       virtv1.KubeVirtSpec{Configuration: input.Configuration},
		Status:     virtv1.KubeVirtStatus{DefaultArchitecture: architecture},
	}, architecture)
	return found
}

// causes are written in full, also with an empty field.
func causes(found []metav1.StatusCause) []tree {
	written := make([]tree, 0, len(found))
	for _, cause := range found {
		written = append(written, tree{"type": cause.Type, "message": cause.Message, "field": cause.Field})
	}
	return written
}

func verdict(response *admissionv1.AdmissionResponse) tree {
	if response == nil || response.Allowed {
		found := tree{"allowed": true}
		if response != nil && len(response.Warnings) > 0 {
			found["warnings"] = response.Warnings
		}
		return found
	}
	found := tree{"allowed": false, "message": response.Result.Message, "code": response.Result.Code}
	if response.Result.Reason != "" {
		found["reason"] = response.Result.Reason
	}
	if response.Result.Details != nil && len(response.Result.Details.Causes) > 0 {
		found["causes"] = causes(response.Result.Details.Causes)
	}
	return found
}

// reviewInput is a request to write an instance type or a preference.
type reviewInput struct {
	Operation admissionv1.Operation `json:"operation"`
	Object    json.RawMessage       `json:"object"`
	OldObject json.RawMessage       `json:"oldObject"`
}

type admitter interface {
	Admit(context.Context, *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse
}

func review(input reviewInput, resources map[string]string, admitters map[string]admitter) (any, error) {
	var about metav1.TypeMeta
	if err := json.Unmarshal(input.Object, &about); err != nil {
		return nil, err
	}
	version, err := schema.ParseGroupVersion(about.APIVersion)
	if err != nil {
		return nil, err
	}
	responsible, known := admitters[strings.ToLower(about.Kind)]
	if !known {
		return nil, fmt.Errorf("unexpected kind %s", about.Kind)
	}
	resource := resources[strings.ToLower(about.Kind)]
	return verdict(responsible.Admit(context.Background(), &admissionv1.AdmissionReview{
		Request: &admissionv1.AdmissionRequest{
			Operation: input.Operation,
			Resource:  metav1.GroupVersionResource{Group: version.Group, Version: version.Version, Resource: resource},
			Object:    runtime.RawExtension{Raw: input.Object},
			OldObject: runtime.RawExtension{Raw: input.OldObject},
		},
	})), nil
}

func answerValidateInstancetype(input reviewInput) (any, error) {
	return review(input, map[string]string{
		instancetypeapi.SingularResourceName:        instancetypeapi.PluralResourceName,
		instancetypeapi.ClusterSingularResourceName: instancetypeapi.ClusterPluralResourceName,
	}, map[string]admitter{
		instancetypeapi.SingularResourceName:        &webhooks.InstancetypeAdmitter{},
		instancetypeapi.ClusterSingularResourceName: &webhooks.ClusterInstancetypeAdmitter{},
	})
}

func answerValidatePreference(input reviewInput) (any, error) {
	return review(input, map[string]string{
		instancetypeapi.SingularPreferenceResourceName:        instancetypeapi.PluralPreferenceResourceName,
		instancetypeapi.ClusterSingularPreferenceResourceName: instancetypeapi.ClusterPluralPreferenceResourceName,
	}, map[string]admitter{
		instancetypeapi.SingularPreferenceResourceName:        &preferencewebhooks.PreferenceAdmitter{},
		instancetypeapi.ClusterSingularPreferenceResourceName: &preferencewebhooks.ClusterPreferenceAdmitter{},
	})
}

type matcherInput struct {
	vmInput
	Operation admissionv1.Operation `json:"operation"`
	OldVM     virtv1.VirtualMachine `json:"oldVM"`
}

func answerMatcher(input matcherInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	request := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{Operation: input.Operation}}
	if response := vmwebhooks.NewMutator(objects).Mutate(&input.VM, &input.OldVM, request); response != nil {
		return verdict(response), nil
	}
	return tree{"allowed": true, "vm": input.VM}, nil
}

// answerAdmitVM does what KubeVirt's VM admitter does about instance types, in its order.
func answerAdmitVM(input vmInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	responsible := vmwebhooks.NewAdmitter(objects)
	instancetype, preference, found := responsible.ApplyToVM(&input.VM)
	if len(found) > 0 {
		return tree{"allowed": false, "causes": causes(found)}, nil
	}
	spec := &input.VM.Spec.Template.Spec
	if err := defaults.SetDefaultVirtualMachineInstanceSpec(newConfiguration(input), spec); err != nil {
		return tree{"allowed": false, "error": err.Error()}, nil
	}
	if conflicts, err := responsible.Check(instancetype, preference, spec); err != nil {
		return tree{"allowed": false, "causes": causes([]metav1.StatusCause{{
			Type:    metav1.CauseTypeFieldValueNotFound,
			Message: fmt.Sprintf("failure checking preference requirements: %v", err),
			Field:   conflicts.String(),
		}})}, nil
	}
	return tree{"allowed": true}, nil
}

type evaluateInput struct {
	vmInput
	Raw json.RawMessage `json:"vm"`
}

// answerEvaluateVM asks the admitter of VMs, which evaluates the whole VM after the instance type and preference are applied.
func answerEvaluateVM(input evaluateInput) (any, error) {
	objects, err := newClient(input.Objects)
	if err != nil {
		return nil, err
	}
	responsible := vmadmitters.NewVMsAdmitter(newConfiguration(input.vmInput), objects, &virtwebhooks.Informers{}, nil)
	response := responsible.Admit(context.Background(), &admissionv1.AdmissionReview{
		Request: &admissionv1.AdmissionRequest{
			Operation: admissionv1.Create,
			Resource:  virtwebhooks.VirtualMachineGroupVersionResource,
			Object:    runtime.RawExtension{Raw: input.Raw},
		},
	})
	if response.Allowed {
		return tree{"allowed": true}, nil
	}
	return tree{"allowed": false, "refusals": []string{response.Result.Message}}, nil
}
