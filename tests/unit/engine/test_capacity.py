import pytest

from virtshape.engine.capacity import OTHER_CONSTRAINTS, Capacity, Limit, NodeCapacity, summarize_limits

FULL = NodeCapacity("a", 2, ["has 0 of memory left, 1Gi needed"], ("memory",))
BUSY = NodeCapacity("b", 1, ["has 0 of cpu left, 1 needed"], ("cpu", "memory"))
TAINTED = NodeCapacity("c", 0, ["has the taint gpu=true:NoSchedule"])


def test_total_number_of_instances_that_fit_is_the_sum_over_all_nodes() -> None:
    assert Capacity(1, "1Gi", [FULL, BUSY, TAINTED]).fits == 3


@pytest.mark.parametrize(
    ("nodes", "limits"),
    [
        ([], []),
        ([FULL], [Limit("memory", 1)]),
        ([BUSY, FULL, FULL], [Limit("memory", 3), Limit("cpu", 1)]),
        ([TAINTED, FULL], [Limit("memory", 1), Limit(OTHER_CONSTRAINTS, 1)]),
    ],
    ids=["no nodes", "one", "several", "constraints"],
)
def test_capacity_limits_are_summarized_without_node_names_and_amounts(
    nodes: list[NodeCapacity], limits: list[Limit]
) -> None:
    assert summarize_limits(nodes) == limits
