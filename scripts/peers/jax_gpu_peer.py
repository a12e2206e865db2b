"""The LeNet training of `scripts/bench --gpu` in JAX: many steps as one compiled scan, gradients averaged by psum.

Usage: jax_gpu_peer.py DEVICES:BATCH_PER_DEVICE ... Prints one line "DEVICES:BATCH,samples per second" for each: the median
of three passes of 200 steps over random images that are stored on every device. Matrix products use TF32, JAX's default
on these GPUs.
"""
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SAMPLES, STEPS = 60000, 200
RATE, MOMENTUM, DECAY = 0.01, 0.9, 1e-4


def initial(key):
    """Convolutions as (height, width, in, out), dense layers as (in, out)."""
    shapes = {"conv1": (5, 5, 1, 20), "conv2": (5, 5, 20, 50), "dense1": (800, 500), "dense2": (500, 10)}
    parameters = {}
    for name, each in zip(shapes, jax.random.split(key, len(shapes))):
        shape = shapes[name]
        fan_in = int(np.prod(shape[:-1]))
        parameters[name] = (jax.random.normal(each, shape, jnp.float32) / fan_in ** 0.5, jnp.zeros(shape[-1]))
    return parameters


def convolve(x, layer):
    out = lax.conv_general_dilated(x, layer[0], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    out = jnp.tanh(out + layer[1])
    return lax.reduce_window(out, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def loss(parameters, images, labels):
    x = convolve(convolve(images, parameters["conv1"]), parameters["conv2"])
    x = jnp.tanh(x.reshape(x.shape[0], -1) @ parameters["dense1"][0] + parameters["dense1"][1])
    logits = x @ parameters["dense2"][0] + parameters["dense2"][1]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])


def samples_per_second(devices, batch):
    mesh = Mesh(np.array(jax.devices()[:devices]), ("rank",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    random = np.random.default_rng(0)
    images = jax.device_put(random.random((SAMPLES, 28, 28, 1), np.float32), everywhere)
    labels = jax.device_put(random.integers(0, 10, SAMPLES), everywhere)
    weights = jax.device_put(initial(jax.random.PRNGKey(0)), everywhere)
    speed = jax.tree.map(jnp.zeros_like, weights)

    def steps(weights, speed, images, labels):
        def step(state, number):
            weights, speed = state
            begin = (number * devices + lax.axis_index("rank")) * batch % (SAMPLES - batch)
            gradient = jax.grad(loss)(weights, lax.dynamic_slice_in_dim(images, begin, batch),
                                      lax.dynamic_slice_in_dim(labels, begin, batch))
            if devices > 1:
                gradient = jax.tree.map(lambda g: lax.pmean(g, "rank"), gradient)
            speed = jax.tree.map(lambda v, g, w: MOMENTUM * v + g + DECAY * w, speed, gradient, weights)
            return (jax.tree.map(lambda w, v: w - RATE * v, weights, speed), speed), None

        return lax.scan(step, (weights, speed), jnp.arange(STEPS))[0]

    own = PartitionSpec()
    run = jax.jit(jax.shard_map(steps, mesh=mesh, in_specs=(own,) * 4, out_specs=(own, own), check_vma=False))
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        weights, speed = run(weights, speed, images, labels)
        jax.block_until_ready(weights)
        seconds.append(time.perf_counter() - start)
    return STEPS * batch * devices / statistics.median(seconds[1:])


for place in sys.argv[1:]:
    count, share = map(int, place.split(":"))
    print(f"{place},{samples_per_second(count, share):.0f}", flush=True)
