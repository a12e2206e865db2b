#!/usr/bin/env python3
"""Tests of the backends in Python: trials of small networks with random data, played by driver.py.

Usage: backends_test.py [unittest options]. Needs Python with NumPy; what needs PyTorch is skipped without it.
"""
import os
import pathlib
import signal
import sys
import unittest

import numpy as np

import networks
from case import FAULTY, HAS_TORCH, NUMPY, PAIR, PYTORCH, Case, distance
from driver import ROOT, Refused, Trial
from gpu_test import GpuTest, JaxTest  # noqa: F401
from module_test import ModuleTest  # noqa: F401

PAGE = ROOT / "docs" / "writing-a-backend.md"
SEVERAL = "\n## Several devices\n"


class NumpyTest(Case):
    def test_the_page_has_this_file(self):
        self.expect_page_has(NUMPY, PAGE.read_text().split(SEVERAL)[0])

    def test_the_loss_falls(self):
        epochs = self.train(NUMPY, networks.mlp(), {}, samples=64, rates=(0.1, 0.1))
        self.assertLess(epochs[1]["loss"], epochs[0]["loss"])

    def test_other_layers_are_unavailable(self):
        net = networks.lenet((2, 2), 4)
        with self.start(NUMPY) as backend:
            with self.assertRaises(Refused) as caught:
                backend.train(Trial(self.folder / "trial", net), {})
        self.assertEqual((caught.exception.kind, str(caught.exception)), ("unavailable", "numpy has no layer conv, max_pool"))

    def test_a_diverged_training_says_so(self):
        refused = self.refusal(NUMPY, networks.mlp(), {}, rates=(1e30, 1e30))
        self.assertEqual(refused.kind, "diverged")


class PairTest(Case):
    """The backend of the page for two devices, on a network that it has."""

    SETTINGS = {"rates": (0.05, 0.01), "optimizer": {"momentum": 0.0}}

    def test_the_page_has_this_file(self):
        self.expect_page_has(PAIR, PAGE.read_text().split(SEVERAL)[1])

    def test_one_and_two_devices_equal_numpy(self):
        # 50 samples in steps of 16 leave 2 for the last one.
        one = self.train(NUMPY, networks.regression(), {}, **self.SETTINGS)
        for devices in (1, 2):
            with self.subTest(devices):
                self.assertLess(distance(one, self.train(PAIR, networks.regression(), {}, devices, **self.SETTINGS)), 1e-5)

    def test_two_devices_share_a_step_of_one_sample(self):
        settings = {**self.SETTINGS, "samples": 33}
        one = self.train(NUMPY, networks.regression(), {}, **settings)
        self.assertLess(distance(one, self.train(PAIR, networks.regression(), {}, 2, **settings)), 1e-5)

    def test_three_devices_are_refused(self):
        refused = self.refusal(PAIR, networks.regression(), {}, 3, **self.SETTINGS)
        self.assertEqual(str(refused), "pair runs on 1 to 2 devices with these options, not on 3")


class FaultTest(Case):
    """What a comparison with a right training notices."""

    def setUp(self):
        super().setUp()
        self.right = self.train(NUMPY, networks.mlp(), {})

    def test_without_a_fault_it_is_equal(self):
        self.assertEqual(distance(self.right, self.train(FAULTY, networks.mlp(), {"fault": "none"})), 0)

    def test_faults_of_training_change_the_weights(self):
        for fault in ("momentum", "skipped", "other_weights"):
            with self.subTest(fault):
                self.assertGreater(distance(self.right, self.train(FAULTY, networks.mlp(), {"fault": fault})), 2e-3)

    def test_a_clock_that_stops_differs_from_ours(self):
        for epoch in self.train(FAULTY, networks.mlp(), {"fault": "clock"}):
            self.assertGreater(epoch["ours"] - epoch["seconds"], 0.02)
            self.assertGreater(epoch["ours"], 1.05 * epoch["seconds"])
        for epoch in self.right:
            self.assertLess(epoch["ours"] - epoch["seconds"], 0.02)

    def test_wrong_weights_are_noticed(self):
        for fault in ("short_weights", "nan_weights"):
            with self.subTest(fault), self.assertRaisesRegex(AssertionError, "wrong weights"):
                self.train(FAULTY, networks.mlp(), {"fault": fault})

    def test_wrong_answers_are_noticed(self):
        with self.assertRaises(ValueError):
            self.train(FAULTY, networks.mlp(), {"fault": "garbage"})
        with self.assertRaisesRegex(AssertionError, "id 999"):
            self.train(FAULTY, networks.mlp(), {"fault": "wrong_id"})
        with self.assertRaisesRegex(AssertionError, "the planted end"):
            self.train(FAULTY, networks.mlp(), {"fault": "dies"})
        with self.assertRaisesRegex(AssertionError, "survived"):
            self.train(FAULTY, networks.mlp(), {"fault": "child"})


