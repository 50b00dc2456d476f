"""
Structs of scheduling: affinity, tolerations, topology spread, and the DNS settings of a pod.

They are copied from the VM to its pod unchanged.
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
    """DNS settings in addition to those of dnsPolicy."""

    nameservers: list[str] | None = None
    """IP addresses of additional DNS servers; at least one if dnsPolicy is None."""
    searches: list[str] | None = None
    """Additional search domains for short host names."""
    options: list[PodDNSConfigOption] | None = None
    """Resolver options; they override options of the same name from dnsPolicy."""


class TopologySpreadConstraint(Model):
    """Spread similar pods evenly over zones, nodes or other domains."""

    max_skew: Int32
    """Maximum difference in pods between a domain and the emptiest one; at least 1."""
    topology_key: str
    """Node label whose values are the domains, such as topology.kubernetes.io/zone."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    """If no node fits: DoNotSchedule makes the pod wait, ScheduleAnyway selects the node with the least skew."""
    label_selector: LabelSelector | None = None
    """Selects the pods to count."""
    match_label_keys: list[str] | None = None
    """Count only pods whose values for these labels equal this pod's; needs labelSelector."""
    min_domains: Int32 | None = None
    """Treat the minimum as 0 pods until this many domains exist; needs DoNotSchedule."""
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes excluded by node selector and affinity are ignored: Honor (default) or Ignore."""
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes with untolerated taints are ignored: Honor or Ignore (default)."""


class Toleration(Model):
    """Permission to run on nodes with a certain taint."""

    key: str | None = None
    """Key of the taint; absent, with operator Exists, for any taint."""
    operator: Literal["Equal", "Exists"] | None = None
    """Equal (default) compares key and value, Exists only the key."""
    value: str | None = None
    """Value of the taint; empty with operator Exists."""
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = None
    """Effect of the taint; absent for any effect."""
    toleration_seconds: int | None = None
    """Seconds to stay after the taint appears; unlimited if absent, none if 0 or less. Needs effect NoExecute."""


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
    """Preferred nodes with a weight."""

    preference: NodeSelectorTerm
    """Selects the nodes."""
    weight: Int32
    """Weight, 1 to 100; the weights of all matching terms are added up."""


class NodeSelector(Model):
    """Nodes that match at least one of several terms."""

    node_selector_terms: list[NodeSelectorTerm]
    """The terms; one must match."""


class NodeAffinity(Model):
    """Node affinity of a pod; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """The nodes that can run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    """Of the remaining nodes, those with the greatest sum of weights are preferred."""


class PodAffinityTerm(Model):
    """Selected pods, and the topology domain in which this pod runs with them or apart from them."""

    topology_key: str
    """Node label that defines the domain, such as kubernetes.io/hostname for the same node."""
    label_selector: LabelSelector | None = None
    """Selects the pods; none if absent."""
    match_label_keys: list[str] | None = None
    """Only pods whose values for these labels equal this pod's; needs labelSelector."""
    mismatch_label_keys: list[str] | None = None
    """Only pods whose values for these labels differ from this pod's; needs labelSelector."""
    namespaces: list[str] | None = None
    """Namespaces of the selected pods, in addition to namespaceSelector; this pod's if both are absent."""
    namespace_selector: LabelSelector | None = None
    """Selects the namespaces of the pods by label; {} for all."""


class WeightedPodAffinityTerm(Model):
    """A pod affinity term with a weight."""

    pod_affinity_term: PodAffinityTerm
    """Selects the pods."""
    weight: Int32
    """Weight, 1 to 100."""


class PodAffinity(Model):
    """Pod affinity of a pod; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """Only nodes in the domain of pods of every term can run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Nodes in the domain of such pods are preferred, by the sum of weights."""


class PodAntiAffinity(Model):
    """Pod anti-affinity of a pod; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """Nodes in the domain of pods of any term cannot run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Nodes in the domain of such pods are avoided, by the sum of weights."""


class Affinity(Model):
    """Affinity rules of a pod."""

    node_affinity: NodeAffinity | None = None
    """Node affinity."""
    pod_affinity: PodAffinity | None = None
    """Pod affinity."""
    pod_anti_affinity: PodAntiAffinity | None = None
    """Pod anti-affinity."""
