"""
What commands have in common that show what the agent in a guest says.

Only asks and prints.
"""

from typing import TYPE_CHECKING, Any

from virtshape.cli.command import output_choice
from virtshape.cli.connection import Session, Target, run_session
from virtshape.cli.guest.instance import explain_refusal, read_instance

if TYPE_CHECKING:
    from virtshape.client.guests import AgentQuery

answer_option = output_choice("json", "yaml", help="How to print the answer.")


def print_answer(target: Target, text: str, question: "AgentQuery", output: str) -> None:
    """Print what the agent of a guest answers."""
    name = read_instance(text)

    async def ask(session: Session) -> Any:
        from virtshape.api.status import StatusError
        from virtshape.client.guests import query_agent

        try:
            return await query_agent(session.client, session.namespace, name, question)
        except StatusError as error:
            raise await explain_refusal(session, name, error) from error

    from virtshape.cli.output import print_object

    print_object(run_session(target, ask), output)
