"""The wrappers of PyTorch around a network on several devices."""
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

HOOKS = ["none", "fp16", "bf16", "powersgd"]


def distributed(network, device, options):
    """DistributedDataParallel, and a function that restores the initial state of its hook, or None.

    Statistics of batch normalisation stay local, as in mgcompare; the mean over ranks is evaluated.
    """
    model = torch.nn.parallel.DistributedDataParallel(
        network, device_ids=[device.index] if device.type == "cuda" else None, bucket_cap_mb=options["bucket_mb"],
        broadcast_buffers=False, gradient_as_bucket_view=True, static_graph=True)
    hook = options["hook"]
    if hook in ("fp16", "bf16"):
        model.register_comm_hook(dist.group.WORLD, default_hooks.fp16_compress_hook if hook == "fp16" else default_hooks.bf16_compress_hook)
        return model, None
    if hook != "powersgd":
        return model, None
    state = powerSGD_hook.PowerSGDState(dist.group.WORLD, matrix_approximation_rank=options["rank"], start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)

    def forget():
        state.error_dict.clear()
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()
        state.iter = 0

    return model, forget


def _groups(network):
    """Layers whose parameters FSDP gathers by themselves, and the numbers of these."""
    sizes = [(layer, sum(parameter.numel() for parameter in layer.parameters())) for layer in network.layers]
    return [(layer, size) for layer, size in sizes if size >= 1 << 20]


def sharded(network):
    """Fully sharded parameters, gradients and optimiser state. Each layer with many parameters is a group of its own, so that
    its exchange overlaps with the computation of others."""
    from torch.distributed.fsdp import fully_shard
    for layer, _ in _groups(network):
        fully_shard(layer)
    return fully_shard(network)


def gathered_again(network):
    """Parameters that the backward pass under FSDP gathers a second time: all but those of the whole network's own group."""
    return sum(size for _, size in _groups(network))


class Parallel(torch.nn.DataParallel):
    """DataParallel with one thread for each device that stays. PyTorch's own threads are new in each step, and its plans for
    convolutions belong to threads: each step would search for them again."""

    def __init__(self, network, devices, half):
        super().__init__(network, devices)
        self.half = half
        self.threads = [ThreadPoolExecutor(1) for _ in devices]

    def parallel_apply(self, replicas, inputs, kwargs):
        def apply(replica, values, named, device, stream):
            # Device, stream and autocast belong to threads.
            with torch.cuda.device(device), torch.cuda.stream(stream), torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.half):
                return replica(*values, **named)

        streams = [torch.cuda.current_stream(device) for device in self.device_ids]
        parts = zip(self.threads, replicas, inputs, kwargs, self.device_ids, streams)
        running = [thread.submit(apply, *part) for thread, *part in parts]
        return [each.result() for each in running]
