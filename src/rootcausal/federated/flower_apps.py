"""The ServerApp and the ClientApp of Flower that carry messages between the folders of coordinator and sites.

Flower brings to each site what the coordinator put into its folder, and takes the answers back, over TLS; so
the messages are those of :mod:`.folder`, byte for byte, and who answers them is ``rootcausal site serve``.
Neither app sees a row. Flower starts a process for each message, so this module imports little.

A node that is new is sent all requests of the session, one that is known only what it lacks: a site that was
started again, or is at it for the first time, needs nothing else.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from .folder import MODEL, SESSION, answer_file, end_file, is_session, read, request_file, session_in, write

RECORD = "rootcausal"
SECONDS_A_LOOK = 0.3
SECONDS_TO_ANSWER = 3600.0
SECONDS_TO_HEAR_THE_END = 60.0
HERE = b"here"

server_app = ServerApp()
client_app = ClientApp()


@server_app.main()
def carry(grid: Grid, context: Context) -> None:
    """Carry until the session is over, or the coordinator takes its wish back (see :mod:`.flower`)."""
    wish = Path(str(context.run_config["wish"]))
    carrier = Carrier(grid, Path(str(context.run_config["folder"])))
    if wish.exists():
        write(wish, HERE)
    while wish.exists() and not carrier.look():
        time.sleep(SECONDS_A_LOOK)
    wish.unlink(missing_ok=True)


@client_app.query()
def bring(message: Message, context: Context) -> Message:
    """Put requests into the folder of the site, and take its answer back."""
    folder, site = Path(str(context.node_config["folder"])), str(context.node_config["site"])
    told = delivered(folder, site, message.content[RECORD])
    return Message(RecordDict({RECORD: ConfigRecord(told)}), reply_to=message)


class Carrier:
    """What lies in the folder of the coordinator, for the nodes of a federation.

    Parameters
    ----------
    grid : of Flower.
    folder : that of a :class:`.folder.FolderTransport`.
    """

    def __init__(self, grid: Grid, folder: Path) -> None:
        self._grid, self._folder = grid, folder
        self._begin("")

    def _begin(self, session: str) -> None:
        self._session = session
        # Of each node the last request that it was sent; whose reply is awaited, by message.
        self._told: dict[int, int] = {}
        self._awaited: dict[str, int] = {}
        self._heard_the_end: set[int] = set()
        self._over_since: float | None = None

    def look(self) -> bool:
        """Take what came, and send what is new; whether the session is over and all nodes know."""
        session = session_in(self._folder)
        if session is None:
            return False
        if session != self._session:
            self._begin(session)
        nodes = set(self._grid.get_node_ids())
        self._take()
        # Whoever is gone comes back under another number, or is told all again.
        self._told = {node: last for node, last in self._told.items() if node in nodes}
        self._awaited = {one: node for one, node in self._awaited.items() if node in nodes}
        # A node works on one message at a time.
        free = sorted(nodes - set(self._awaited.values()))
        end = read(end_file(self._folder, session))
        if end is not None:
            return self._tell_the_end(end, free)
        last = self._last_request()
        behind = {node: self._told.get(node, 0) for node in free if self._told.get(node, 0) < last}
        self._send({node: self._requests(had, last) for node, had in behind.items()})
        self._told |= dict.fromkeys(behind, last)
        return False

    def _take(self) -> None:
        """Put the answers that came into the folder."""
        replies: Iterable[Message] = self._grid.pull_messages(list(self._awaited)) if self._awaited else ()
        for reply in replies:
            node = self._awaited.pop(reply.metadata.reply_to_message_id, None)
            if node is None:
                continue
            if reply.has_error():
                logging.getLogger(__name__).warning("node %s: %s", node, reply.error.reason)
                self._told[node] = 0
                continue
            told: Any = reply.content[RECORD]
            if "answer" not in told:
                self._heard_the_end.add(node)
                continue
            path = answer_file(self._folder, self._session, str(told["site"]), int(told["number"]))
            # What a node calls itself is no path: only sites that were named have a folder of answers.
            here = answer_file(self._folder, self._session, ".", 1).parent
            if path.parent in here.iterdir() and read(path) != told["answer"]:
                write(path, told["answer"])

    def _last_request(self) -> int:
        number = max(self._told.values(), default=0)
        while request_file(self._folder, self._session, number + 1).exists():
            number += 1
        return number

    def _requests(self, had: int, last: int) -> dict[str, Any]:
        """All requests after one that a node had, up to the last."""
        numbers = range(had + 1, last + 1)
        read_all = [read(request_file(self._folder, self._session, number)) or b"" for number in numbers]
        return {"first": had + 1, "requests": read_all}

    def _tell_the_end(self, end: bytes, free: Iterable[int]) -> bool:
        if self._over_since is None:
            self._over_since = time.monotonic()
        model = read(self._folder / MODEL) if end == b"done" else None
        unaware = set(self._told) - self._heard_the_end
        self._send({node: {"end": end, "model": model or b""} for node in free if node in unaware})
        return not unaware or time.monotonic() - self._over_since > SECONDS_TO_HEAR_THE_END

    def _send(self, wanted: Mapping[int, Mapping[str, Any]]) -> None:
        messages = [
            Message(
                RecordDict({RECORD: ConfigRecord({"session": self._session, **content})}),
                dst_node_id=node,
                message_type="query",
            )
            for node, content in wanted.items()
        ]
        if messages:
            sent = self._grid.push_messages(messages)
            self._awaited |= {one: node for one, node in zip(sent, wanted, strict=True) if one}


def delivered(folder: Path, site: str, brought: Mapping[str, Any]) -> dict[str, Any]:
    """Put what was brought into the folder of a site; what it says to that, once it does."""
    session = str(brought["session"])
    if not is_session(session):
        raise ValueError("what was brought is of no session")
    if "end" in brought:
        if brought["model"]:
            write(folder / MODEL, brought["model"])
        write(end_file(folder, session), brought["end"])
        return {"site": site}
    first, requests = int(brought["first"]), brought["requests"]
    for number, request in enumerate(requests, start=first):
        path = request_file(folder, session, number)
        if read(path) != request:
            write(path, request)
    last = first + len(requests) - 1
    if session_in(folder) != session:
        write(folder / SESSION, session.encode())
    until = time.monotonic() + SECONDS_TO_ANSWER
    while time.monotonic() < until:
        answer = read(answer_file(folder, session, site, last))
        if answer is not None:
            return {"site": site, "number": last, "answer": answer}
        time.sleep(SECONDS_A_LOOK / 3)
    raise TimeoutError(f"site {site} does not answer request {last}: see that rootcausal site serve runs")
