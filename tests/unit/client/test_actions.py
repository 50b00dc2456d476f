from virtshape.client.actions import format_action


def test_action_path_ends_with_the_subresource() -> None:
    assert format_action("team", "virtualmachines", "web", "start") == (
        "/apis/subresources.kubevirt.io/v1/namespaces/team/virtualmachines/web/start"
    )


def test_names_in_action_paths_are_quoted_and_arguments_become_query_parameters() -> None:
    target = format_action("a b", "virtualmachineinstances", "x/y", "vnc", {"preserveSession": "true"})
    assert target == (
        "/apis/subresources.kubevirt.io/v1/namespaces/a%20b/virtualmachineinstances/x%2Fy/vnc?preserveSession=true"
    )
