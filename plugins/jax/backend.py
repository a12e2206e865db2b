"""JAX as a backend of mgcompare: options and what this machine can do."""
import os
import resource
import sys

import mgcompare_backend as mgcompare

# mgcompare evaluates on the same GPUs, so JAX must not take most of their memory at its start.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402

# Before installed modules, which may have such common names as these.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from network import LAYERS  # noqa: E402
from training import Training  # noqa: E402
from updates import OPTIMIZERS  # noqa: E402

VERSION = tuple(int(each) for each in jax.__version__.split(".")[:2])


def add_flags(*flags):
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()


def keep_programs(folder):
    """Programs that an earlier trial of the run has compiled are loaded from this folder."""
    jax.config.update("jax_compilation_cache_dir", os.path.join(folder, "programs"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def devices_of(trial):
    """Before JAX has looked at its devices. On CPUs each device has one thread on a core of its own."""
    if trial.deterministic:
        add_flags("--xla_gpu_deterministic_ops=true")
    if trial.device_kind == "cuda":
        found = jax.devices("cuda")
        return [found[index] for index in trial.devices]
    count = len(trial.devices)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    add_flags("--xla_cpu_multi_thread_eigen=false")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)
    return jax.devices("cpu")[:count]


class Jax(mgcompare.Backend):
    name = "jax"
    options = [mgcompare.choice("mode", ["scan", "shard_map"], "scan", "one device, or several with a share of each batch"),
               mgcompare.integer("steps", 0, 0, 1000000, "of one compiled scan, at most; 0: 8 on CPUs, 128 on GPUs, 1024 of small networks")]
    layers = LAYERS
    optimizers = OPTIMIZERS
    device_kinds = ["cpu", "cuda"]
    precisions = {"cpu": ["fp32"], "cuda": ["fp32", "tf32", "bf16"]}

    framework = {"name": "JAX", "version": jax.__version__}
    like = {"one": "serial", "several": "replicated"}

    def __init__(self, options):
        self.values = options
        several = options["mode"] == "shard_map"
        self.least_devices, self.most_devices = (2, 64) if several else (1, 1)

    def versions(self):
        return {"jax": jax.__version__}

    def problems(self):
        # jax.shard_map and jax_num_cpu_devices.
        return [] if VERSION >= (0, 8) else [("", f"jax needs JAX 0.8; {jax.__version__} is installed")]

    def load(self, trial):
        self.trial = trial
        # On GPUs JAX's default is TF32.
        jax.config.update("jax_default_matmul_precision", "highest" if trial.precision == "fp32" else "default")
        keep_programs(trial.json["cache"])
        try:
            self.devices = devices_of(trial)
        except (RuntimeError, IndexError) as error:
            raise mgcompare.unavailable(f"JAX does not find these devices ({trial.device_kind} {trial.devices}): {error}") from error
        self.training = Training(trial, self.devices, self.values["steps"])
        self.training.warm_up()
        return ["differs by design: dropout masks are JAX's own"] if trial.drops else []

    def begin(self, epoch):
        self.training.begin(epoch.order, epoch.views, epoch.rates)

    def train(self, epoch):
        return self.training.run() / len(epoch.order)

    def weights(self):
        return self.training.vector()

    def peak_memory(self):
        if self.trial.device_kind == "cpu":
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return max((device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in self.devices)

    def bytes_per_step(self):
        """What a device sends in an all-reduce by a ring."""
        count = len(self.devices)
        return 2 * (count - 1) * self.trial.network["parameters"] * 4 // count


if __name__ == "__main__":
    mgcompare.serve(Jax)
