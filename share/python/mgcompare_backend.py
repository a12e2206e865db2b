"""What a backend of mgcompare needs besides training: the protocol, the trial, its data and its order.

A backend is a class derived from Backend and one call of serve(). docs/writing-a-backend.md builds one step by step;
docs/backend-protocol.md describes the messages. Import this module before all others: what a later import lacks is then
reported to mgcompare as the reason why the backend cannot run here. Needs Python 3.9 and NumPy.
"""
import hashlib
import json
import math
import multiprocessing
import os
import platform
import sys
import time
import traceback
import types

PROTOCOL = 1
REQUESTS, ANSWERS = 3, 4  # descriptors
LONGEST_MESSAGE = 1 << 20

now = time.perf_counter


class Problem(Exception):
    """Ends the trial with a cause: `failed`, `out_of_memory`, `diverged` or `unavailable`."""

    def __init__(self, text, kind="failed"):
        super().__init__(text)
        self.kind = kind


def unavailable(text):
    return Problem(text, "unavailable")


class _Channel:
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


def _open_channel():
    global _channel
    if _channel is None:
        _channel = _Channel()
    return _channel


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
    places = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(places[-1].filename)}:{places[-1].lineno})" if places else ""
    return f"{name}: {text[:1000]}{place}", "out_of_memory" if memory else "failed"


def _report(error):
    """The last answer: what was raised."""
    if not isinstance(error, Problem):
        traceback.print_exception(type(error), error, error.__traceback__)
    text, kind = problem_of(error)
    try:
        _open_channel().send("error", text=text, kind=kind)
    except BrokenPipeError:
        pass


def end_with(error):
    """Ends the program from any thread with an `error` message."""
    _report(error)
    os._exit(1)


def _report_early(kind, error, trace):
    """An exception before serve(): its answer needs the id of the first request."""
    if _channel is None and issubclass(kind, Exception):
        try:
            _open_channel().receive()
            _report(error)
            return
        except OSError:
            pass  # not started by mgcompare
    traceback.print_exception(kind, error, trace)


if multiprocessing.parent_process() is None:
    sys.excepthook = _report_early

import numpy as np  # noqa: E402  its absence is reported, too


# Options: declared once, for `description` and for the values of a trial.

def choice(key, values, default, help):
    return {"key": key, "type": "choice", "default": default, "values": list(values), "help": help}


def integer(key, default, least, most, help):
    return {"key": key, "type": "integer", "default": default, "least": least, "most": most, "help": help}


def number(key, default, least, most, help):
    return {"key": key, "type": "number", "default": default, "least": least, "most": most, "help": help}


def flag(key, default, help):
    return {"key": key, "type": "flag", "default": default, "help": help}


def _is_valid(option, value):
    kind = option["type"]
    if kind == "choice":
        return value in option["values"]
    if kind == "flag" or isinstance(value, bool):
        return kind == "flag" and isinstance(value, bool)
    return isinstance(value, int if kind == "integer" else (int, float)) and option["least"] <= value <= option["most"]


def with_defaults(declared, given):
    """Values by key. mgcompare reports unknown keys and invalid values with their line; they are left out here."""
    return {option["key"]: given[option["key"]] if _is_valid(option, given.get(option["key"])) else option["default"] for option in declared}


def share(count, device, devices):
    """The part of `count` positions that belongs to a device, as (begin, end): equal shares, the first ones one more."""
    each, extra = divmod(count, devices)
    begin = device * each + min(device, extra)
    return begin, begin + each + (device < extra)


