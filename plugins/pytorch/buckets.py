"""The mean of all gradients over the ranks, in buckets whose all-reduces overlap with the backward pass, as those of DDP do.

A CUDA graph can record all of it: NCCL's own stream joins the recording where an all-reduce starts, and leaves it where its end is awaited.
"""
import functools

import torch
import torch.distributed as dist


class _Bucket:
    """One vector for the gradients of some parameters, so that one all-reduce suffices. Fused updates want the strides of the parameters."""

    def __init__(self, tensors):
        self.flat, self.views, begin = torch.zeros(sum(each.numel() for each in tensors), device=tensors[0].device), [], 0
        for tensor in tensors:
            self.views.append(self.flat[begin:begin + tensor.numel()].as_strided(tensor.shape, tensor.stride()))
            begin += tensor.numel()
        self.gradients = [None] * len(tensors)

    def is_complete(self):
        return all(gradient is not None for gradient in self.gradients)

    def exchange(self, gradients, overlapped):
        """Copies the gradients and starts the all-reduce. Returns what has to be awaited, if it is overlapped."""
        torch._foreach_copy_(self.views, gradients)
        return dist.all_reduce(self.flat, op=dist.ReduceOp.AVG, async_op=overlapped)


def _divided(tensors, limit):
    """Groups of tensors of about `limit` bytes, from the last to the first, which is roughly the order of the backward pass."""
    groups, size = [[]], 0
    for tensor in reversed(tensors):
        if size >= limit:
            groups.append([])
            size = 0
        groups[-1].insert(0, tensor)
        size += tensor.numel() * tensor.element_size()
    return groups


class Buckets:
    """`limit`: bytes of gradients at which a bucket is full."""

    def __init__(self, tensors, limit):
        self.tensors, self.running = tensors, []
        groups = _divided(tensors, limit)
        self.buckets = [_Bucket(group) for group in groups]
        self.views = [view for bucket in reversed(self.buckets) for view in bucket.views]
        if len(self.buckets) == 1:
            return  # nothing to overlap with
        for bucket, group in zip(self.buckets, groups):
            for place, tensor in enumerate(group):
                tensor.register_hook(functools.partial(self._arrived, bucket, place))

    def _arrived(self, bucket, place, gradient):
        """Called in the backward pass, on its stream, for each parameter."""
        bucket.gradients[place] = gradient
        # Buckets start in their own order: all ranks must agree on it.
        while len(self.running) < len(self.buckets) and self.buckets[len(self.running)].is_complete():
            full = self.buckets[len(self.running)]
            self.running.append(full.exchange(full.gradients, True))
            full.gradients = [None] * len(full.gradients)

    def mean(self, loss):
        """The gradients of the mean over the ranks of `loss`, in the order of the tensors."""
        self.running = []
        gradients = torch.autograd.grad(loss, self.tensors)
        if len(self.buckets) == 1:
            self.buckets[0].exchange(gradients, False)
            return self.views
        if len(self.running) < len(self.buckets):
            raise RuntimeError(f"{len(self.buckets) - len(self.running)} buckets of gradients were not exchanged")
        for work in self.running:
            work.wait()  # on the device, not here
        return self.views
