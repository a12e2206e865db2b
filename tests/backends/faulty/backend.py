"""The NumPy backend with one fault, chosen by its option. Each must be noticed."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import mgcompare_backend as mgcompare

import numpy as np

_file = pathlib.Path(__file__).resolve().parents[1] / "numpy" / "backend.py"
_spec = importlib.util.spec_from_file_location("numpy_backend", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

FAULTS = {"none": "trains as it should",
          "momentum": "half of the momentum", "skipped": "leaves out the second half of each batch, but counts it",
          "clock": "its clock stops after a third of the epoch", "other_weights": "writes the weights of another training",
          "short_weights": "writes one weight too few", "nan_weights": "writes NaN as the last weight",
          "garbage": "answers a line that is no JSON", "wrong_id": "answers with the id of another trial", "silent": "does not answer",
          "dies": "ends in the middle of the epoch", "child": "leaves a process behind", "memory": "takes memory until it is ended"}


class Faulty(_module.NumpyBackend):
    name = "faulty"
    options = [mgcompare.choice("fault", list(FAULTS), "none", "what it does wrong")]

    def __init__(self, options):
        self.fault = options["fault"]

    def load(self, trial):
        super().load(trial)
        if self.fault == "momentum":
            self.momentum /= 2
        if self.fault == "child":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        if self.fault == "garbage":
            os.write(mgcompare.channel.ANSWERS, b"\x00{ready\n")
        if self.fault == "wrong_id":
            os.write(mgcompare.channel.ANSWERS, json.dumps({"type": "ready", "id": 999, "notes": []}).encode() + b"\n")
        if self.fault == "silent":
            time.sleep(3600)

    def train(self, epoch):
        if self.fault == "dies":
            print("the planted end", file=sys.stderr, flush=True)
            os._exit(7)
        if self.fault == "memory":
            taken = []
            while True:
                taken.append(np.ones(1 << 20))
        if self.fault == "clock":
            start, real = time.perf_counter(), time.perf_counter
            loss = super().train(epoch)
            time.sleep(0.05)  # an epoch of a test may be shorter than what is tolerated
            mgcompare.serving.now = lambda: start + (real() - start) / 3
            return loss
        if self.fault == "skipped":
            steps = list(epoch.steps())
            for step in steps:
                half = max(1, len(step.samples) // 2)
                step.samples, step.views = step.samples[:half], None if step.views is None else step.views[:half]
            epoch.steps = lambda: iter(steps)
        return super().train(epoch)

    def weights(self):
        mgcompare.serving.now = time.perf_counter
        if self.fault == "other_weights":
            return np.random.default_rng(1).permutation(self.vector)
        if self.fault == "nan_weights":
            return np.append(self.vector[:-1], np.float32("nan"))
        return self.vector


def _write_short(backend, trial, file):
    backend.vector[:-1].tofile(file)


if __name__ == "__main__":
    _write = mgcompare.serving._write_weights
    mgcompare.serving._write_weights = lambda backend, *rest: (_write_short if backend.fault == "short_weights" else _write)(backend, *rest)
    mgcompare.serve(Faulty)
