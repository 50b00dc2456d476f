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
    """Its value; absent for options that are mere switches."""


class PodDNSConfig(Model):
    """DNS settings added to those that dnsPolicy yields."""

    nameservers: list[str] | None = None
    """IP addresses of additional DNS servers; at least one if dnsPolicy is None."""
    searches: list[str] | None = None
    """Additional search domains for short host names."""
    options: list[PodDNSConfigOption] | None = None
    """Resolver options; they replace those of the same name that dnsPolicy yields."""


class TopologySpreadConstraint(Model):
    """Spread like pods evenly over zones, nodes or another kind of domain."""

    max_skew: Int32
    """By how many pods a domain may exceed the emptiest one; at least 1."""
    topology_key: str
    """Node label whose values are the domains, such as topology.kubernetes.io/zone."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    """What to do if no node fits: DoNotSchedule makes the pod wait, ScheduleAnyway takes the least bad node."""
    label_selector: LabelSelector | None = None
    """Which pods to count."""
    match_label_keys: list[str] | None = None
    """Count only pods whose values for these labels equal this pod's; needs labelSelector."""
    min_domains: Int32 | None = None
    """Treat the emptiest domain as holding no pods until this many domains exist; needs DoNotSchedule."""
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes that the pod's selector and affinity rule out are left out: Honor (default) or Ignore."""
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes with taints that the pod does not tolerate are left out: Honor or Ignore (default)."""


class Toleration(Model):
    """Permission to run on nodes with a certain taint."""

    key: str | None = None
    """Key of the taint; absent, with operator Exists, for any taint."""
    operator: Literal["Equal", "Exists"] | None = None
    """Equal (default) compares the value too, Exists looks at the key alone."""
    value: str | None = None
    """Value of the taint; empty with operator Exists."""
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = None
    """Effect of the taint; absent for any effect."""
    toleration_seconds: int | None = None
    """How long to stay after the taint appears; forever if absent, not at all if 0 or less. Needs effect NoExecute."""


class NodeSelectorRequirement(Model):
    """A test of one label or field of a node."""

    key: str
    """The label or field to look at."""
    operator: Literal["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]
    """How to test it."""
    values: list[str] | None = None
    """Values to compare with: some for In and NotIn, one whole number for Gt and Lt, none for the others."""


class NodeSelectorTerm(Model):
    """Tests that a node must all pass; a term with no tests matches no node."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    """Tests of the node's labels."""
    match_fields: list[NodeSelectorRequirement] | None = None
    """Tests of the node's fields; only metadata.name is known."""


class PreferredSchedulingTerm(Model):
    """Preferred nodes with a weight."""

    preference: NodeSelectorTerm
    """Which nodes."""
    weight: Int32
    """Weight, 1 to 100; the weights of all matching terms are added up."""


class NodeSelector(Model):
    """Nodes that match at least one of several terms."""

    node_selector_terms: list[NodeSelectorTerm]
    """The terms, of which one is enough."""


class NodeAffinity(Model):
    """Node affinity of a pod; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """Only these nodes can run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    """Of the remaining nodes, those with the greatest sum of weights are preferred."""


class PodAffinityTerm(Model):
    """Pods to be near to, or far from, and what near means."""

    topology_key: str
    """Node label whose equal values mean near, such as kubernetes.io/hostname for the same node."""
    label_selector: LabelSelector | None = None
    """Which pods; absent for none."""
    match_label_keys: list[str] | None = None
    """Only pods whose values for these labels equal this pod's; needs labelSelector."""
    mismatch_label_keys: list[str] | None = None
    """Only pods whose values for these labels differ from this pod's; needs labelSelector."""
    namespaces: list[str] | None = None
    """Namespaces of those pods, in addition to namespaceSelector; this pod's namespace if both are absent."""
    namespace_selector: LabelSelector | None = None
    """Picks namespaces of those pods by label; {} for all."""


class WeightedPodAffinityTerm(Model):
    """A pod term and how much it counts."""

    pod_affinity_term: PodAffinityTerm
    """Which pods."""
    weight: Int32
    """How much it counts, 1 to 100."""


class PodAffinity(Model):
    """Pods to be scheduled near; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """Only nodes near to pods of every term can run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Nodes near to such pods are preferred, by the sum of weights."""


class PodAntiAffinity(Model):
    """Pods to be scheduled away from; only used for scheduling."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    """Nodes near to pods of any term cannot run the pod."""
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    """Nodes near to such pods are avoided, by the sum of weights."""


class Affinity(Model):
    """Affinity rules of a pod."""

    node_affinity: NodeAffinity | None = None
    """By traits of the node."""
    pod_affinity: PodAffinity | None = None
    """Near to certain other pods."""
    pod_anti_affinity: PodAntiAffinity | None = None
    """Away from certain other pods."""
