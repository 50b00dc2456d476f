// Package specs runs KubeVirt's functional specs of instance types and preferences against the server of a kubeconfig.
// It sets up what the specs need and nothing else of KubeVirt's own suite, which expects a cluster with virt-handler.
package specs

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"kubevirt.io/client-go/kubecli"

	"kubevirt.io/kubevirt/pkg/libvmi"
	"kubevirt.io/kubevirt/tests/flags"
	"kubevirt.io/kubevirt/tests/framework/kubevirt"
	_ "kubevirt.io/kubevirt/tests/instancetype"
	kvconfig "kubevirt.io/kubevirt/tests/libkubevirt/config"
	"kubevirt.io/kubevirt/tests/libnode"
	"kubevirt.io/kubevirt/tests/libvmifact"
	"kubevirt.io/kubevirt/tests/testsuite"
)

const patience = time.Minute

func TestSpecs(t *testing.T) {
	RegisterFailHandler(Fail)
	testsuite.CalculateNamespaces()
	kubecli.RegisterRestConfigHook(func(config *rest.Config) { config.QPS, config.Burst = 1000, 1000 })
	RunSpecs(t, "Instance types and preferences")
}

var _ = BeforeSuite(func() {
	flags.KubeVirtInstallNamespace = "kubevirt"
	testsuite.AdjustKubeVirtResource() // records the configuration to which each spec returns
	testsuite.Arch = libnode.GetArch()
	libvmifact.RegisterArchitecture(testsuite.Arch)
	libvmi.RegisterDefaultOption(libvmi.WithAutoattachGraphicsDevice(false))
	libvmi.RegisterDefaultOption(libvmi.WithTerminationGracePeriod(0))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testsuite.NamespaceTestDefault}}
	_, err := kubevirt.Client().CoreV1().Namespaces().Create(context.Background(), namespace, metav1.CreateOptions{})
	Expect(err).To(Or(Not(HaveOccurred()), MatchError(errors.IsAlreadyExists, "AlreadyExists")))
})

var _ = AfterEach(func(ctx context.Context) {
	client, namespace := kubevirt.Client(), testsuite.NamespaceTestDefault
	everything, all := metav1.DeleteOptions{}, metav1.ListOptions{}
	Expect(client.VirtualMachine(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Expect(client.VirtualMachineInstancetype(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Expect(client.VirtualMachinePreference(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Expect(client.CdiClient().CdiV1beta1().DataVolumes(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Expect(client.CdiClient().CdiV1beta1().DataSources(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Expect(client.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, everything, all)).To(Succeed())
	Eventually(func(g Gomega) {
		left, err := client.VirtualMachine(namespace).List(ctx, all)
		g.Expect(err).ToNot(HaveOccurred())
		g.Expect(left.Items).To(BeEmpty())
	}, patience, 100*time.Millisecond).Should(Succeed())
	if CurrentSpecReport().IsSerial {
		kvconfig.UpdateKubeVirtConfigValueAndWait(testsuite.KubeVirtDefaultConfig)
	}
})
