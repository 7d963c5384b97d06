"""What all clients of the interoperability tests share: see test/interop/doc.go."""

import base64
import json
import queue
import sys
import threading


def tell(event, **what):
    """Prints an event as one line."""
    sys.stdout.write(json.dumps({"event": event, **what}) + "\n")
    sys.stdout.flush()


def text(data):
    return None if data is None else base64.b64encode(data).decode()


def data(text):
    return None if text is None else base64.b64decode(text)


def tell_record(partition, offset, key, value, headers):
    tell("record", partition=partition, offset=offset, key=text(key), value=text(value),
         headers=[[name, text(v)] for name, v in headers or []])


def batches():
    """Yields what is to be sent together: (partition, key, value, headers)."""
    batch = []
    for line in sys.stdin:
        line = line.strip()
        if line:
            r = json.loads(line)
            headers = [(name, data(v)) for name, v in r["headers"] or []]
            batch.append((r["partition"], data(r["key"]), data(r["value"]), headers))
        elif batch:
            yield batch
            batch = []


def commands():
    """Returns a queue of the lines that are read; the end of input is a leave."""
    lines = queue.Queue()

    def read():
        for line in sys.stdin:
            lines.put(line.strip())
        lines.put("leave")

    threading.Thread(target=read, daemon=True).start()
    return lines


def take(lines):
    """The next command, or None."""
    try:
        return lines.get_nowait()
    except queue.Empty:
        return None


def main(commands):
    """Calls the command that the arguments name with their options."""
    options = dict(arg.split("=", 1) for arg in sys.argv[2:])
    try:
        commands[sys.argv[1]](options)
    except Exception as e:  # whatever a client throws is an answer for the test
        tell("error", text=repr(e))
        sys.exit(1)
