"""The network of a trial as a function of JAX.

Images are (sample, height, width, channel) here, which XLA prefers on CPUs and GPUs; tensors are converted when they are read
and written. Where the order of values matters, between an image and a dense layer, the axes are moved back.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from recurrent import by_cudnn, by_scan

LAYERS = ["conv", "max_pool", "average_pool", "dense", "tanh", "relu", "sigmoid", "dropout", "batch_norm", "flatten", "add", "concat",
          "embedding", "one_hot", "global_average_pool", "layer_norm", "gelu", "lrn", "gru", "lstm"]

AXIS = "devices"


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def total(x, several):
    """Sum over all devices; the gradient is that of the sum of the devices' losses."""
    return lax.psum(x, AXIS) if several else x


def _total_forward(x, several):
    return total(x, several), None


def _total_backward(several, _, slope):
    return (lax.psum(slope, AXIS) if several else slope,)


total.defvjp(_total_forward, _total_backward)


class Context:
    """Of one pass: `weights` of the samples (None: all count), number of samples of all devices, random key, the precision of cuDNN's
    LSTM (None: it is not used)."""

    def __init__(self, weights, count, key, several, sync, half, cudnn):
        self.weights, self.count, self.key, self.several, self.sync, self.half = weights, count, key, several, sync, half
        self.cudnn = cudnn

    def narrow(self, *arrays):
        """As inputs of a matrix product or convolution."""
        return [array.astype(jnp.bfloat16) for array in arrays] if self.half else arrays


def values_in_order(x):
    """One row for each sample, in the order channels, height, width."""
    return (x.transpose(0, 3, 1, 2) if x.ndim == 4 else x).reshape(len(x), -1)


def convolution(layer, tensors, x, context):
    x, weights = context.narrow(x, tensors["weights"])
    out = lax.conv_general_dilated(x, weights, tuple(layer["stride"]), [(pad, pad) for pad in layer["padding"]],
                                   dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return out + tensors["bias"].astype(out.dtype) if "bias" in tensors else out


def dense(layer, tensors, x, context):
    if not layer.get("per_position"):
        x = values_in_order(x)
    x, weights = context.narrow(x, tensors["weights"])
    out = x @ weights.T
    return out + tensors["bias"].astype(out.dtype) if "bias" in tensors else out


def pool(layer, x, average):
    (tall, wide), stride, padding = layer["kernel"], layer["stride"], layer["padding"]
    if layer["kernel"] == stride and not any(padding):
        # The windows are tiles. The gradient of a reduction over two axes is much faster than that of reduce_window, which is a scatter.
        # Equal largest values share it.
        samples, height, width, channels = x.shape
        rows, columns = height // tall, width // wide
        tiles = x[:, :rows * tall, :columns * wide].reshape(samples, rows, tall, columns, wide, channels)
        return tiles.mean((2, 4)) if average else tiles.max((2, 4))
    windows = (1, tall, wide, 1), (1, *stride, 1), [(0, 0), *[(pad, pad) for pad in padding], (0, 0)]
    if average:
        return lax.reduce_window(x, np.array(0, x.dtype), lax.add, *windows) / (tall * wide)
    return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, *windows)


def batch_norm(layer, tensors, running, x, context):
    """The output, and the new running mean and variance."""
    kind, x = x.dtype, x.astype(jnp.float32)
    channel = x.ndim - 1 if x.ndim == 4 else 1
    axes = tuple(axis for axis in range(x.ndim) if axis != channel)
    shape = [-1 if axis == channel else 1 for axis in range(x.ndim)]
    area = np.prod([x.shape[axis] for axis in axes if axis != 0])
    weights = None if context.weights is None else context.weights.reshape([-1] + [1] * (x.ndim - 1))

    def add_up(values):
        sums = (values if weights is None else values * weights).sum(axes)
        return total(sums, context.several and context.sync)

    if context.sync:
        count = context.count * area
    else:
        count = (len(x) if weights is None else context.weights.sum()) * area
    divisor = jnp.maximum(count, 1)
    mean = add_up(x) / divisor
    centred = x - mean.reshape(shape)
    variance = add_up(centred * centred) / divisor
    keep = jnp.where(count > 0, layer["momentum"], 1.0)  # a device without samples learns nothing
    running = {"mean": keep * running["mean"] + (1 - keep) * lax.stop_gradient(mean),
               "variance": keep * running["variance"] + (1 - keep) * lax.stop_gradient(variance)}
    scale = tensors["weights"] * lax.rsqrt(variance + layer["epsilon"])
    return (centred * scale.reshape(shape) + tensors["bias"].reshape(shape)).astype(kind), running


