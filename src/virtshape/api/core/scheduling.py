from typing import Literal

from virtshape.api.meta import LabelSelector
from virtshape.api.model import Int32, Model


class PodDNSConfigOption(Model):
    name: str | None = None
    value: str | None = None


class PodDNSConfig(Model):
    nameservers: list[str] | None = None
    options: list[PodDNSConfigOption] | None = None
    searches: list[str] | None = None


class TopologySpreadConstraint(Model):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None


class Toleration(Model):
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = None
    key: str | None = None
    operator: Literal["Equal", "Exists"] | None = None
    toleration_seconds: int | None = None
    value: str | None = None


class NodeSelectorRequirement(Model):
    key: str
    operator: Literal["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]
    values: list[str] | None = None


class NodeSelectorTerm(Model):
    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class PreferredSchedulingTerm(Model):
    preference: NodeSelectorTerm
    weight: Int32


class NodeSelector(Model):
    node_selector_terms: list[NodeSelectorTerm]


class NodeAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Model):
    topology_key: str
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    namespaces: list[str] | None = None


class WeightedPodAffinityTerm(Model):
    pod_affinity_term: PodAffinityTerm
    weight: Int32


class PodAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class PodAntiAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class Affinity(Model):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None
