"""The way from a command to the system of a data directory, with words for what is in the way."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from virtshape.cli.datadir import name_flag
from virtshape.cli.errors import Refusal

if TYPE_CHECKING:
    from virtshape.serve.door import Door


@contextmanager
def reach_system(directory: Path) -> Iterator["Door"]:
    """The system's API for the length of a block."""
    # Imported now, since reading help needs no server.
    from virtshape.apiserver.pki import PkiError
    from virtshape.apiserver.register import RegisterError
    from virtshape.serve.door import UnknownSystemError, open_door
    from virtshape.store.errors import StoreError

    try:
        with open_door(directory) as door:
            yield door
    except UnknownSystemError as error:
        raise Refusal(str(error), next_step=f"Start one first: virtshape up{name_flag(directory)}") from None
    except (StoreError, PkiError, RegisterError) as error:
        raise Refusal(str(error)) from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        flag = name_flag(directory)
        raise Refusal(f"the server does not answer: {error}", next_step=f"Look at it: virtshape status{flag}") from None
