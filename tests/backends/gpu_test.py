"""Tests of the backends that need GPUs or JAX. backends_test.py runs them, too."""
import unittest

import numpy as np

import networks
from case import HAS_JAX, HAS_TORCH, JAX, PYTORCH, Case, distance, gpus
from driver import Refused


# Of the weights, where there is max pooling. Rounding may decide which of two values of a window is larger, and another choice changes the
# filters of one channel: 25 of the 431,080 weights of the largest network here by up to 0.03.
SHARE_BEHIND_MAX_POOLING = 0.99


@unittest.skipUnless(gpus(), "PyTorch finds no GPU")
class GpuTest(Case):
    """Every mode against one CPU in fp32. Convolutions on GPUs add in another order."""

    def setUp(self):
        super().setUp()
        self.on_cpu = {}

    def check(self, folder, name, options, devices=1, bound=1e-3, **settings):
        key = name, repr(settings)
        if key not in self.on_cpu:
            self.on_cpu[key] = self.train(PYTORCH, networks.ALL[name](), {"layout": "channels_first"}, **settings)
        one = self.on_cpu[key]
        net = networks.ALL[name]()
        other = self.train(folder, net, options, devices, device_kind="cuda", **settings)
        is_smooth = all(layer["type"] != "max_pool" for layer in net.layers)
        self.assertLess(distance(one, other, 1 if is_smooth else SHARE_BEHIND_MAX_POOLING), bound)

    def check_networks(self, mode):
        for name in networks.ALL:
            with self.subTest(name):
                self.check(PYTORCH, name, {"mode": mode}, rates=(0.05, 0.02))

    def test_eager_on_one_device(self):
        self.check_networks("eager")

    def test_compile_on_one_device(self):
        self.check_networks("compile")

    def test_graph_on_one_device(self):
        self.check_networks("graph")

    def test_rules_in_a_graph(self):
        for rule in ({"kind": "sgd", "nesterov": True}, {"kind": "adam"}, {"kind": "adagrad"}, {"kind": "adadelta"}):
            with self.subTest(**rule):
                self.check(PYTORCH, "mlp", {"mode": "graph"}, optimizer=rule, rates=(0.05, 0.02))

    def test_views_in_a_graph(self):
        for layout in ("channels_first", "channels_last"):
            with self.subTest(layout):
                self.check(PYTORCH, "residual", {"mode": "graph", "layout": layout}, views=True)

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_modes_on_two_devices(self):
        for mode in ("graph", "ddp", "data_parallel", "fsdp"):
            for name in ("lenet", "language"):
                with self.subTest(mode, name=name):
                    self.check(PYTORCH, name, {"mode": mode}, 2)

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_buckets_in_a_graph(self):
        # Dense layers only: the fastest algorithm of a convolution may differ from one training to the next.
        net, options = networks.mlp((96, 64, 48)), {"mode": "graph", "bucket_mb": 25}
        one = self.train(PYTORCH, net, options, 2, device_kind="cuda", rates=(0.05, 0.02))
        several = self.train(PYTORCH, net, {**options, "bucket_mb": 0.001}, 2, device_kind="cuda", rates=(0.05, 0.02))
        self.assertLess(distance(one, several), 1e-6)
        for name in ("lenet", "language", "residual"):
            with self.subTest(name):
                self.check(PYTORCH, name, {"mode": "graph", "bucket_mb": 0.001}, 2, batch_norm="sync")

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_sharded_parameters(self):
        for rule in ({"kind": "sgd", "nesterov": True}, {"kind": "adam"}):
            with self.subTest(**rule):
                self.check(PYTORCH, "mlp", {"mode": "fsdp"}, 2, optimizer=rule, rates=(0.01, 0.005))
        with self.subTest("gru"):
            self.check(PYTORCH, "gru", {"mode": "fsdp"}, 2)

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_layouts_on_two_devices(self):
        for mode in ("graph", "ddp"):
            with self.subTest(mode):
                self.check(PYTORCH, "lenet", {"mode": mode, "layout": "channels_last"}, 2)

    def train_with_hook(self, hook):
        return self.train(PYTORCH, networks.ALL["lenet"](), {"mode": "ddp", "hook": hook, "bucket_mb": 0.01}, 2, device_kind="cuda")

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_hooks_on_two_devices(self):
        plain = self.train_with_hook("none")
        initial = np.fromfile(self.folder / f"trial{self.count}" / "initial.f32", np.float32)
        moved = np.linalg.norm(plain[-1]["weights"] - initial)
        for hook in ("fp16", "bf16"):
            with self.subTest(hook):
                # bf16 has 8 significant bits, so that rounding changes a value by at most 2^-9 of it. A gradient is rounded on its rank
                # and again as a sum: 2^-8, or 0.4 % of the way that the weights go. fp16 has 11 bits.
                epochs = self.train_with_hook(hook)
                self.assertLess(np.linalg.norm(epochs[-1]["weights"] - plain[-1]["weights"]), 1e-2 * moved)
        with self.subTest("powersgd"):
            # An approximation of rank 1 has another way. It must go far, and to a similar loss.
            epochs = self.train_with_hook("powersgd")
            self.assertGreater(np.linalg.norm(epochs[-1]["weights"] - initial), 0.1 * moved)
            self.assertLess(abs(epochs[-1]["loss"] / plain[-1]["loss"] - 1), 0.1)

    @unittest.skipUnless(gpus() > 1, "PyTorch finds one GPU")
    def test_synchronised_batch_norm_on_two_devices(self):
        for mode in ("graph", "ddp"):
            with self.subTest(mode):
                self.check(PYTORCH, "residual", {"mode": mode}, 2, batch_norm="sync")

    def test_narrow_precisions_train(self):
        for precision in ("tf32", "bf16"):
            with self.subTest(precision):
                epochs = self.train(PYTORCH, networks.ALL["lenet"](), {"mode": "graph"}, device_kind="cuda", precision=precision)
                self.assertLess(epochs[1]["loss"], 3)

    @unittest.skipUnless(HAS_JAX, "this Python has no module jax")
    def test_jax(self):
        for name in networks.ALL:
            with self.subTest(name):
                self.check(JAX, name, {"steps": 2}, batch_norm="sync", rates=(0.05, 0.02))
                if gpus() > 1:
                    self.check(JAX, name, {"mode": "shard_map"}, 2, batch_norm="sync")


class JaxTest(Case):
    @unittest.skipIf(HAS_JAX, "this Python has JAX")
    def test_without_jax_it_is_unavailable(self):
        with self.start(JAX) as backend, self.assertRaises(Refused) as caught:
            backend.describe({"mode": "shard_map"})
        self.assertEqual(caught.exception.kind, "unavailable")
        self.assertRegex(str(caught.exception), r"^\S*python3\S* has no module jax: install it, or set `python:`$")

    @unittest.skipUnless(HAS_JAX, "this Python has no module jax")
    def test_networks_on_one_and_several_devices(self):
        for name in networks.ALL:
            with self.subTest(name):
                one = self.train(JAX, networks.ALL[name](), {}, batch_norm="sync")
                several = self.train(JAX, networks.ALL[name](), {"mode": "shard_map", "steps": 2}, 3, batch_norm="sync")
                self.assertLess(distance(one, several), 1e-4)
                if HAS_TORCH:
                    self.assertLess(distance(one, self.train(PYTORCH, networks.ALL[name](), {}, batch_norm="sync")), 1e-4)
