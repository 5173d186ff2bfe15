#!/usr/bin/env python3
"""usage: readers.py PORT COUNT

Reads an observer as COUNT browsers do that show its page: each has a connection, asks for all that the page asks for, and
again two seconds later. Waits for the observer to come; ends with it, or with standard input. Tells how many answers it
has had, in how many seconds since the first, and for how many seconds of processor time.
"""
import asyncio
import sys
import time

PERIOD = 2  # seconds; as in node/observer/views/page_script.cc
PATHS = ["/api/node", "/api/pools", "/api/processes?sort=queued&search=&limit=100", "/api/tree?limit=200",
         "/api/waits", "/api/events", "/api/cluster"]


async def connect(port):
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            await asyncio.sleep(0.05)


class Had:
    answers = 0
    began = None  # and the processor time then


async def read_page(port, late):
    reader, writer = await connect(port)
    await asyncio.sleep(late)
    if Had.began is None:
        Had.began = time.monotonic(), time.process_time()
    while True:
        for path in PATHS:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            # The page, too, asks again later when the node is too busy for an answer.
            if not head.startswith(("http/1.1 200", "http/1.1 503")):
                raise ValueError(f"{path}: {head.splitlines()[0]}")
            length = int(head.split("content-length:")[1].split()[0])
            await reader.readexactly(length)
            Had.answers += 1
        await asyncio.sleep(PERIOD)


async def main(port, count):
    readers = [asyncio.create_task(read_page(port, PERIOD * i / count)) for i in range(count)]
    input_ends = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    done, _ = await asyncio.wait([*readers, asyncio.ensure_future(input_ends)],
                                 return_when=asyncio.FIRST_COMPLETED)
    if Had.began is not None:
        print(Had.answers, time.monotonic() - Had.began[0], time.process_time() - Had.began[1])
    for task in done:
        error = task.exception()
        # The end of the node.
        if error is not None and not isinstance(error, (ConnectionError, asyncio.IncompleteReadError)):
            raise error


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
