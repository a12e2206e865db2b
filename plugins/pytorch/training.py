"""One rank: its device, samples, network and optimiser, and the loop over the steps of an epoch.

Nothing in the loop waits for the device: indices, rates and the sum of losses stay there.
"""
import contextlib
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional

import mgcompare_backend as mgcompare
from buckets import Buckets
from network import Network
from optimizer import Updates
from samples import Samples

WARM_UP_STEPS = 4  # torch.compile records its graphs in the second and third
GRAPH_WARM_UP_STEPS = 11  # DDP and the allocator settle within ten
MOST_MEASURED_STEPS = 256  # at once, to compare layouts
MEASURED_SECONDS = 0.5


def set_up(trial, device):
    """Settings of the whole process."""
    torch.set_num_threads(1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for deterministic matrix products
    tf32 = trial.precision != "fp32"
    torch.backends.cudnn.benchmark = not trial.deterministic
    torch.use_deterministic_algorithms(trial.deterministic)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Training:
    """`mode`: eager, compile, graph, ddp, data_parallel or fsdp; `rank` of `ranks` processes."""

    def __init__(self, trial, mode, device, rank=0, ranks=1, channels_last=False):
        self.trial, self.mode, self.device, self.rank, self.ranks = trial, mode, device, rank, ranks
        self.classes = trial.network["classes"]
        self.samples = Samples(trial, device, channels_last)
        self.sync = trial.batch_norm == "sync" and ranks > 1
        self.network = Network(trial, self.sync, mode == "fsdp").to(device)
        if channels_last:
            self.network.to(memory_format=torch.channels_last)
        self.network.train()
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.graphs, self.with_views = {}, trial.augmented
        self.model, self.forget = self._wrap()
        self.tensors = self.network.tensors()
        self.updates = Updates(trial, self.tensors, device, mode == "graph", mode == "fsdp")
        with torch.no_grad():
            self.initial = [tensor.detach().clone() for tensor in self.tensors] + [each.clone() for each in self.network.buffers()]
        self.size = None
        several = mode == "graph" and ranks > 1
        self.buckets = Buckets(self.tensors, trial.options["bucket_mb"] * (1 << 20)) if several else None

    def _wrap(self):
        if self.mode == "ddp":
            from wrappers import distributed
            return distributed(self.network, self.device, self.trial.options)
        if self.mode == "fsdp":
            from wrappers import sharded
            return sharded(self.network), None
        if self.mode == "data_parallel":
            from wrappers import Parallel
            return Parallel(self.network, self.trial.devices, self.trial.precision == "bf16"), None
        if self.mode == "compile":
            # Forward pass and loss, and with them the backward pass. Not the batch: the samples would be an input of the recorded graph that
            # is neither parameter nor buffer, and cudagraph trees copy such inputs, here all samples, in each replay. Not the update: it is
            # one fused kernel for each weight decay, and its rate would be a constant of the compiled code, compiled again at each change.
            fast = "reduce-overhead" if self.device.type == "cuda" else "default"
            self.loss = torch.compile(self.loss, mode=fast, dynamic=False)
        return self.network, None

    # Steps

    def share(self, count):
        """Own positions of a step with `count` samples; DataParallel divides by itself."""
        return mgcompare.share(count, self.rank, self.ranks)

    def loss(self, inputs, targets, factor):
        """Mean over the predictions of this rank, times `factor` if it is not None."""
        mixed = torch.autocast(self.device.type, dtype=torch.bfloat16) if self.trial.precision == "bf16" else contextlib.nullcontext()
        with mixed:
            logits = self.model(inputs)
        loss = functional.cross_entropy(logits.reshape(-1, self.classes).float(), targets.reshape(-1))
        return loss if factor is None else loss * factor

    def factor(self, count):
        """What makes the mean over ranks of their losses that of the global batch; None if it is 1."""
        begin, end = self.share(count)
        return None if (end - begin) * self.ranks == count else (end - begin) * self.ranks / count

    def set_size(self, count):
        """Before steps of `count` samples, if others came before."""
        if self.size == count:
            return
        self.size = count
        begin, end = self.share(count)
        own, total = end - begin, count
        if self.mode == "data_parallel":
            own = total = -(-count // len(self.trial.devices))
        self.network.set_samples(own, total)
        if self.sync:
            native = self.device.type == "cuda" and count >= self.ranks
            for norm in self.network.norms():
                norm.native = native

    def gradient_step(self, inputs, targets, count):
        """Backward pass and exchange by PyTorch's own wrappers, then the update."""
        if self.mode == "compile" and self.device.type == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        loss = self.loss(inputs, targets, self.factor(count))
        loss.backward()
        self.updates.step()
        self.total.add_(loss.detach(), alpha=count / self.ranks)
        for tensor in self.tensors:
            tensor.grad = None

    def graph_step(self, inputs, targets, count):
        """The same with gradients and an exchange that a graph can record."""
        loss = self.loss(inputs, targets, self.factor(count))
        gradients = torch.autograd.grad(loss, self.tensors) if self.buckets is None else self.buckets.mean(loss)
        for tensor, gradient in zip(self.tensors, gradients):
            tensor.grad = gradient
        self.updates.step()
        self.total.add_(loss.detach(), alpha=count / self.ranks)

    # Epochs

    def begin(self, order, views, rates):
        """Own part of the order, to the device, with the place of each step in it."""
        batch = self.trial.batch
        counts = [min(batch, len(order) - at) for at in range(0, len(order), batch)]
        own = [self._own(k * batch, count) for k, count in enumerate(counts)]
        self.steps = []
        at = 0
        for count, positions, rate in zip(counts, own, rates):
            self.steps.append((at, at + len(positions), count, float(rate)))
            at += len(positions)
        positions = np.concatenate(own)
        self.order = torch.from_numpy(order[positions].astype(np.int64)).to(self.device)
        self.views = None if views is None else torch.from_numpy(views[positions]).to(self.device)
        self.total.zero_()
        if self.mode == "graph":
            self._fill_graph_inputs()
        self.updates.set_rate(self.steps[0][3])
        synchronize(self.device)

    def _own(self, start, count):
        begin, end = self.share(count)
        # A rank without samples takes part with one sample that does not count.
        return np.arange(start + begin, start + end) if end > begin else np.array([start])

    def run(self):
        """The sum over all samples of their losses, after all ranks have finished."""
        step = self.graph_step if self.mode == "graph" else self.gradient_step
        for begin, end, count, rate in self.steps:
            self.set_size(count)
            self.updates.set_rate(rate)
            if count in self.graphs:
                self.graphs[count].replay()
                continue
            views = None if self.views is None else self.views[begin:end]
            inputs, targets = self.samples.batch(self.order[begin:end], views)
            step(inputs, targets, count)
        if self.ranks > 1:
            dist.all_reduce(self.total)
        return self.total.item()

    # Set-up

    def warm_up(self):
        """Runs steps of each size that an epoch has, then restores the initial state."""
        samples = len(self.trial.targets)
        sizes = {min(self.trial.batch, samples), samples % self.trial.batch or self.trial.batch}
        if self.mode == "graph":
            self.graphs = {}
            for count in sorted(sizes):
                self._record(count)
        else:
            for count in sorted(sizes):
                # A step on a CPU may take seconds, and only compiled ones change after the first.
                for _ in range(WARM_UP_STEPS if self.device.type == "cuda" or self.mode == "compile" else 1):
                    self.run_steps(count)
        self.restore()

    def run_steps(self, samples):
        """Trains any samples; the state afterwards is of no use."""
        order = np.arange(samples, dtype=np.uint32) % len(self.trial.targets)
        views = np.zeros((samples, 3), np.int8) if self.with_views else None
        self.begin(order, views, [0.0] * -(-samples // self.trial.batch))
        self.run()

    def seconds_per_step(self):
        """Of full steps: as many at once as fit into half a second, so that the start does not matter."""
        # The one thread of a CPU device is measured without the time that other programs take from it.
        clock = time.perf_counter if self.device.type == "cuda" else time.thread_time
        steps = 1
        while True:
            start = clock()
            self.run_steps(steps * self.trial.batch)
            seconds = clock() - start
            if seconds > MEASURED_SECONDS / 4 or steps >= MOST_MEASURED_STEPS:
                return seconds / steps
            steps *= 4

    def restore(self):
        """The initial weights, statistics and optimiser state, in the same memory."""
        with torch.no_grad():
            for tensor, value in zip(self.tensors + list(self.network.buffers()), self.initial):
                tensor.copy_(value)
        for norm in self.network.norms():
            norm.factor = 1.0
        self.size = None
        self.updates.reset()
        if self.forget is not None:
            self.forget()
        for tensor in self.tensors:
            if self.mode != "graph":
                tensor.grad = None
        torch.manual_seed(self.trial.seed + self.rank)
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        synchronize(self.device)

    # Graphs

    def _record(self, count):
        """A graph of a whole step with `count` samples: batch, both passes, all-reduces and update."""
        begin, end = self.share(count)
        own = max(end - begin, 1)
        if not hasattr(self, "own_order"):
            length = max(len(self.trial.targets), max(self.trial.steps_per_epoch, MOST_MEASURED_STEPS) * self.trial.batch)
            self.own_order = torch.zeros(length, dtype=torch.int64, device=self.device)
            self.own_views = torch.zeros(length, 3, dtype=torch.int8, device=self.device)
            self.positions = {}
        self.positions[count] = torch.arange(own, device=self.device)
        self.set_size(count)
        self.updates.set_rate(0.0)

        def step():
            positions = self.positions[count]
            indices = self.own_order.index_select(0, positions)
            inputs, targets = self.samples.batch(indices, self.own_views.index_select(0, positions) if self.with_views else None)
            self.graph_step(inputs, targets, count)
            positions.add_(own)

        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(GRAPH_WARM_UP_STEPS):
                self.positions[count].copy_(torch.arange(own, device=self.device))
                step()
        torch.cuda.current_stream(self.device).wait_stream(side)
        synchronize(self.device)
        graph = torch.cuda.CUDAGraph()
        pool = next(iter(self.graphs.values())).pool() if self.graphs else None
        with torch.cuda.graph(graph, pool=pool):
            step()
        self.graphs[count] = graph

    def _fill_graph_inputs(self):
        if not self.graphs:
            return
        self.own_order[:len(self.order)].copy_(self.order)
        if self.views is not None:
            self.own_views[:len(self.order)].copy_(self.views)
        seen = set()
        for begin, end, count, _ in self.steps:
            if count in self.graphs and count not in seen:
                self.positions[count].copy_(torch.arange(begin, end, device=self.device))
                seen.add(count)

    # Results

    def vector(self):
        """Parameters in the order of the vector on the host, and the mean of the ranks' statistics."""
        with torch.no_grad():
            tensors = [tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor for tensor in self.tensors]
            parameters = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
            buffers = self.network.buffer_vector().to(self.device)
            if self.ranks > 1 and buffers.numel() > 0:
                dist.all_reduce(buffers)
                buffers /= self.ranks
        return [parameters.cpu().numpy(), buffers.cpu().numpy()]