@unittest.skipUnless(HAS_TORCH, "this Python has no module torch")
class PyTorchTest(Case):
    def compare(self, name, devices=(2,), bound=1e-5, **settings):
        one = self.train(PYTORCH, networks.ALL[name](), {"layout": "channels_first"}, **settings)
        for count in devices:
            several = self.train(PYTORCH, networks.ALL[name](), {"mode": "ddp", "layout": "channels_first"}, count, **settings)
            self.assertLess(distance(one, several), bound)
            self.assertAlmostEqual(one[1]["loss"], several[1]["loss"], places=4)
        return one

    def test_a_description_names_the_framework_and_equal_strategies(self):
        options = ({}, {"mode": "ddp"}, {"mode": "ddp", "hook": "fp16"}, {"mode": "graph"}, {"mode": "data_parallel"}, {"mode": "fsdp"})
        with self.start(PYTORCH) as backend:
            found = [backend.describe(each) for each in options]
        self.assertEqual({each["framework"]["name"] for each in found}, {"PyTorch"})
        self.assertEqual({each["framework"]["version"] for each in found}, {found[0]["versions"]["torch"].split("+")[0]})
        self.assertEqual([each["like"].get("several") for each in found], [None, "replicated", None, "replicated", "data_parallel", None])
        self.assertEqual([each["like"].get("one") for each in found], ["serial", "serial", None, "serial", "serial", "serial"])

    def test_mlp_equals_numpy(self):
        # The rate changes; 50 samples in steps of 16 leave 2 for the last one, fewer than three devices.
        settings = {"rates": (0.05, 0.01)}
        one = self.compare("mlp", (2, 3), **settings)
        self.assertLess(distance(one, self.train(NUMPY, networks.mlp(), {}, **settings)), 1e-5)

    def test_augmented_images_equal_numpy(self):
        settings = {"views": True, "preparation": {"scale": 1 / 255, "mean": [0.3], "inverse_std": [2.0]}}
        one = self.train(PYTORCH, networks.mlp(), {}, **settings)
        self.assertLess(distance(one, self.train(NUMPY, networks.mlp(), {}, **settings)), 1e-5)

    def test_lenet_on_several_devices(self):
        self.compare("lenet")

    def test_gru_on_several_devices(self):
        self.compare("gru")

    def test_stacked_grus_equal_single_ones(self):
        one = self.compare("stacked")
        self.assertLess(distance(one, self.train(PYTORCH, networks.stacked(apart=True), {"layout": "channels_first"})), 1e-5)

    def test_embedding_and_lstm_on_several_devices(self):
        self.compare("language")

    def test_one_hot_and_lstm_on_several_devices(self):
        self.compare("one_hot")

    def test_synchronised_batch_norm_on_several_devices(self):
        self.compare("residual", (3,), batch_norm="sync")

    def test_other_layers_on_several_devices(self):
        # A batch of two samples is normalised at the end, which magnifies rounding.
        self.compare("responses", (2,), bound=1e-4, batch_norm="sync")

    def test_layouts_are_equal(self):
        one = self.train(PYTORCH, networks.residual(), {"layout": "channels_first"})
        other = self.train(PYTORCH, networks.residual(), {"layout": "channels_last"})
        self.assertIn("channels-last", self.notes)
        self.assertLess(distance(one, other), 1e-5)

    def test_halved_gradients_are_close(self):
        # 0.01 MiB: several buckets.
        one = self.train(PYTORCH, networks.mlp(), {})
        several = self.train(PYTORCH, networks.mlp(), {"mode": "ddp", "hook": "fp16", "bucket_mb": 0.01}, 2)
        self.assertLess(distance(one, several), 1e-3)

    def test_dropout_trains_and_is_noted(self):
        note = "differs by design: dropout masks are PyTorch's own"
        self.train(PYTORCH, networks.dropped(), {"mode": "ddp"}, 2)
        self.assertIn(note, self.notes)
        self.train(PYTORCH, networks.mlp(), {})
        self.assertNotIn(note, self.notes)

    def test_updates_follow_the_rules(self):
        for rule in ({"kind": "sgd", "momentum": 0}, {"kind": "sgd", "nesterov": True}, {"kind": "adam"}, {"kind": "adagrad"},
                     {"kind": "adadelta"}):
            with self.subTest(**rule):
                self.check_rule(rule)

    def check_rule(self, rule):
        """One dense layer, full batches: its gradient is computed here, and the rule applied in double precision."""
        net = networks.Builder([6], 3)
        net.add("dense", units=3, bias=False)
        rates = (0.05, 0.02)
        trial = Trial(self.folder / f"rule{self.count}", net, samples=8, batch=8, optimizer=rule, rates=rates)
        values = np.fromfile(trial.folder / "values", np.float32, offset=8).reshape(8, 6).astype(np.float64) / 255
        targets = np.fromfile(trial.folder / "targets", np.uint32, offset=8)
        weight = np.fromfile(trial.folder / "initial.f32", np.float32).reshape(3, 6).astype(np.float64)
        first, second = np.zeros_like(weight), np.zeros_like(weight)
        settings = trial.optimizer
        for count, rate in enumerate(rates, 1):
            logits = values @ weight.T
            slope = np.exp(logits) / np.exp(logits).sum(1, keepdims=True) - np.eye(3)[targets]
            gradient = slope.T @ values / 8 + settings["weight_decay"] * weight
            weight, first, second = apply(settings, weight, gradient, first, second, rate, count)
        epochs = self.train(PYTORCH, net, {}, samples=8, batch=8, optimizer=rule, rates=rates)
        self.assertLess(np.abs(epochs[1]["weights"].reshape(3, 6) - weight).max(), 1e-5)

    def test_running_variance_is_that_of_the_batch(self):
        net = networks.Builder([6], 3)
        net.add("batch_norm", momentum=0.5)
        net.add("dense", units=3)
        epoch = self.train(PYTORCH, net, {}, samples=12, batch=8, preparation={"scale": 1, "mean": [], "inverse_std": []})[0]
        values = np.fromfile(self.folder / f"trial{self.count}" / "values", np.float32, offset=8).reshape(12, 6).astype(np.float64)
        order = np.random.default_rng(100).permutation(12)
        mean, variance = np.zeros(6), np.ones(6)
        for part in (order[:8], order[8:]):
            mean, variance = (mean + values[part].mean(0)) / 2, (variance + values[part].var(0)) / 2
        np.testing.assert_allclose(epoch["weights"][-12:], np.concatenate([mean, variance]), rtol=1e-4)

    def test_what_is_missing_is_unavailable(self):
        import torch
        with self.start(PYTORCH) as backend:
            modes = ["fsdp"] + (["graph", "data_parallel"] if not torch.cuda.is_available() else [])
            if int(torch.__version__.split(".")[0]) < 2:
                modes.append("compile")
            for mode in modes:
                problem, = backend.describe({"mode": mode})["problems"][:1]
                self.assertEqual((problem["key"], problem["kind"]), ("mode", "unavailable"))

    def test_too_many_devices_are_unavailable(self):
        with self.start(PYTORCH) as backend, self.assertRaisesRegex(Refused, "runs on 1 to 1 devices with these options, not on 2"):
            backend.train(Trial(self.folder / "trial", networks.mlp()), {"mode": "eager", "hook": "none"}, 2)

    def test_a_rank_that_ends_is_the_cause(self):
        with self.start(PYTORCH) as backend:
            options = {option["key"]: option["default"] for option in backend.describe({})["options"]}
            backend.begin(Trial(self.folder / "trial", networks.mlp()), {**options, "mode": "ddp"}, 2)
            rank, = (child for child in backend.children() if b"spawn_main" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes())
            os.kill(rank, signal.SIGKILL)
            with self.assertRaisesRegex(Refused, r"rank 1 has ended \(exit code -9\)"):
                backend.receive("epoch_begin", 30)

    def refusal(self, name, text):
        """What the backend with this backend.py answers to a trial."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "backend.json").write_text('{"protocol": 1, "name": "%s", "description": "x", "python": "backend.py"}' % name)
        (folder / "beside.py").write_text("LAYERS = ['flatten', 'dense', 'tanh', 'relu']\n")
        (folder / "backend.py").write_text(text)
        with self.start(folder) as backend, self.assertRaises(Refused) as caught:
            backend.train(Trial(self.folder / f"trial_of_{name}", networks.mlp()), {})
        return str(caught.exception)

    def test_wrong_answers_of_methods_are_named(self):
        for name, body, cause in (
                ("early", "next(epoch.steps()); return 1.0", r"left epoch.steps\(\) after 1 of \d+ steps"),
                ("nothing", "pass", r"train\(\) returned None: it must return the mean loss"),
                ("array", "import numpy; return numpy.ones(2)", r"train\(\) returned a ndarray: it must return the mean loss"),
                ("late", "import tensorfloww", r"train\(\) cannot import what it needs: No module named 'tensorfloww'"),
                ("weightless", "return 1.0", r"weights\(\) returned None")):
            with self.subTest(name):
                self.assertRegex(self.refusal(name, METHODS.format(body=body, load="return []")), cause)
        self.assertRegex(self.refusal("text", METHODS.format(body="return 1.0", load="return 'a note'")), r"load\(\) returned the text 'a note'")
        self.assertRegex(self.refusal("foreign", "import mgcompare_backend as mgcompare\nclass Foreign: pass\nmgcompare.serve(Foreign)\n"),
                         "Foreign, which is not derived from mgcompare_backend.Backend")

    def test_no_rank_survives_a_failure_of_another(self):
        for failing, cause in ((0, "planted"), (1, "rank 1: planted")):
            with self.subTest(failing=failing):
                folder = self.folder / f"failing{failing}"
                folder.mkdir()
                (folder / "backend.json").write_text('{"protocol": 1, "name": "failing", "description": "x", "python": "backend.py"}')
                (folder / "backend.py").write_text(FAILING.format(failing=failing, folder=str(PYTORCH)))
                with self.start(folder) as backend, self.assertRaises(Refused) as caught:
                    backend.begin(Trial(self.folder / f"trial{failing}", networks.mlp()), {})
                self.assertEqual(str(caught.exception), cause)


# Finds a module beside itself.
METHODS = """
import mgcompare_backend as mgcompare
import beside

