// goclient asks as clients written in Go ask: with Kubernetes' own client libraries, and the WebSocket library that
// KubeVirt's clients use. It knows no commands of users: tests say which request is to be made.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	semver "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const usage = `usage: goclient get PATH            print what is there
       goclient put PATH [BODY]      have something done; prints the code of the answer
       goclient version              print the version of the group that actions belong to
       goclient stream PATH          join standard input and output to a stream
       goclient upload pvc|dv NAME SIZE FILE`

// Client is a connection to the server of the kubeconfig.
type Client struct {
	config    *rest.Config
	core      *kubernetes.Clientset
	raw       rest.Interface
	namespace string
}

func connect() (*Client, error) {
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{})
	config, err := loading.ClientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := loading.Namespace()
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{config: config, core: core, raw: core.CoreV1().RESTClient(), namespace: namespace}, nil
}

func run(ctx context.Context, words []string) error {
	client, err := connect()
	if err != nil {
		return err
	}
	switch {
	case len(words) == 2 && words[0] == "get":
		return client.get(ctx, words[1])
	case (len(words) == 2 || len(words) == 3) && words[0] == "put":
		return client.put(ctx, words[1], words[2:])
	case len(words) == 1 && words[0] == "version":
		return client.version(ctx)
	case len(words) == 2 && words[0] == "stream":
		return client.stream(words[1], os.Stdin, os.Stdout)
	case len(words) == 5 && words[0] == "upload":
		return client.upload(ctx, words[1], words[2], words[3], words[4])
	}
	return errors.New(usage)
}

func (c *Client) get(ctx context.Context, path string) error {
	answer, err := unwrap(c.raw.Get().AbsPath(path).Do(ctx))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(answer)
	return err
}

// unwrap reads an answer, and why something was refused.
func unwrap(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// put sends a body as bytes, for which the library names no type.
func (c *Client) put(ctx context.Context, path string, body []string) error {
	request := c.raw.Put().AbsPath(path)
	if len(body) > 0 {
		request = request.Body([]byte(body[0]))
	}
	var code int
	if err := request.Do(ctx).StatusCode(&code).Error(); err != nil {
		return err
	}
	fmt.Println(code)
	return nil
}

// version asks the group of actions which of its versions is preferred, and that one for the server's version.
func (c *Client) version(ctx context.Context) error {
	var group metav1.APIGroup
	if err := c.read(ctx, "/apis/subresources.kubevirt.io", &group); err != nil {
		return err
	}
	var found struct{ GitVersion string }
	if err := c.read(ctx, "/apis/"+group.PreferredVersion.GroupVersion+"/version", &found); err != nil {
		return err
	}
	if _, err := semver.ParseSemantic(found.GitVersion); err != nil {
		return err
	}
	fmt.Println(group.PreferredVersion.GroupVersion, found.GitVersion)
	return nil
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
