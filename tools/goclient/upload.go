package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	storage  = "cdi.kubevirt.io/storage."
	volumes  = "/apis/cdi.kubevirt.io/v1beta1/namespaces/%s/datavolumes"
	tokens   = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/%s/uploadtokenrequests"
	settings = "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config"
	patience = time.Minute
	interval = 200 * time.Millisecond
)

// volume is written as the structs of CDI's clients are: with the fields that they never leave out.
const volume = `{"kind":"DataVolume","apiVersion":"cdi.kubevirt.io/v1beta1",` +
	`"metadata":{"name":%q,"namespace":%q,"creationTimestamp":null},"spec":{"source":{"upload":{}},` +
	`"storage":{"resources":{"requests":{"storage":%q}}},"contentType":"kubevirt"},"status":{}}`

const tokenRequest = `{"kind":"UploadTokenRequest","apiVersion":"upload.cdi.kubevirt.io/v1beta1",` +
	`"metadata":{"name":"token-for-virtctl","creationTimestamp":null},"spec":{"pvcName":%q},"status":{}}`

// upload fills a new claim from a file: by itself, or by way of a DataVolume.
func (c *Client) upload(ctx context.Context, kind, name, size, path string) error {
	create := map[string]func(context.Context, string, string) error{"pvc": c.createClaim, "dv": c.createVolume}[kind]
	if create == nil {
		return fmt.Errorf("a %s cannot be filled", kind)
	}
	if err := create(ctx, name, size); err != nil {
		return err
	}
	var found struct {
		Status struct{ UploadProxyURL string }
	}
	if err := c.read(ctx, settings, &found); err != nil {
		return err
	}
	var granted struct{ Status struct{ Token string } }
	if err := c.create(ctx, tokens, fmt.Sprintf(tokenRequest, name), &granted); err != nil {
		return err
	}
	if err := send(found.Status.UploadProxyURL, granted.Status.Token, path); err != nil {
		return err
	}
	return c.waitForClaim(ctx, name, "pod.phase", "Succeeded")
}

func (c *Client) createClaim(ctx context.Context, name, size string) error {
	amount, err := resource.ParseQuantity(size)
	if err != nil {
		return err
	}
	notes := map[string]string{storage + "upload.target": "", storage + "contentType": "kubevirt"}
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace, Annotations: notes},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: amount}},
		},
	}
	claims := c.core.CoreV1().PersistentVolumeClaims(c.namespace)
	if _, err := claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		return err
	}
	return c.waitForClaim(ctx, name, "pod.ready", "true")
}

func (c *Client) createVolume(ctx context.Context, name, size string) error {
	if err := c.create(ctx, volumes, fmt.Sprintf(volume, name, c.namespace, size), &struct{}{}); err != nil {
		return err
	}
	path := fmt.Sprintf(volumes, c.namespace) + "/" + name
	return wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		var seen struct {
			Status struct{ Phase, ClaimName string }
		}
		err := c.read(ctx, path, &seen)
		if err == nil && seen.Status.Phase != "UploadReady" {
			err = c.checkEvents(ctx, name)
		}
		return seen.Status.Phase == "UploadReady", err
	})
}

func (c *Client) waitForClaim(ctx context.Context, name, note, value string) error {
	return wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		claim, err := c.core.CoreV1().PersistentVolumeClaims(c.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return claim.Annotations[storage+note] == value, c.checkEvents(ctx, name)
	})
}

// checkEvents finds out whether somebody has said that it cannot be done.
func (c *Client) checkEvents(ctx context.Context, name string) error {
	about := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.name", name).String()}
	events, err := c.core.CoreV1().Events(c.namespace).List(ctx, about)
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if event.Reason == "ProvisioningFailed" || event.Reason == "ErrClaimNotValid" {
			return fmt.Errorf("%s: %s", event.Reason, event.Message)
		}
	}
	return nil
}

func (c *Client) read(ctx context.Context, path string, into any) error {
	answer, err := unwrap(c.raw.Get().AbsPath(path).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

func (c *Client) create(ctx context.Context, path, body string, into any) error {
	request := c.raw.Post().AbsPath(fmt.Sprintf(path, c.namespace)).SetHeader("Content-Type", "application/json")
	answer, err := unwrap(request.Body([]byte(body)).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// send asks whether the proxy takes uploads that it works on later, and hands it one; it trusts any certificate.
func send(proxy, token, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return err
	}
	trusting := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, method := range []string{http.MethodHead, http.MethodPost} {
		var body io.Reader
		if method == http.MethodPost {
			body = io.NopCloser(file)
		}
		request, err := http.NewRequest(method, proxy+"/v1alpha1/upload-async", body)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/octet-stream")
			request.ContentLength = about.Size()
		}
		response, err := (&http.Client{Transport: trusting}).Do(request)
		if err != nil {
			return err
		}
		words, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s: %s", method, response.Status, words)
		}
	}
	return nil
}
