from pathlib import Path

from virtshape.launcher.guest.orphans import Ended, list_ended


def write_process(proc: Path, pid: int, name: str, state: str, parent: int, session: int) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {parent} {session} {session} 0 -1 0\n")


def test_only_exited_child_processes_are_listed(tmp_path: Path) -> None:
    write_process(tmp_path, 10, "qemu-system-x86", "Z", 7, 9)
    write_process(tmp_path, 11, "odd) name (", "Z", 7, 11)
    write_process(tmp_path, 12, "swtpm", "S", 7, 12)
    write_process(tmp_path, 13, "swtpm", "Z", 8, 13)
    (tmp_path / "14").mkdir()
    (tmp_path / "self").mkdir()
    assert sorted(list_ended(7, tmp_path)) == [Ended(10, "qemu-system-x86", 9), Ended(11, "odd) name (", 11)]
