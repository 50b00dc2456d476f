"""
Structs for scheduling: affinity, tolerations, topology spread, and the DNS settings of a pod.

The controllers copy these settings unchanged from a VM to its pod.
"""

from typing import Literal

from virtshape.api.meta import LabelSelector
from virtshape.api.model import Int32, Model


class PodDNSConfigOption(Model):
    """One option of the resolver."""

    name: str | None = None
    """The option, such as ndots."""
    value: str | None = None
    """Value of the option; absent for options without a value."""


class PodDNSConfig(Model):
    """DNS settings in addition to those that result from dnsPolicy."""

    nameservers: list[str] | None = None
    """IP addresses of additional DNS servers; at least one if dnsPolicy is None."""
    searches: list[str] | None = None
    """Additional search domains for short host names."""
    options: list[PodDNSConfigOption] | None = None
    """Resolver options, which override options of the same name that result from dnsPolicy."""


class TopologySpreadConstraint(Model):
    """A rule to spread similar pods evenly over zones, nodes or other domains."""

    max_skew: Int32
    """Maximum difference between the numbers of pods in a domain and in the emptiest domain; at least 1."""
    topology_key: str
    """Node label whose values are the domains, such as topology.kubernetes.io/zone."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    """If no node fits: DoNotSchedule makes the pod wait, ScheduleAnyway selects the node with the least skew."""
    label_selector: LabelSelector | None = None
    """Selects the pods to count."""
    match_label_keys: list[str] | None = None
    """Count only pods whose values for these labels equal this pod's; needs labelSelector."""
    min_domains: Int32 | None = None
    """Minimum number of domains; while there are fewer, the emptiest domain counts as empty. Needs DoNotSchedule."""
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    """Honor (default) counts only nodes that node selector and node affinity permit, Ignore counts all nodes."""
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    """Honor counts only nodes whose taints the pod tolerates, Ignore (default) counts all nodes."""


class Toleration(Model):
    """Permission to run on nodes with a certain taint."""

    key: str | None = None
    """Key of the taint; all keys match if it is absent and the operator is Exists."""
    operator: Literal["Equal", "Exists"] | None = None
    """Equal (default) compares key and value, Exists only the key."""
    value: str | None = None
    """Value of the taint; empty with operator Exists."""
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = None
    """Effect of the taint; absent for any effect."""
    toleration_seconds: int | None = None
    """Seconds from the taint to the eviction; no eviction if absent, no delay if 0 or less. Needs effect NoExecute."""


class NodeSelectorRequirement(Model):
    """A test of one label or field of a node."""

    key: str
    """The label or field."""
    operator: Literal["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]
    """Operator of the test."""
    values: list[str] | None = None
    """Values: one or more for In and NotIn, one integer for Gt and Lt, none for the others."""


class NodeSelectorTerm(Model):
    """Tests that a node must all pass; a term with no tests matches no node."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    """Tests of the node's labels."""
    match_fields: list[NodeSelectorRequirement] | None = None
    """Tests of the node's fields; only metadata.name is supported."""


class PreferredSchedulingTerm(Model):
    """A node selector term with a weight."""

    preference: NodeSelectorTerm
    """Selects the nodes that the weight is added to."""
    weight: Int32
    """Weight, 1 to 100; the weights of all matching terms are added up."""


class NodeSelector(Model):
    """Nodes that match at least one of several terms."""

    node_selector_terms: list[NodeSelectorTerm]
    """The terms; at least one must match."""


class NodeAffinity(Model):
    """Node affinity of a pod, which affects scheduling but not running pods."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """The nodes that can run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    """Terms that add their weights to matching nodes; nodes with a greater sum are preferred."""


class PodAffinityTerm(Model):
    """Selects pods, and defines the topology domain that this pod must or must not share with them."""

    topology_key: str
    """Node label that defines the domain, such as kubernetes.io/hostname for the same node."""
    label_selector: LabelSelector | None = None
    """Selects the pods; none if absent."""
    match_label_keys: list[str] | None = None
    """Selects only pods whose values for these labels equal this pod's; needs labelSelector."""
    mismatch_label_keys: list[str] | None = None
    """Selects only pods whose values for these labels differ from this pod's; needs labelSelector."""
    namespaces: list[str] | None = None
    """Namespaces of the selected pods, in addition to namespaceSelector; this pod's namespace if both are absent."""
    namespace_selector: LabelSelector | None = None
    """Selects the namespaces of the pods by label; {} selects all namespaces."""


class WeightedPodAffinityTerm(Model):
    """A pod affinity term with a weight."""

    pod_affinity_term: PodAffinityTerm
    """Selects pods, and thereby the nodes that the weight is added to."""
    weight: Int32
    """Weight, 1 to 100."""


class PodAffinity(Model):
    """Pod affinity of a pod, which affects scheduling but not running pods."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """The pod can run only on nodes in whose topology domains each term selects at least one pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Terms that add their weights to nodes in whose topology domains they select a pod; a greater sum is preferred."""


class PodAntiAffinity(Model):
    """Pod anti-affinity of a pod, which affects scheduling but not running pods."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """The pod cannot run on nodes in whose topology domains any of the terms selects a pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Terms that add their weights to nodes in whose topology domains they select a pod; a smaller sum is preferred."""


class Affinity(Model):
    """Affinity rules of a pod."""

    node_affinity: NodeAffinity | None = None
    """Rules for the nodes that the pod can or should run on."""
    pod_affinity: PodAffinity | None = None
    """Rules for running in the same topology domain as other pods."""
    pod_anti_affinity: PodAntiAffinity | None = None
    """Rules for not running in the same topology domain as other pods."""
