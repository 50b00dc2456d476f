"""
Forward connections from this machine's loopback address to the loopback address of a network namespace.

    nsenter --net=... python relay.py DESCRIPTOR PORT [DESCRIPTOR PORT ...]

Each inherited descriptor is a listening socket of the machine; its connections are forwarded to the port that follows.
"""

import asyncio
import contextlib
import socket
import sys

SIZE = 65536


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(SIZE):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        back.close()
    writer.close()


async def _serve(descriptor: int, port: int) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _relay(port, reader, writer)

    server = await asyncio.start_server(connect, sock=socket.socket(fileno=descriptor))
    await server.serve_forever()


async def _main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:]]
    await asyncio.gather(*(_serve(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)))


if __name__ == "__main__":
    asyncio.run(_main())