class Epoch:
    """`number`; `order`: the sample at each position; `rates`: of each step; `views`: (down, right, mirrored) or None."""

    def __init__(self, trial, request):
        self.trial, self.number, self.request = trial, request["epoch"], request
        self.order = np.fromfile(request["order"], np.uint32)
        self.rates = np.fromfile(request["rates"], np.float32)
        self.views = np.fromfile(request["views"], np.int8).reshape(-1, 3) if request.get("views") else None
        self.weights = request["weights"]
        if len(self.rates) != -(-len(self.order) // trial.batch):
            raise Problem(f"epoch {self.number} has {len(self.order)} positions and {len(self.rates)} learning rates at batch {trial.batch}")

    def steps(self):
        """Each step's `samples` (indices), `views` or None, and `rate`."""
        for number, rate in enumerate(self.rates):
            place = slice(number * self.trial.batch, (number + 1) * self.trial.batch)
            yield types.SimpleNamespace(samples=self.order[place], views=None if self.views is None else self.views[place], rate=float(rate))


class Trial:
    """The keys of trial.json as attributes, with `values`, `targets`, `parameters` and `buffers` as arrays."""

    def __init__(self, file):
        self.file = file
        with open(file, "rb") as text:
            self.json = json.load(text)
        for key in ("device_kind", "devices", "batch", "epochs", "steps_per_epoch", "seed", "precision", "deterministic",
                    "optimizer", "weight_decays", "batch_norm", "network", "preparation"):
            setattr(self, key, self.json[key])
        self.augmented = self.json.get("augmented", False)
        self.options = self.json["options"]
        self.layers = self.network["layers"]
        self.values = self._map("values")
        self.targets = self._map("targets")
        initial = np.fromfile(self.json["initial"], np.float32)
        count = self.network["parameters"]
        if len(initial) != count + self.network["buffers"]:
            raise Problem(f"{self.json['initial']} has {len(initial)} values; the network has {count} parameters and "
                          f"{self.network['buffers']} buffers")
        self.parameters, self.buffers = initial[:count], initial[count:]

    def _map(self, name):
        place = self.json["data"][name]
        return np.memmap(place["file"], place["type"], "r", place["offset"], tuple(place["shape"]))

    def cached(self, name, make):
        """What make() returns, a value of JSON, or what it returned in an earlier trial of this run that differed in its seed only. For
        choices that a measurement makes, so that repeats train alike."""
        if not self.json.get("cache"):
            return make()
        same = {key: value for key, value in self.json.items() if key not in ("seed", "initial", "cache")}
        digest = hashlib.sha256(json.dumps([name, same], sort_keys=True).encode()).hexdigest()
        path = os.path.join(self.json["cache"], digest[:32] + ".json")
        try:
            with open(path, "rb") as file:
                return json.load(file)
        except (OSError, ValueError):  # not there, or cut off when its writer was killed
            value = make()
        with open(path, "w") as file:
            json.dump(value, file)
        return value

    @property
    def tokens(self):
        """Whether the samples are tokens, which are not prepared."""
        return self.preparation is None

    @property
    def drops(self):
        """Whether the network has dropout, whose masks are the backend's own."""
        return any(layer["type"] == "dropout" and layer["rate"] > 0 for layer in self.layers)

    def parts(self):
        """All tensors of parameters in the order of the vector: (begin, shape, weight decay, index of the layer, name)."""
        found = sorted((place["begin"], place["shape"], index, name) for index, layer in enumerate(self.layers)
                       for name, place in layer.get("parameters", {}).items())
        if len(found) != len(self.weight_decays):
            raise Problem(f"the trial has {len(found)} tensors but {len(self.weight_decays)} weight decays")
        return [(begin, shape, decay, index, name) for (begin, shape, index, name), decay in zip(found, self.weight_decays)]

    def factors(self):
        """(scale, mean, inverse_std) of each channel, shaped for one sample: input = (value * scale - mean) * inverse_std."""
        axes = (-1,) + (1,) * (len(self.network["sample_shape"]) - 1)
        mean, inverse_std = (np.asarray(self.preparation[key] or [default], np.float32).reshape(axes)
                             for key, default in (("mean", 0), ("inverse_std", 1)))
        return np.float32(self.preparation["scale"]), mean, inverse_std

    def inputs(self, samples, views=None):
        """The prepared inputs of these samples; tokens as int64. A slice is cheaper than indices."""
        values = self.values[samples]
        if self.tokens:
            return values.astype(np.int64)
        if views is not None:
            values = seen(values, views)
        scale, mean, inverse_std = self.factors()
        inputs = values.astype(np.float32) * scale
        if self.preparation["mean"] or self.preparation["inverse_std"]:
            inputs -= mean
            inputs *= inverse_std
        return inputs


def seen(values, views):
    """Images shifted down and to the right, then mirrored. What moves in is 0."""
    height, width = values.shape[2:]
    rows = np.arange(height) - views[:, :1].astype(np.int64)
    columns = np.where(views[:, 2:] != 0, width - 1 - np.arange(width), np.arange(width)) - views[:, 1:2]
    inside = ((rows >= 0) & (rows < height))[:, None, :, None] & ((columns >= 0) & (columns < width))[:, None, None, :]
    image = np.arange(len(values))[:, None, None, None]
    channel = np.arange(values.shape[1])[None, :, None, None]
    taken = values[image, channel, rows.clip(0, height - 1)[:, None, :, None], columns.clip(0, width - 1)[:, None, None, :]]
    return np.where(inside, taken, taken.dtype.type(0))


class Backend:
    """Derive from this class. The attributes are those of `description`; an object trains one trial."""

    name = ""
    options = []
    promise = "exact"
    least_devices = most_devices = 1
    device_kinds = ["cpu"]
    layers = []
    optimizers = ["sgd"]
    precisions = {"cpu": ["fp32"]}
    differs = []
    framework = {}  # {"name": "PyTorch", "version": "2.11.0"}; the name in reports, otherwise that of the backend
    like = {}  # {"one": "serial", "several": "replicated"}: the strategies that compute the same way on one device, and on several

    def __init__(self, options):
        """`options`: the values by key, with defaults. An object may change the attributes above."""

    def versions(self):
        return {"numpy": np.__version__}

    def problems(self):
        """What these options need and this machine lacks: a list of (key, text), or (key, text, "invalid") for values that do
        not go together; key "" for the backend as a whole."""
        return []

    def load(self, trial):
        """Loads data, makes the network, compiles, warms up, restores the initial state; returns notes for the row."""
        return []

    def begin(self, epoch):
        """Before the clock starts: copies order and rates to the devices. Nothing is trained or prepared here."""

    def train(self, epoch):
        """Trains the epoch, waits for the devices, and returns the mean loss of its samples, each before its update."""
        raise NotImplementedError

    def weights(self):
        """All parameters, then all buffers, in the order of the vector: one array or a list."""
        raise NotImplementedError

    def peak_memory(self):
        return 0

    def bytes_per_step(self):
        return 0

    def close(self):
        """Ends what the backend has started. Also called after an error."""


def _describe(backend_class, request):
    if request["protocol"] != PROTOCOL:
        raise unavailable(f"mgcompare speaks protocol {request['protocol']}, this module {PROTOCOL}: take mgcompare_backend.py from this version")
    backend = backend_class(with_defaults(backend_class.options, request["options"]))
    problems = [{"key": key, "text": text, "kind": (kind or ["unavailable"])[0]} for key, text, *kind in backend.problems()]
    _channel.send("description", protocol=PROTOCOL, name=backend.name, versions={"python": platform.python_version(), **backend.versions()},
                  options=backend.options, problems=problems,
                  **{key: getattr(backend, key) for key in ("promise", "least_devices", "most_devices", "device_kinds", "layers",
                                                             "optimizers", "precisions", "differs", "framework", "like")})


def _check(backend, trial):
    """Refuses what the description does not promise, with a sentence instead of a failure inside a framework."""
    for _, text, *_ in backend.problems():
        raise unavailable(text)
    missing = sorted({layer["type"] for layer in trial.layers} - set(backend.layers))
    kind, devices, least, most = trial.device_kind, len(trial.devices), backend.least_devices, backend.most_devices
    for lacks, text in ((missing, f"has no layer {', '.join(missing)}"),
                        (trial.optimizer["kind"] not in backend.optimizers, f"has no optimiser {trial.optimizer['kind']}"),
                        (kind not in backend.device_kinds, f"does not run on {kind}"),
                        (trial.precision not in backend.precisions.get(kind, []), f"has no precision {trial.precision} on {kind}"),
                        (not least <= devices <= most, f"runs on {least} to {most} devices with these options, not on {devices}")):
        if lacks:
            raise unavailable(f"{backend.name} {text}")


def _write_weights(backend, trial, file):
    weights = backend.weights()
    arrays = weights if isinstance(weights, (list, tuple)) else [weights]
    vector = np.concatenate([np.asarray(array, np.float32).ravel() for array in arrays])
    count = trial.network["parameters"] + trial.network["buffers"]
    if len(vector) != count:
        raise Problem(f"the backend has {len(vector)} parameters and buffers; the network has {count}")
    vector.tofile(file)


def _train_epoch(backend, trial, request):
    epoch = Epoch(trial, request)
    backend.begin(epoch)
    _channel.send("epoch_begin", epoch=epoch.number)
    start = now()
    loss = float(backend.train(epoch))
    seconds = now() - start
    if not math.isfinite(loss):
        raise Problem(f"the loss is {loss} in epoch {epoch.number + 1}", "diverged")
    _channel.send("epoch_end", epoch=epoch.number, seconds=seconds, samples=len(epoch.order), steps=len(epoch.rates), loss=loss)
    _write_weights(backend, trial, epoch.weights)
    _channel.send("weights", epoch=epoch.number)


def serve(backend_class):
    """Answers requests until the last one. Call it last, guarded by `if __name__ == "__main__":`."""
    try:
        channel = _open_channel()
    except OSError:
        sys.exit(f"{os.path.basename(sys.argv[0])} is started by mgcompare: name the backend under `strategies:`")
    backend = trial = identity = None
    code = 0
    try:
        while (request := channel.receive()) is not None:
            kind = request["type"]
            if kind == "describe":
                _describe(backend_class, request)
                continue
            if kind == "trial":
                identity, trial = request["id"], Trial(request["file"])
                backend = backend_class(trial.options)
                _check(backend, trial)
                channel.send("ready", notes=list(backend.load(trial) or []))
                continue
            if backend is None or request["id"] != identity:
                raise Problem(f"request '{kind}' has the id {request['id']}, which is not that of the trial")
            if kind == "epoch":
                _train_epoch(backend, trial, request)
            elif kind == "end":
                peak, traffic = int(backend.peak_memory()), int(backend.bytes_per_step())
                backend.close()
                backend = None
                channel.send("ended", peak_memory=peak, bytes_per_step=traffic)
                break
            else:
                raise Problem(f"request of unknown type '{kind}'")
    except BrokenPipeError:
        code = 1  # nobody listens
    except Exception as error:  # every failure is an answer
        _report(error)
        code = 1
    try:
        if backend is not None:
            backend.close()
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # destructors of a framework can hang