class Methods(mgcompare.Backend):
    name = "methods"
    layers = beside.LAYERS

    def load(self, trial):
        {load}

    def train(self, epoch):
        {body}

    def weights(self):
        return None

mgcompare.serve(Methods)
"""

# One rank fails; the others wait for it as NCCL does.
FAILING = """
import mgcompare_backend as mgcompare
import sys
import time
sys.path.insert(0, "{folder}")
from ranks import Team


def make(rank, ranks):
    if rank == {failing}:
        raise mgcompare.Problem("planted")
    time.sleep(1000)


class Failing(mgcompare.Backend):
    layers = ["dense", "flatten", "relu", "tanh"]

    def load(self, trial):
        Team(make, (), 3)

    def train(self, epoch):
        raise AssertionError("a rank has failed")

    weights = train


if __name__ == "__main__":
    mgcompare.serve(Failing)
"""


def apply(rule, weight, gradient, first, second, rate, count):
    """core/model/update_rules.h in NumPy."""
    kind, epsilon = rule["kind"], rule["epsilon"]
    if kind == "sgd":
        first = rule["momentum"] * first - rate * gradient
        return weight + (rule["momentum"] * first - rate * gradient if rule["nesterov"] else first), first, second
    if kind == "adam":
        first = rule["beta1"] * first + (1 - rule["beta1"]) * gradient
        second = rule["beta2"] * second + (1 - rule["beta2"]) * gradient ** 2
        step = first / (1 - rule["beta1"] ** count) / (np.sqrt(second / (1 - rule["beta2"] ** count)) + epsilon)
        return weight - rate * step, first, second
    if kind == "adagrad":
        first = first + gradient ** 2
        return weight - rate * gradient / (np.sqrt(first) + epsilon), first, second
    first = rule["rho"] * first + (1 - rule["rho"]) * gradient ** 2
    step = gradient * np.sqrt(second + epsilon) / np.sqrt(first + epsilon)
    return weight - rate * step, first, rule["rho"] * second + (1 - rule["rho"]) * step ** 2


if __name__ == "__main__":
    program = unittest.main(exit=False)
    for test, reason in program.result.skipped:
        print(f"skipped: {test.id().split('.')[-1]}: {reason}", file=sys.stderr)
    sys.exit(not program.result.wasSuccessful())
