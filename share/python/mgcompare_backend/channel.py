"""The descriptors of the protocol, and what becomes of exceptions. Needs no NumPy, whose absence it reports."""
import json
import multiprocessing
import os
import sys
import traceback

REQUESTS, ANSWERS = 3, 4  # descriptors
LONGEST_MESSAGE = 1 << 20


class Problem(Exception):
    """Ends the trial with a cause: `failed`, `out_of_memory`, `diverged` or `unavailable`."""

    def __init__(self, text, kind="failed"):
        super().__init__(text)
        self.kind = kind


def unavailable(text):
    return Problem(text, "unavailable")


class Channel:
    """The two descriptors. `id` is that of the last request."""

    def __init__(self):
        for descriptor in (REQUESTS, ANSWERS):
            os.set_inheritable(descriptor, False)  # not for programs that the backend starts
        self.requests = os.fdopen(REQUESTS, "rb")
        self.id = None

    def receive(self):
        """The next request; None at the end."""
        line = self.requests.readline(LONGEST_MESSAGE + 1)
        if not line.endswith(b"\n"):
            if len(line) > LONGEST_MESSAGE:
                raise Problem(f"a request is longer than {LONGEST_MESSAGE} bytes")
            return None
        request = json.loads(line)
        self.id = request["id"]
        return request

    def send(self, message, **values):
        line = json.dumps({"type": message, "id": self.id, **values}, allow_nan=False).encode() + b"\n"
        if len(line) > LONGEST_MESSAGE:
            raise Problem(f"the answer '{message}' has {len(line)} bytes; at most {LONGEST_MESSAGE} are allowed")
        while line:
            line = line[os.write(ANSWERS, line):]


_channel = None


def open_channel():
    global _channel
    if _channel is None:
        _channel = Channel()
    return _channel


def _place_of(error):
    """The innermost frame in the program's folder: one of a framework does not say what called it. Without such a frame, the innermost."""
    places = traceback.extract_tb(error.__traceback__)

    def is_own(file):
        return _folder and os.path.abspath(file).startswith(_folder + os.sep) and "site-packages" not in file

    own = [place for place in places if is_own(place.filename)]
    return (own or places or [None])[-1]


def problem_of(error):
    """Text and kind of an exception."""
    if isinstance(error, Problem):
        return str(error), error.kind
    if isinstance(error, ModuleNotFoundError) and error.name:
        python = sys.executable or "python3"
        return f"{python} has no module {error.name.split('.')[0]}: install it, or set `python:`", "unavailable"
    name, text = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, ImportError):
        return f"{text}: install it again, or set `python:`", "unavailable"
    memory = isinstance(error, MemoryError) or name == "OutOfMemoryError" or "can't allocate memory" in text or "RESOURCE_EXHAUSTED" in text
    place = _place_of(error)
    where = f" ({os.path.basename(place.filename)}:{place.lineno})" if place else ""
    # Of a bare `assert`, its line says more than its name.
    text = text[:1000] or (place.line if place else "")
    return f"{name}{': ' if text else ''}{text}{where}", "out_of_memory" if memory else "failed"


def report(error):
    """The last answer: what was raised."""
    if not isinstance(error, Problem):
        traceback.print_exception(type(error), error, error.__traceback__)
    text, kind = problem_of(error)
    try:
        open_channel().send("error", text=text, kind=kind)
    except BrokenPipeError:
        pass


def end_with(error):
    """Ends the program from any thread with an `error` message."""
    report(error)
    os._exit(1)


def _report_early(kind, error, trace):
    """An exception before serve(): its answer needs the id of the first request."""
    if _channel is None and issubclass(kind, Exception):
        try:
            open_channel().receive()
            report(error)
            return
        except OSError:
            pass  # not started by mgcompare
    traceback.print_exception(kind, error, trace)


# mgcompare keeps the folder of the program from the front of the path (PYTHONSAFEPATH), so that no file there takes the place of an
# installed module. Modules beside the program are found all the same, after the installed ones.
# A process that multiprocessing has spawned imports the program as __mp_main__.
_program = getattr(sys.modules.get("__main__"), "__file__", None) or getattr(sys.modules.get("__mp_main__"), "__file__", None)
_folder = os.path.dirname(os.path.abspath(_program)) if _program else None
if _folder and _folder not in sys.path:
    sys.path.append(_folder)

if multiprocessing.parent_process() is None:
    sys.excepthook = _report_early
