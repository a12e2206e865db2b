"""What the tests of backends share: which backends there are, what this Python has, and a training that checks what holds for all."""
import pathlib
import re
import shutil
import tempfile
import unittest

import numpy as np

from driver import ROOT, Backend, Refused, Trial

HERE = pathlib.Path(__file__).resolve().parent
NUMPY, PAIR, FAULTY, PYTORCH, JAX = HERE / "numpy", HERE / "pair", HERE / "faulty", ROOT / "plugins" / "pytorch", ROOT / "plugins" / "jax"


def is_installed(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False


HAS_TORCH, HAS_JAX = is_installed("torch"), is_installed("jax")


def gpus():
    if not HAS_TORCH:
        return 0
    import torch
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def distance(one, other, share=1):
    """The largest departure of a weight in any epoch; with `share`, of that part of the weights which departs least."""
    return max(float(np.quantile(np.abs(a["weights"] - b["weights"]), share)) for a, b in zip(one, other))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.count = 0

    def start(self, folder):
        self.count += 1
        return Backend(folder, self.folder / f"work{self.count}")

    def train(self, folder, net, options, devices=1, **settings):
        """The answers of two epochs. Checks what holds for every backend."""
        with self.start(folder) as backend:
            description = backend.describe(options)
            self.assertEqual(description["name"], folder.name)
            self.assertEqual([], description["problems"])
            self.assertLessEqual({layer["type"] for layer in net.layers}, set(description["layers"]))
            values = {option["key"]: option["default"] for option in description["options"]}
            trial = Trial(self.folder / f"trial{self.count}", net, **settings)
            epochs = backend.train(trial, {**values, **options}, devices)
            self.notes = backend.notes
        for epoch in epochs:
            self.assertEqual((epoch["samples"], epoch["steps"]), (trial.samples, trial.steps))
        return epochs

    def expect_page_has(self, folder, text):
        """The manifest, and the program in one or more blocks, whatever blank lines are between them."""
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
        self.assertEqual("".join(blocks).replace("\n\n\n", "\n").replace("\n\n", "\n"),
                         (folder / "backend.py").read_text().replace("\n\n\n", "\n").replace("\n\n", "\n"))
        self.assertIn((folder / "backend.json").read_text().strip(), text)

    def refusal(self, folder, net, options, devices=1, **settings):
        with self.assertRaises(Refused) as caught:
            self.train(folder, net, options, devices, **settings)
        return caught.exception
