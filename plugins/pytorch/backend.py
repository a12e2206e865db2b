"""PyTorch as a backend of mgcompare: options, what this machine can do, and the ranks."""
import os
import resource
import sys
import time

import mgcompare_backend as mgcompare

# Inductor's pool of compiling processes would still use processors during the training, and outlive this one.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch  # noqa: E402

# Before installed modules, which may have such common names as these.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from network import LAYERS  # noqa: E402
from optimizer import OPTIMIZERS  # noqa: E402
from ranks import Team, join  # noqa: E402
from training import Training, set_up  # noqa: E402
from wrappers import HOOKS, gathered_again  # noqa: E402

VERSION = tuple(int(each) for each in torch.__version__.split("+")[0].split(".")[:2])
SEVERAL, GPU_MODES = ("ddp", "data_parallel", "fsdp"), ("graph", "data_parallel", "fsdp")
# gloo has no sum of bf16; and the collectives of powersgd for several buckets have no fixed order with it.
NCCL_HOOKS = ("bf16", "powersgd")


def device_of(trial, rank):
    return torch.device("cuda", trial.devices[rank]) if trial.device_kind == "cuda" else torch.device("cpu")


def has_faster_layout(trial, mode, device, ranks):
    """Whether channels-last is faster, measured on one device with the samples of one rank."""
    image = len(trial.network["sample_shape"]) == 3 and any(layer["type"] == "conv" for layer in trial.layers)
    layout = trial.options["layout"]
    if mode == "fsdp":  # cannot shard weights with another order of axes
        return False
    if not image or layout != "auto" or trial.deterministic:
        return image and layout == "channels_last"
    seconds = []
    batch, trial.batch = trial.batch, -(-trial.batch // ranks)
    try:
        for channels_last in (False, True):
            training = Training(trial, "graph" if mode == "graph" else "eager", device, channels_last=channels_last)
            if mode == "graph":
                training.warm_up()
            training.run_steps(trial.batch)
            seconds.append(training.seconds_per_step())
            del training
    finally:
        trial.batch = batch
    return seconds[1] < 0.97 * seconds[0]


def blas_note():
    """A sentence if the host's matrix products are far below what a core can do."""
    matrix, least = torch.ones(512, 512), float("inf")
    for _ in range(4):
        start = time.thread_time()
        matrix @ matrix
        least = min(least, time.thread_time() - start)
    speed = 2 * 512 ** 3 / least / 1e9
    return [] if speed > 15 else [f"matrix products at {speed:.0f} GFLOP/s: PyTorch finds no optimised BLAS (Debian: libopenblas0)"]


class Rank:
    """One process. Methods are called on all ranks at once."""

    def __init__(self, file, mode, place, rank, ranks):
        self.trial = trial = mgcompare.Trial(file)
        self.device = device_of(trial, rank)
        set_up(trial, self.device)
        # Before the ranks join: the others still load PyTorch.
        fast = rank == 0 and trial.cached("channels last", lambda: has_faster_layout(trial, mode, self.device, ranks))
        channels_last = torch.full((1,), float(fast), device=self.device)
        if ranks > 1:
            join(rank, ranks, self.device, place)
            torch.distributed.broadcast(channels_last, 0)
        self.channels_last = bool(channels_last.item())
        self.training = Training(trial, mode, self.device, rank, ranks, self.channels_last)
        self.training.warm_up()
        self.ranks = ranks

    def begin(self, request):
        epoch = mgcompare.Epoch(self.trial, request)
        self.training.begin(epoch.order, epoch.views, epoch.rates)
        if self.ranks > 1:
            torch.distributed.barrier()

    def run(self):
        return self.training.run()

    def vector(self):
        return self.training.vector()

    def peak(self):
        """Of the device that needed most; on CPUs of the process."""
        if self.device.type == "cuda":
            devices = self.trial.devices if self.ranks == 1 else [self.device]
            own = max(torch.cuda.max_memory_reserved(device) for device in devices)
        else:
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        most = torch.full((1,), own, dtype=torch.int64, device=self.device)
        if self.ranks > 1:
            torch.distributed.all_reduce(most, torch.distributed.ReduceOp.MAX)
        return most.item()

    def gathered_again(self):
        return gathered_again(self.training.network)


class PyTorch(mgcompare.Backend):
    name = "pytorch"
    options = [
        mgcompare.choice("mode", ["eager", "compile", "graph", "ddp", "data_parallel", "fsdp"], "eager", "how it trains"),
        mgcompare.choice("hook", HOOKS, "none", "ddp: how gradients are compressed for the exchange"),
        mgcompare.integer("rank", 1, 1, 64, "ddp with powersgd: rank of the approximation"),
        mgcompare.number("bucket_mb", 25, 0.001, 1000, "ddp and graph: MiB of gradients to one all-reduce"),
        mgcompare.choice("layout", ["auto", "channels_first", "channels_last"], "auto",
                         "of images in memory; auto: the faster one, channels_first if the trial is deterministic")]
    layers = LAYERS
    optimizers = OPTIMIZERS
    device_kinds = ["cpu", "cuda"]
    precisions = {"cpu": ["fp32"], "cuda": ["fp32", "tf32", "bf16"]}

    framework = {"name": "PyTorch", "version": torch.__version__.split("+")[0]}

    def __init__(self, options):
        self.values, self.mode, self.team = options, options["mode"], None
        self.least_devices = 2 if self.mode in SEVERAL else 1
        self.most_devices = 1 if self.mode in ("eager", "compile") else 64
        if self.mode in GPU_MODES or options["hook"] in NCCL_HOOKS:
            self.device_kinds = ["cuda"]
        if options["hook"] != "none":
            self.promise = "approximate"
        several = {"ddp": "replicated", "graph": "replicated", "data_parallel": "data_parallel"}
        if options["hook"] == "none":
            self.like = {"one": "serial", **({"several": several[self.mode]} if self.mode in several else {})}
        if self.mode == "data_parallel":
            self.differs = ["each device has ceil(batch / devices) samples, the last one the rest",
                            "statistics of batch normalisation are those of the first device"]

    def versions(self):
        found = {"torch": torch.__version__}
        if torch.version.cuda:
            found["cuda"] = torch.version.cuda
        return found

    def problems(self):
        found = []
        gpu = torch.cuda.is_available()
        if self.mode == "compile" and VERSION < (2, 0):
            found.append(("mode", f"compile needs PyTorch 2; {torch.__version__} is installed"))
        if self.mode == "fsdp" and VERSION < (2, 6):
            found.append(("mode", f"fsdp needs PyTorch 2.6; {torch.__version__} is installed"))
        if self.mode == "graph" and VERSION < (2, 3):
            found.append(("mode", f"graph needs PyTorch 2.3; {torch.__version__} is installed"))
        if self.mode in GPU_MODES and not gpu:
            found.append(("mode", f"{self.mode} needs a GPU that PyTorch can use; it finds none"))
        if self.mode in ("ddp", "fsdp") and not torch.distributed.is_available():
            found.append(("mode", f"{self.mode} needs torch.distributed, which this PyTorch was built without"))
        if self.values["hook"] != "none" and self.mode != "ddp":
            found.append(("hook", f"{self.values['hook']} is a hook of mode ddp, not of {self.mode}", "invalid"))
        if self.values["hook"] in NCCL_HOOKS and not gpu:
            found.append(("hook", f"{self.values['hook']} needs NCCL and therefore a GPU; PyTorch finds none"))
        return found

    def load(self, trial):
        self._refuse(trial)
        self.trial = trial
        ranks = 1 if self.mode in ("eager", "compile", "data_parallel") else len(trial.devices)
        self.team = Team(Rank, (trial.file, self.mode, os.path.abspath("rendezvous")), ranks)
        self.ranks = ranks
        notes = ["channels-last"] if self.team.first.channels_last else []
        if trial.drops:
            notes.append("differs by design: dropout masks are PyTorch's own")
        return notes + (blas_note() if trial.device_kind == "cpu" else [])

    def _refuse(self, trial):
        types = [layer["type"] for layer in trial.layers]
        if self.mode == "fsdp" and trial.precision == "bf16" and ("gru" in types or "lstm" in types):
            # Autocast converts weights of these layers that are in one piece, which gathered ones are not.
            raise mgcompare.unavailable("fsdp trains gru and lstm in fp32 and tf32 only")
        if self.mode == "data_parallel" and trial.batch_norm == "sync" and "batch_norm" in types:
            raise mgcompare.unavailable("data_parallel has no synchronised batch normalisation: use ddp")

    def begin(self, epoch):
        self.team.call("begin", epoch.request)

    def train(self, epoch):
        return self.team.call("run") / len(epoch.order)

    def weights(self):
        return self.team.call("vector")

    def peak_memory(self):
        return self.team.call("peak")

    def bytes_per_step(self):
        """The mean over devices: of an all-reduce by a ring, of DataParallel's parameters and gradients, which is as much, or of FSDP's
        gathers of parameters and its scatter of gradients."""
        devices = len(self.trial.devices) if self.mode == "data_parallel" else self.ranks
        if devices == 1 or self.values["hook"] == "powersgd":
            return 0
        size = 2 if self.values["hook"] in ("fp16", "bf16") else 4
        again = self.team.first.gathered_again() if self.mode == "fsdp" else 0
        return (2 * self.trial.network["parameters"] + again) * (devices - 1) * size // devices

    def close(self):
        if self.team is not None:
            self.team.close()


if __name__ == "__main__":
    mgcompare.serve(PyTorch)
