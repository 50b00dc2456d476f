from tests.support.commands import call_virtctl


def test_options_command_lists_global_flags() -> None:
    outcome = call_virtctl("options")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("The following options can be passed to any command:\n\n  --kubeconfig FILE")
    assert [
        flag
        for flag in ("--context", "-n, --namespace", "--user", "-v, --v LEVEL", "-h, --help")
        if flag not in outcome.out
    ] == []
