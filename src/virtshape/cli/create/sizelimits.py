"""
Check the size of a new VM against the limits of its instance type, before the VM is sent to a server.

The instance type is read from the server, or from the built-in catalog if no server is configured. If it cannot be
read, nothing is checked: admission checks the VM again.
"""

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session, Target, run_session
from virtshape.cli.create.matchers import Matcher
from virtshape.cli.errors import ArgumentError, CommandError
from virtshape.cli.localserver import NoServerError
from virtshape.cli.serverobjects import ServerObjects
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.sizingpolicy import check_asked_size
from virtshape.offline.files import Entry
from virtshape.offline.sources import KINDS_BY_NAME, get_source
from virtshape.resolve.find import instancetype_spec

SECONDS = 2.0
"""Timeout for reading an instance type or preference; it is short, because admission checks the VM again."""
FLAGS = {f"{TEMPLATE_ROOT}.domain.cpu.guest": "--vcpus", f"{TEMPLATE_ROOT}.domain.memory.guest": "--memory"}


def validate_size(vm: VirtualMachine, spec: VirtualMachineInstancetypeSpec) -> None:
    """Raise ArgumentError if the VM's instance type does not allow the VM's size."""
    matcher, template = vm.spec.instancetype, vm.spec.template.spec
    if matcher is None or template is None:
        return
    problems = []
    for problem in check_asked_size(template.domain, spec, TEMPLATE_ROOT):
        flag = FLAGS[problem.field]
        problems.append(problem.message.replace(problem.field, flag, 1))
    if problems:
        step = "Use one of these values, or choose another instance type."
        raise ArgumentError(f"{matcher.name} does not allow this size", problems, step)


def find_instancetype(matcher: Matcher, target: Target) -> VirtualMachineInstancetypeSpec | None:
    """Return an instance type of the server or the catalog; None if it does not exist or cannot be read."""
    kind, name = KINDS_BY_NAME[matcher.kind or "virtualmachineclusterinstancetype"], matcher.name or ""

    async def find(session: Session) -> list[Entry]:
        return await ServerObjects(session).find_sources(name, (kind,))

    try:
        try:
            entries = run_session(target, find, call_seconds=SECONDS)
        except NoServerError:
            return instancetype_spec(get_source(name, (kind,), (), with_catalog=True).object)
        return instancetype_spec(get_source(name, (kind,), entries, with_catalog=False).object)
    except (CommandError, StatusError):
        return None
