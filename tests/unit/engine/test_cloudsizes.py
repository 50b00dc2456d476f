import pytest

from virtshape.engine.cloudsizes import (
    CLOUDS,
    explain_unknown_cloud_size,
    find_cloud_size,
    list_cloud_sizes,
    suggest_cloud_sizes,
)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("aws:m5.large", (2, "8Gi", 0)),
        ("aws:m6i.24xlarge", (96, "384Gi", 0)),
        ("aws:c5.9xlarge", (36, "72Gi", 0)),
        ("aws:c6i.xlarge", (4, "8Gi", 0)),
        ("aws:r5.2xlarge", (8, "64Gi", 0)),
        ("aws:t3.nano", (2, "512Mi", 0)),
        ("aws:t2.nano", (1, "512Mi", 0)),
        ("aws:g5.12xlarge", (48, "192Gi", 4)),
        ("AWS:M5.Large", (2, "8Gi", 0)),
        ("azure:D4s_v5", (4, "16Gi", 0)),
        ("azure:Standard_E20s_v3", (20, "160Gi", 0)),
        ("azure:standard_f72s_v2", (72, "144Gi", 0)),
        ("azure:B1ls", (1, "512Mi", 0)),
        ("azure:NC64as_T4_v3", (64, "440Gi", 4)),
        ("gcp:n2-standard-8", (8, "32Gi", 0)),
        ("gcp:n1-standard-1", (1, "3840Mi", 0)),
        ("gcp:n1-highmem-96", (96, "624Gi", 0)),
        ("gcp:e2-micro", (2, "1Gi", 0)),
        ("gcp:a2-highgpu-2g", (24, "170Gi", 2)),
    ],
)
def test_cloud_size_is_found_by_its_name_in_any_case(name: str, size: tuple[int, str, int]) -> None:
    found = find_cloud_size(name)
    assert found is not None
    assert found[1:] == size


@pytest.mark.parametrize("name", ["m5.large", "aws:", "aws:m5.7xlarge", "gcp:m5.large", ""])
def test_unknown_cloud_size_is_not_found(name: str) -> None:
    assert find_cloud_size(name) is None


def test_similar_cloud_sizes_are_suggested() -> None:
    assert suggest_cloud_sizes("aws:m5.larg")[0] == "aws:m5.large"
    assert suggest_cloud_sizes("m5.large")[0] == "aws:m5.large"
    assert all(name.startswith("gcp:") for name in suggest_cloud_sizes("gcp:n2-standard-7"))
    assert suggest_cloud_sizes("elsewhere") == []


def test_message_for_an_unknown_cloud_size_has_similar_names_or_the_known_clouds() -> None:
    assert explain_unknown_cloud_size("aws:m5.larg").startswith(
        'unknown instance type "aws:m5.larg"; did you mean aws:m5.large or '
    )
    assert explain_unknown_cloud_size("x" * 1000) == (
        f'unknown instance type "{"x" * 100}"; must start with aws:, azure:, gcp: and name a common size'
    )


def test_every_cloud_has_sizes_with_unique_names() -> None:
    names = [size.name for size in list_cloud_sizes()]
    assert len(names) == len(set(names))
    assert {name.partition(":")[0] for name in names} == set(CLOUDS)
