from virtshape.client.actions import format_action


def test_an_action_stands_behind_its_object() -> None:
    assert format_action("team", "virtualmachines", "web", "start") == (
        "/apis/subresources.kubevirt.io/v1/namespaces/team/virtualmachines/web/start"
    )


def test_names_are_quoted_and_arguments_stand_behind() -> None:
    target = format_action("a b", "virtualmachineinstances", "x/y", "vnc", {"preserveSession": "true"})
    assert target == (
        "/apis/subresources.kubevirt.io/v1/namespaces/a%20b/virtualmachineinstances/x%2Fy/vnc?preserveSession=true"
    )
