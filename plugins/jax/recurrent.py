"""GRU and LSTM: a scan over the positions, or cuDNN's LSTM where it computes the same."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

try:
    from jax.experimental import rnn
except ImportError:
    rnn = None

NAMES = "weights", "recurrent", "bias", "recurrent_bias"


def by_scan(layer, tensors, x, narrow):
    """All states. The products with the inputs of all positions are one matrix product. `narrow`: what precedes a product."""
    units = layer["units"]
    x, weights, own = narrow(x, tensors["weights"], tensors["recurrent"])
    products = (x @ weights.T).astype(jnp.float32) + tensors["bias"]
    start = jnp.zeros((len(x), units), jnp.float32)

    def of_state(state):
        state, = narrow(state)
        return (state @ own.T).astype(jnp.float32) + tensors["recurrent_bias"]

    def gru(state, product):
        gates = of_state(state)
        reset, update = jnp.split(jax.nn.sigmoid(product[:, :2 * units] + gates[:, :2 * units]), 2, 1)
        candidate = jnp.tanh(product[:, 2 * units:] + reset * gates[:, 2 * units:])
        state = (1 - update) * candidate + update * state
        return state, state

    def lstm(states, product):
        state, memory = states
        gates = product + of_state(state)
        inside, forget, candidate, out = jnp.split(gates, 4, 1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(inside) * jnp.tanh(candidate)
        state = jax.nn.sigmoid(out) * jnp.tanh(memory)
        return (state, memory), state

    cell, begin = (gru, start) if layer["type"] == "gru" else (lstm, (start, start))
    _, states = lax.scan(cell, begin, products.swapaxes(0, 1), unroll=min(4, x.shape[1]))
    return states.swapaxes(0, 1)


def by_cudnn(layer, tensors, x, precision):
    """All states of an LSTM. cuDNN has the gates in PyTorch's order, too, and two biases; its tensors follow one another in one vector."""
    samples, positions, inputs = x.shape
    start = jnp.zeros((1, samples, layer["units"]), x.dtype)
    lengths = jnp.full(samples, positions, jnp.int32)
    weights = jnp.concatenate([tensors[name].ravel() for name in NAMES])
    states, _, _ = rnn.lstm(x, start, start, weights, lengths, inputs, layer["units"], 1, 0.0, False, precision)
    return states


def cudnn_precision(trial, device):
    """That of cuDNN's LSTM in this trial. None if a scan takes its place: on CPUs, in bf16, which JAX does not offer, in deterministic
    trials, which cuDNN does not promise, and if a small LSTM shows that it does not work here."""
    if rnn is None or trial.device_kind != "cuda" or trial.precision == "bf16" or trial.deterministic:
        return None
    if all(layer["type"] != "lstm" for layer in trial.layers):
        return None
    precision = lax.Precision.HIGHEST if trial.precision == "fp32" else lax.Precision.HIGH
    try:
        return precision if _equals_scan(precision, device) else None
    except Exception as error:  # JAX promises nothing of what is experimental
        print(f"LSTM by a scan, not by cuDNN: {type(error).__name__}: {error}")
        return None


def _equals_scan(precision, device):
    """Whether states and gradients of a small LSTM are those of the scan; TF32 has three digits."""
    random, units, inputs = np.random.default_rng(1), 6, 5
    shapes = dict(zip(NAMES, ((4 * units, inputs), (4 * units, units), (4 * units,), (4 * units,))))
    layer = {"type": "lstm", "units": units}
    tensors = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    tensors, x = jax.device_put((tensors, random.normal(0, 1, (3, 4, inputs)).astype(np.float32)), device)

    def results(run):
        def loss(tensors, x):
            states = run(tensors, x)
            return (states * jnp.cos(jnp.arange(states.size, dtype=jnp.float32)).reshape(states.shape)).sum(), states

        return jax.jit(jax.grad(loss, (0, 1), has_aux=True))(tensors, x)

    one = results(lambda tensors, x: by_cudnn(layer, tensors, x, precision))
    other = results(lambda tensors, x: by_scan(layer, tensors, x, lambda *arrays: arrays))
    return all(np.allclose(a, b, rtol=1e-2, atol=1e-2) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other)))
