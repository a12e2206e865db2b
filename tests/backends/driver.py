"""mgcompare's side of the protocol, for tests of backends: writes trials, starts backends by their manifest, checks answers."""
import json
import math
import os
import pathlib
import select
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = ROOT / "share" / "python"


class Refused(Exception):
    """An `error` message."""

    def __init__(self, message):
        super().__init__(message["text"])
        self.kind = message["kind"]


class Backend:
    """A started program. Use it in a `with` statement."""

    def __init__(self, folder, work, python=sys.executable):
        manifest = json.loads((pathlib.Path(folder) / "backend.json").read_text())
        if manifest["protocol"] != 1 or set(manifest) != {"protocol", "name", "description", "python"}:
            raise ValueError(f"{folder}/backend.json: {manifest}")
        self.name, self.work, self.last = manifest["name"], pathlib.Path(work), 0
        self.work.mkdir(parents=True)
        # A launcher gives the pipes the numbers 3 and 4.
        requests, self.to = os.pipe()
        self.source, answers = os.pipe()
        code = ("import fcntl, os, sys; a, b = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]); "
                "os.dup2(a, 3); os.dup2(b, 4); os.closerange(5, 100); os.execv(sys.argv[3], sys.argv[3:])")
        command = [python, *(["-P"] if sys.version_info >= (3, 11) else []), str(pathlib.Path(folder).resolve() / manifest["python"])]
        self.log = open(self.work.parent / (self.work.name + ".log"), "w+")
        self.process = subprocess.Popen([sys.executable, "-c", code, str(requests), str(answers), *command], cwd=self.work,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(requests, answers),
                                        start_new_session=True,
                                        env={**os.environ, "PYTHONPATH": str(MODULE), "PYTHONDONTWRITEBYTECODE": "1"})
        os.close(requests)
        os.close(answers)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for descriptor in (self.to, self.source):
            os.close(descriptor)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
            raise AssertionError(f"{self.name} did not end within ten seconds")
        finally:
            self.log.close()
        # The process group must be empty: nothing that the program has started survives it.
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
        os.killpg(self.process.pid, 9)
        raise AssertionError(f"processes of {self.name} survived it")

    def send(self, kind, **values):
        os.write(self.to, json.dumps({"type": kind, "id": self.last, **values}).encode() + b"\n")

    def receive(self, kind, limit=120):
        end = time.monotonic() + limit
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.source], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{self.name}: no '{kind}' within {limit} s\n{self.words()}")
            more = os.read(self.source, 1 << 16)
            if not more:
                raise AssertionError(f"{self.name} has ended without '{kind}'\n{self.words()}")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        if message["id"] != self.last:
            raise AssertionError(f"{self.name} answered with id {message['id']} to {self.last}")
        if message["type"] == "error":
            raise Refused(message)
        if message["type"] != kind:
            raise AssertionError(f"{self.name} answered {message['type']} instead of {kind}")
        return message

    def words(self):
        self.log.seek(0)
        return self.log.read()[-4000:]

    def describe(self, options):
        self.last += 1
        self.send("describe", protocol=1, options=options)
        return self.receive("description", 60)

    def begin(self, trial, options, devices=1):
        self.last += 1
        self.send("trial", protocol=1, file=str(trial.write(options, devices)))
        self.notes = self.receive("ready")["notes"]

    def children(self):
        return [int(child) for child in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]

    def train(self, trial, options, devices=1):
        """All epochs: dictionaries with the answers, our own seconds and the weights."""
        self.begin(trial, options, devices)
        epochs = []
        for number in range(trial.epochs):
            self.send("epoch", **trial.epoch(number))
            begin = self.receive("epoch_begin")
            start = time.perf_counter()
            answer = self.receive("epoch_end")
            answer["ours"] = time.perf_counter() - start
            written = self.receive("weights")
            if not begin["epoch"] == answer["epoch"] == written["epoch"] == number:
                raise AssertionError("another epoch")
            weights = np.fromfile(trial.folder / "weights.f32", np.float32)
            if len(weights) != trial.net.parameters + trial.net.buffers or not np.isfinite(weights).all():
                raise AssertionError("wrong weights")
            epochs.append({**answer, "weights": weights})
        self.send("end")
        self.ended = self.receive("ended")
        return epochs


class Trial:
    """Random samples for a network, and the files of a trial."""

    def __init__(self, folder, net, samples=50, batch=16, optimizer=None, preparation=None, views=False, batch_norm="local", epochs=2,
                 rates=(0.05, 0.05), device_kind="cpu", precision="fp32"):
        self.folder, self.net, self.batch, self.epochs, self.samples = pathlib.Path(folder), net, batch, epochs, samples
        self.optimizer = {"kind": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 1e-3, "beta1": 0.9, "beta2": 0.999,
                          "epsilon": 1e-8, "rho": 0.95, **(optimizer or {})}
        self.preparation = preparation or {"scale": 1 / 255, "mean": [], "inverse_std": []}
        self.views, self.batch_norm, self.rates = views, batch_norm, rates
        self.device_kind, self.precision = device_kind, precision
        self.folder.mkdir(parents=True)
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        random = np.random.default_rng(5)
        if net.tokens:
            values = random.integers(0, net.tokens, (samples, *net.sample_shape)).astype(np.int32)
            self.preparation = None
        elif len(net.sample_shape) == 3:
            values = random.integers(0, 256, (samples, *net.sample_shape)).astype(np.uint8)
        else:
            values = random.normal(0, 255, (samples, *net.sample_shape)).astype(np.float32)
        shape = (samples,) if net.targets == 1 else (samples, net.targets)
        targets = random.integers(0, net.classes, shape).astype(np.uint32)
        self.data = {}
        for name, array in (("values", values), ("targets", targets)):
            file = self.folder / name
            file.write_bytes(b"x" * 8 + array.tobytes())
            self.data[name] = {"file": str(file), "type": str(array.dtype), "shape": list(array.shape), "offset": 8}
        net.initial(random).tofile(self.folder / "initial.f32")

    @property
    def steps(self):
        return math.ceil(self.samples / self.batch)

    def write(self, options, devices):
        decay = self.optimizer["weight_decay"]
        content = {"options": options, "device_kind": self.device_kind, "devices": list(range(devices)), "batch": self.batch, "epochs": self.epochs,
                   "steps_per_epoch": self.steps, "seed": 3, "precision": self.precision, "deterministic": False, "optimizer": self.optimizer,
                   "weight_decays": [decay * each for each in self.net.decays], "batch_norm": self.batch_norm,
                   "network": self.net.network(), "initial": str(self.folder / "initial.f32"), "data": self.data,
                   "preparation": self.preparation, "augmented": self.views, "cache": str(self.cache), "log_steps": 0}
        file = self.folder / "trial.json"
        file.write_text(json.dumps(content))
        return file

    def epoch(self, number):
        random = np.random.default_rng(100 + number)
        names = {name: str(self.folder / name) for name in ("order.u32", "rates.f32", "views.i8", "weights.f32")}
        random.permutation(self.samples).astype(np.uint32).tofile(names["order.u32"])
        np.full(self.steps, self.rates[number], np.float32).tofile(names["rates.f32"])
        if self.views:
            views = random.integers(-2, 3, (self.samples, 3))
            views[:, 2] = random.integers(0, 2, self.samples)
            views.astype(np.int8).tofile(names["views.i8"])
        return {"epoch": number, "order": names["order.u32"], "views": names["views.i8"] if self.views else "",
                "rates": names["rates.f32"], "weights": names["weights.f32"]}
