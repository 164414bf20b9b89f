"""A TCP proxy between the clients and a broker. It can be mute: what the broker says to clients is lost, and nobody
connects any more. To a client that is a network that drops a broker's packets, until its request times out.
"""

from __future__ import annotations

import contextlib
import socket
import threading

AT_ONCE = 1 << 16


class Proxy:
    """Listens on one port of loopback, and passes connections on to another. `close` ends it and its threads."""

    def __init__(self, port: int, target: int) -> None:
        self._port, self._target = port, target
        self._heard = threading.Event()
        """Set while the broker is heard."""
        self._closed = False
        self._connections: list[socket.socket] = []
        self.speak()

    def mute(self) -> None:
        """From now on nothing of the broker arrives, not even that it has closed a connection."""
        self._heard.clear()
        _shut(self._listening)

    def speak(self) -> None:
        """The opposite: new connections are passed on. What was lost stays lost, and its connections are closed."""
        self._heard.set()
        self._listening = socket.create_server(("127.0.0.1", self._port))
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def close(self) -> None:
        """Close every connection."""
        self._closed = True
        self._heard.set()
        for one in (self._listening, *self._connections):
            _shut(one)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self._connections += [client, broker]
            threading.Thread(target=self._up, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._down, args=(client, broker), daemon=True).start()

    def _up(self, client: socket.socket, broker: socket.socket) -> None:
        """The client's bytes, to the broker."""
        with contextlib.suppress(OSError):
            while content := client.recv(AT_ONCE):
                broker.sendall(content)
        _shut(broker)

    def _down(self, client: socket.socket, broker: socket.socket) -> None:
        """The broker's bytes, to the client, but for those that are lost."""
        lost = False
        with contextlib.suppress(OSError):
            while content := broker.recv(AT_ONCE):
                lost = lost or not self._heard.is_set()
                if not lost:
                    client.sendall(content)
        self._heard.wait()
        _shut(client)


def _shut(one: socket.socket) -> None:
    """Close a socket, and wake the thread that waits for it."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
