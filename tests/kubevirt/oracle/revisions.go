package main

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubevirt.io/kubevirt/pkg/instancetype/revision"
	"kubevirt.io/kubevirt/pkg/instancetype/upgrade"
)

// payloadsInput is the data of two revisions.
type payloadsInput struct {
	One   json.RawMessage `json:"one"`
	Other json.RawMessage `json:"other"`
}

func answerCompareRevisions(input payloadsInput) (any, error) {
	same, err := revision.Compare(
		&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: input.One}},
		&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: input.Other}},
	)
	if err != nil {
		return nil, err
	}
	return tree{"same": same}, nil
}

// answerUpgradeRevisions returns all revisions that are left after an upgrade, and the status that refers to them.
func answerUpgradeRevisions(input vmInput) (any, error) {
	objects, err := newClient(append(input.Objects, must(json.Marshal(input.VM))))
	if err != nil {
		return nil, err
	}
	if err := upgrade.New(nil, objects).Upgrade(&input.VM); err != nil {
		return nil, err
	}
	left, err := objects.AppsV1().ControllerRevisions(input.VM.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return tree{"status": input.VM.Status, "revisions": left.Items}, nil
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}
