package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cdi "kubevirt.io/client-go/containerizeddataimporter"
	cdifake "kubevirt.io/client-go/containerizeddataimporter/fake"
	cdischeme "kubevirt.io/client-go/containerizeddataimporter/scheme"
	"kubevirt.io/client-go/kubecli"
	kubevirtfake "kubevirt.io/client-go/kubevirt/fake"
	kubevirtscheme "kubevirt.io/client-go/kubevirt/scheme"
	instancetypev1beta1 "kubevirt.io/client-go/kubevirt/typed/instancetype/v1beta1"
)

// client finds the objects of one question. Methods that the operations never call are nil.
type client struct {
	kubecli.KubevirtClient
	core     kubernetes.Interface
	kubevirt *kubevirtfake.Clientset
	cdi      cdi.Interface
}

var kinds = runtime.NewScheme()

var codecs = serializer.NewCodecFactory(kinds)

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, kubevirtscheme.AddToScheme, cdischeme.AddToScheme,
	} {
		if err := add(kinds); err != nil {
			panic(err)
		}
	}
}

// newClient decodes the objects and sorts them by the API group whose client serves them; kinds of other groups are
// left out, since KubeVirt never looks for them.
func newClient(trees []json.RawMessage) (*client, error) {
	var core, kubevirt, imports []runtime.Object
	for _, tree := range trees {
		object, kind, err := codecs.UniversalDeserializer().Decode(tree, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch kind.Group {
		case corev1.GroupName, "apps":
			core = append(core, object)
		case "cdi.kubevirt.io":
			imports = append(imports, object)
		default:
			kubevirt = append(kubevirt, object)
		}
	}
	return &client{
		core:     kubernetesfake.NewSimpleClientset(core...),
		kubevirt: kubevirtfake.NewSimpleClientset(kubevirt...),
		cdi:      cdifake.NewSimpleClientset(imports...),
	}, nil
}

func (c *client) AppsV1() appsv1.AppsV1Interface      { return c.core.AppsV1() }
func (c *client) CoreV1() typedcorev1.CoreV1Interface { return c.core.CoreV1() }
func (c *client) CdiClient() cdi.Interface            { return c.cdi }

func (c *client) VirtualMachine(namespace string) kubecli.VirtualMachineInterface {
	return c.kubevirt.KubevirtV1().VirtualMachines(namespace)
}

func (c *client) VirtualMachineInstancetype(namespace string) instancetypev1beta1.VirtualMachineInstancetypeInterface {
	return c.kubevirt.InstancetypeV1beta1().VirtualMachineInstancetypes(namespace)
}

func (c *client) VirtualMachineClusterInstancetype() instancetypev1beta1.VirtualMachineClusterInstancetypeInterface {
	return c.kubevirt.InstancetypeV1beta1().VirtualMachineClusterInstancetypes()
}

func (c *client) VirtualMachinePreference(namespace string) instancetypev1beta1.VirtualMachinePreferenceInterface {
	return c.kubevirt.InstancetypeV1beta1().VirtualMachinePreferences(namespace)
}

func (c *client) VirtualMachineClusterPreference() instancetypev1beta1.VirtualMachineClusterPreferenceInterface {
	return c.kubevirt.InstancetypeV1beta1().VirtualMachineClusterPreferences()
}
