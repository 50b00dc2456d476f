"""Configuration files of containerd, its network plugins, kubelet and kube-proxy."""

from pathlib import Path
from typing import Final

from virtshape.api.model import JsonObject

PAUSE: Final = "localhost/pause:1"
POD_NETWORK: Final = "10.88.0.0/16"
CNI_PROGRAMS: Final = "/usr/lib/cni"


def render_containerd(directory: Path, socket: Path, *, device_ownership: bool = True) -> str:
    """
    Return the configuration of containerd; all of its files are in the node's namespaces or directory.

    With `device_ownership`, the users of containers own their block devices.
    """
    return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
disable_apparmor = true
device_ownership_from_security_context = {str(device_ownership).lower()}
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI_PROGRAMS}"
conf_dir = "{directory / "cni"}"
"""


def build_cni() -> JsonObject:
    """Return the CNI configuration of the pod network: a bridge in the node's network namespace."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": POD_NETWORK}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def build_kubelet(directory: Path, socket: Path, cgroup: str) -> JsonObject:
    """Return the configuration of kubelet."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(directory / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "containerRuntimeEndpoint": f"unix://{socket}",
        "cpuManagerPolicy": "static",  # for guests with dedicated CPUs
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,  # a removed image could not be pulled again
        "oomScoreAdj": 0,  # lower values need a capability that containers do not have
        "podLogsDir": "/var/log/pods",
        "resolvConf": str(directory / "resolv.conf"),
        "systemReserved": {"cpu": "100m"},  # makes the static policy reserve one CPU for all other pods
        "tlsCertFile": str(directory / "kubelet.crt"),
        "tlsPrivateKeyFile": str(directory / "kubelet.key"),
    }


def build_proxy(kubeconfig: Path, node: str) -> JsonObject:
    """Return the configuration of kube-proxy."""
    timeouts = ("tcpEstablishedTimeout", "tcpCloseWaitTimeout", "udpTimeout", "udpStreamTimeout")
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": POD_NETWORK,
        "conntrack": {"maxPerCore": 0, "min": 0, **dict.fromkeys(timeouts, "0s")},  # do not change the machine's limits
        "hostnameOverride": node,
        "iptables": {"masqueradeAll": True},  # replies between pods on the same bridge must pass through the node
        "mode": "iptables",
        "oomScoreAdj": 0,
    }
