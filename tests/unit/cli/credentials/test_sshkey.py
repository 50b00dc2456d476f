from pathlib import Path

import pytest
from tests.support.commands import call_virtctl

from virtshape.cli.credentials.sshkey import is_same_key, read_keys, without_keys

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOne"
OTHER = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB jdoe@example"
RESTRICTED = f'no-pty,from="10.0.0.0/8" {OTHER}'


def test_ssh_keys_are_read_from_a_file_without_comments(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"# of jdoe\n\n  {KEY}  \n{OTHER}\n{RESTRICTED}\n")
    assert read_keys(str(tmp_path / "keys"), None) == [KEY, OTHER, RESTRICTED]


@pytest.mark.parametrize(
    ("line", "is_same"),
    [(KEY, True), (f"{KEY} jdoe@example", True), (f"{KEY}B", False), (OTHER, False), ("", False)],
    ids=["equal", "other comment", "longer key", "other key", "empty line"],
)
def test_ssh_keys_are_compared_without_their_comments(line: str, is_same: bool) -> None:
    assert is_same_key(line, KEY) == is_same


def test_removal_of_an_ssh_key_changes_only_secret_values_that_contain_it() -> None:
    values = {"a": f"{KEY} x\n{OTHER}\n", "b": f"{KEY}\n", "c": OTHER}
    assert without_keys(values, [KEY]) == {"a": OTHER, "b": None}


ERRORS = {
    "no key": ([], "exactly one of --file and --value is required"),
    "both": (["--value", KEY, "--file", "key.pub"], "exactly one of --file and --value is required"),
    "no public key": (["--value", "AAAA"], "invalid SSH public key"),
    "two words": (["--value", "hello world"], "invalid SSH public key"),
    "another type": (["--value", KEY.replace("ed25519", "rsa")], "invalid SSH public key"),
    "not base64": (["--value", f"{KEY[:-1]}!"], "invalid SSH public key"),
    "private key": (["--value", "-----BEGIN OPENSSH PRIVATE KEY-----"], "the key is a private key"),
    "create and update": (["--value", KEY, "--create-secret", "--update-secret"], "are mutually exclusive"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_invalid_add_ssh_key_flags_are_rejected_without_a_server(arguments: list[str], message: str) -> None:
    refused = call_virtctl("credentials", "add-ssh-key", "web", "--user", "jdoe", *arguments)
    assert (refused.status, message in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(
    "arguments", [[], ["--password", "a", "--password-file", "b"], ["--password", ""]], ids=["none", "both", "empty"]
)
def test_exactly_one_source_of_the_password_is_required(arguments: list[str]) -> None:
    refused = call_virtctl("credentials", "set-password", "web", "--user", "jdoe", *arguments)
    assert (refused.status, "password" in refused.err) == (2, True), refused.err