def layer_norm(layer, tensors, x):
    kind, x = x.dtype, x.astype(jnp.float32)
    axes = (1, 2, 3) if x.ndim == 4 else (x.ndim - 1,)
    centred = x - x.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    return (centred * lax.rsqrt(variance + layer["epsilon"]) * tensors["weights"] + tensors["bias"]).astype(kind)


def response_norm(layer, x):
    radius = layer["radius"]
    kind, x = x.dtype, x.astype(jnp.float32)
    sums = lax.reduce_window(x * x, np.float32(0), lax.add, (1, 1, 1, 2 * radius + 1), (1, 1, 1, 1), [(0, 0)] * 3 + [(radius, radius)])
    return (x * (layer["offset"] + layer["alpha"] * sums) ** -layer["beta"]).astype(kind)


def recurrent(layer, tensors, x, context):
    """All states, or the last one."""
    if layer["type"] == "lstm" and context.cudnn is not None:
        states = by_cudnn(layer, tensors, x, context.cudnn)
    else:
        states = by_scan(layer, tensors, x, context.narrow)
    return states if layer.get("return_sequences") else states[:, -1]


def dropout(layer, index, x, context):
    keep = 1 - layer["rate"]
    mask = jax.random.bernoulli(jax.random.fold_in(context.key, index), keep, x.shape)
    return jnp.where(mask, x / keep, 0).astype(x.dtype)


SIMPLE = {"tanh": jnp.tanh, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "flatten": values_in_order,
          "gelu": lambda x: jax.nn.gelu(x, approximate=False),
          "global_average_pool": lambda x: x.mean((1, 2) if x.ndim == 4 else 1)}


def run_layer(layer, index, tensors, buffers, inputs, context):
    """The layer's output; replaces its running statistics in `buffers`."""
    kind, x = layer["type"], inputs[0]
    if kind in SIMPLE:
        return SIMPLE[kind](x)
    if kind == "conv":
        return convolution(layer, tensors, x, context)
    if kind == "dense":
        return dense(layer, tensors, x, context)
    if kind in ("max_pool", "average_pool"):
        return pool(layer, x, kind == "average_pool")
    if kind == "batch_norm":
        out, buffers[index] = batch_norm(layer, tensors, buffers[index], x, context)
        return out
    if kind == "layer_norm":
        return layer_norm(layer, tensors, x)
    if kind == "lrn":
        return response_norm(layer, x)
    if kind in ("gru", "lstm"):
        return recurrent(layer, tensors, x, context)
    if kind == "dropout":
        return dropout(layer, index, x, context)
    if kind == "add":
        return functools.reduce(jnp.add, inputs)
    if kind == "concat":
        return jnp.concatenate(inputs, -1 if x.ndim == 4 else 1)
    if kind == "embedding":
        return tensors["weights"].at[x].get(mode="promise_in_bounds")
    if kind == "one_hot":
        return jax.nn.one_hot(x, layer["output_shape"][1], dtype=jnp.float32)
    raise ValueError(f"no layer {kind}")


def logits(layers, parameters, buffers, x, context):
    """`parameters` and `buffers`: dictionaries from the index of a layer to its tensors. Returns logits and new buffers."""
    outputs, buffers = [], dict(buffers)
    for index, layer in enumerate(layers):
        inputs = [x if k < 0 else outputs[k] for k in layer["inputs"]]
        outputs.append(run_layer(layer, index, parameters.get(index, {}), buffers, inputs, context))
    return outputs[-1].astype(jnp.float32), buffers


def to_jax(layer, name, values):
    """A tensor of the vector as it is used here."""
    return values.transpose(2, 3, 1, 0) if layer["type"] == "conv" and name == "weights" else values


def from_jax(layer, name, values):
    return values.transpose(3, 2, 0, 1) if layer["type"] == "conv" and name == "weights" else values
