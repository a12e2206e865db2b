"""A training whose epoch is a few compiled parts, each a scan over steps. All arrays stay on the devices."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import mgcompare_backend as mgcompare
from network import AXIS, Context, from_jax, logits, to_jax
from recurrent import cudnn_precision
from updates import states_of, update

# Samples are stored prepared, as float32, if they then need at most this many bytes on each device.
PREPARED_BYTES = 1 << 31
# The batches of a scan are gathered at once if they need at most this many bytes on each device.
GATHERED_BYTES = 1 << 29
# Steps of small networks on GPUs are short: their kernels take less time than what a scan does between two steps, and the start of a scan
# takes as long as several steps. Those of large networks are not; they compile slowly, and each scan also runs before the clock starts.
MOST_LAYERS_OF_SMALL = 24
UNROLLED_STEPS = 4
SCAN_STEPS = {"cpu": 8, "cuda": 128, "small": 1024}

EVERYWHERE, DIVIDED = PartitionSpec(), PartitionSpec(AXIS)


def seen(values, views, fill):
    """Images (sample, height, width, channel), shifted down and to the right, then mirrored."""
    count, height, width, _ = values.shape
    views = views.astype(jnp.int32)
    row, column = jnp.arange(height), jnp.arange(width)
    rows = row - views[:, :1]
    columns = jnp.where(views[:, 2:] != 0, width - 1 - column, column) - views[:, 1:2]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    image = jnp.arange(count)[:, None, None]
    taken = values[image, rows.clip(0, height - 1)[:, :, None], columns.clip(0, width - 1)[:, None, :]]
    return jnp.where(inside[..., None], taken, fill.astype(taken.dtype))


class Training:
    """`devices`: those of JAX. With several, each has a share of every batch, and the gradients are summed.

    `scan_steps`: of a scan, at most; 0 chooses.
    """

    def __init__(self, trial, devices, scan_steps=0):
        self.trial, self.devices = trial, len(devices)
        small = trial.device_kind == "cuda" and len(trial.layers) <= MOST_LAYERS_OF_SMALL
        self.scan_steps = scan_steps or SCAN_STEPS["small" if small else trial.device_kind]
        self.unrolled = UNROLLED_STEPS if small else 1
        self.layers, self.several = trial.layers, len(devices) > 1
        self.cudnn = cudnn_precision(trial, devices[0])
        self.places = trial.parts()
        self.mesh = Mesh(np.array(devices), (AXIS,), axis_types=(AxisType.Auto,))
        self._store_samples()
        self.state = self._initial_state()
        self.warm = set()
        # `counts` and the presence of views choose the program; the state's memory is reused. Equal placement of what goes in and what
        # comes out: otherwise the second call would compile again.
        placement = jax.tree.map(lambda tensor: tensor.sharding, self.state), NamedSharding(self.mesh, DIVIDED)
        self.run_part = jax.jit(self._train_on_devices, static_argnames=("counts",), donate_argnums=(0,), out_shardings=placement)

    def _put(self, tree, spec=EVERYWHERE):
        return jax.device_put(tree, NamedSharding(self.mesh, spec))

    def _store_samples(self):
        trial = self.trial
        image = len(trial.network["sample_shape"]) == 3
        self.factors = self.fill = None
        if trial.tokens:
            values = np.asarray(trial.values, np.int32)
        else:
            scale, mean, inverse_std = trial.factors()
            prepared = 4 * trial.values.size <= PREPARED_BYTES
            values = trial.inputs(slice(None)) if prepared else np.asarray(trial.values)
            if not prepared and values.dtype == np.int64:
                values = values.astype(np.float32)
            if image:
                values = values.transpose(0, 2, 3, 1)
                mean, inverse_std = mean.reshape(-1), inverse_std.reshape(-1)
            self.factors = None if prepared else (scale, mean, inverse_std)
            # What moves in is the prepared value of 0.
            self.fill = -mean * inverse_std if prepared else np.zeros_like(mean)
        self.values = self._put(np.ascontiguousarray(values))
        self.targets = self._put(np.asarray(trial.targets, np.int32).reshape(len(trial.targets), -1))

    def _initial_state(self):
        parameters, buffers = {}, {}
        for begin, shape, _, index, name in self.places:
            values = self.trial.parameters[begin:begin + int(np.prod(shape))].reshape(shape)
            parameters.setdefault(index, {})[name] = np.ascontiguousarray(to_jax(self.layers[index], name, values))
        for index, layer in enumerate(self.layers):
            for name, place in layer.get("buffers", {}).items():
                values = self.trial.buffers[place["begin"]:place["begin"] + int(np.prod(place["shape"]))]
                buffers.setdefault(index, {})[name] = np.tile(values, (self.devices, 1))  # each device has its own
        states = states_of(self.trial.optimizer)
        optimizer = jax.tree.map(lambda tensor: tuple(np.zeros_like(tensor) for _ in range(states)), parameters)
        # The seed is an input of the program, so that repeats find it compiled.
        return self._put_state({"parameters": parameters, "optimizer": optimizer, "count": np.int32(0),
                                "seed": np.uint32(self.trial.seed & 0xFFFFFFFF), "buffers": buffers})

    def _put_state(self, state):
        rest = {name: tree for name, tree in state.items() if name != "buffers"}
        return {**self._put(rest), "buffers": self._put(state["buffers"], DIVIDED)}

    # Compiled

    def _loss(self, parameters, buffers, inputs, targets, context):
        """Share of this device in the mean over the global batch; the new statistics and the losses of its samples."""
        out, buffers = logits(self.layers, parameters, buffers, inputs, context)
        out = out.reshape(len(inputs), -1, out.shape[-1])
        right = jnp.take_along_axis(out, targets[..., None], -1)[..., 0]
        losses = jax.nn.logsumexp(out, -1) - right
        if context.weights is not None:
            losses = losses * context.weights[:, None]
        return losses.sum() / (context.count * targets.shape[1]), (buffers, losses.mean(-1))

    def _batch(self, values, targets, order, views):
        inputs = values.at[order].get(mode="promise_in_bounds")
        if views is not None:
            inputs = seen(inputs, views, self.fill)
        if self.factors is not None:
            scale, mean, inverse_std = self.factors
            inputs = (inputs.astype(jnp.float32) * scale - mean) * inverse_std
        return inputs, targets.at[order].get(mode="promise_in_bounds")

    def _scan(self, state, values, targets, order, rates, views, count):
        """Steps of `count` samples on one device: the new state and the sum of their losses. `order` is [step, own sample]."""
        device = lax.axis_index(AXIS) if self.several else 0
        shares = [end - begin for begin, end in (mgcompare.share(count, k, self.devices) for k in range(self.devices))]
        weights = None
        if min(shares) != max(shares):
            weights = (jnp.arange(order.shape[-1]) < jnp.array(shares)[device]).astype(jnp.float32)
        size = values.dtype.itemsize * int(np.prod(values.shape[1:]))
        at_once = views is None and self.factors is None and order.size * size <= GATHERED_BYTES
        batches = self._batch(values, targets, order, None) if at_once else None
        key, first = jax.random.key(state["seed"]), state["count"]
        half, sync = self.trial.precision == "bf16", self.trial.batch_norm == "sync"

        def step(carry, now):
            # Otherwise XLA joins the updates of unrolled steps, and each of them reads the gradients of all steps before it.
            tensors, losses = lax.optimization_barrier(carry)
            number, order, rate, views, batch = now
            own = jax.random.fold_in(jax.random.fold_in(key, first + number), device)
            inputs, labels = self._batch(values, targets, order, views) if batch is None else batch
            context = Context(weights, count, own, self.several, sync, half, self.cudnn)
            buffers = jax.tree.map(lambda each: each[0], tensors["buffers"])
            slopes, (buffers, own_losses) = jax.grad(self._loss, has_aux=True)(tensors["parameters"], buffers, inputs, labels, context)
            if self.several:
                slopes = lax.psum(slopes, AXIS)
            tensors = self._updated(tensors, slopes, rate, first + number + 1)
            tensors["buffers"] = jax.tree.map(lambda each: each[None], buffers)
            return (tensors, losses + own_losses), None  # by sample: one sum after the scan instead of one in each step

        steps = len(rates)
        tensors = {name: tree for name, tree in state.items() if name not in ("count", "seed")}
        scanned = jnp.arange(steps), order, rates, views, batches
        (tensors, losses), _ = lax.scan(step, (tensors, jnp.zeros(order.shape[-1])), scanned, unroll=min(self.unrolled, steps))
        return {**tensors, "count": first + steps, "seed": state["seed"]}, losses.sum()

    def _updated(self, state, slopes, rate, count):
        parameters = {index: dict(tensors) for index, tensors in state["parameters"].items()}
        optimizer = {index: dict(tensors) for index, tensors in state["optimizer"].items()}
        for _, _, decay, index, name in self.places:
            parameters[index][name], optimizer[index][name] = update(
                self.trial.optimizer, decay, parameters[index][name], slopes[index][name], optimizer[index][name], rate, count)
        return {"parameters": parameters, "optimizer": optimizer}

    def _train(self, state, values, targets, part, counts):
        """The scans of a part of an epoch on one device, whose axis of orders, views and statistics has the length 1."""
        losses = jnp.zeros(1)
        for (order, rates, views), count in zip(part, counts):
            state, loss = self._scan(state, values, targets, order[:, 0], rates, None if views is None else views[:, 0], count)
            losses += loss
        return state, losses

    def _train_on_devices(self, state, values, targets, part, *, counts):
        def train(*arrays):
            return self._train(*arrays, counts)

        if not self.several:
            return train(state, values, targets, part)
        states = {"parameters": EVERYWHERE, "optimizer": EVERYWHERE, "count": EVERYWHERE, "seed": EVERYWHERE, "buffers": DIVIDED}
        by_step = PartitionSpec(None, AXIS)
        scans = ((by_step, EVERYWHERE, by_step),) * len(counts)
        divided = jax.shard_map(train, mesh=self.mesh, in_specs=(states, EVERYWHERE, EVERYWHERE, scans), out_specs=(states, DIVIDED),
                                check_vma=False)
        return divided(state, values, targets, part)

    # Epochs

    def begin(self, order, views, rates):
        """Copies order, rates and views to the devices, in parts; compiles parts that no epoch has had.

        A part is a scan over full batches. The last one also has the smaller batch at the end of the epoch.
        """
        batch = self.trial.batch
        full, rest = divmod(len(order), batch)
        steps = -(-full // max(1, -(-full // self.scan_steps)))  # parts of about equal length
        parts = [[(range(at, min(at + steps, full)), batch)] for at in range(0, full, steps or 1)] or [[]]
        if rest:
            parts[-1].append((range(full, full + 1), rest))
        self.parts = [self._part(part, order, views, rates) for part in parts]
        for part in self.parts:
            kind = (*((len(rates), views is None) for _, rates, views in part[0]), part[1])
            if kind not in self.warm:
                self.warm.add(kind)
                self._try(part)
        jax.block_until_ready(self.parts)

    def _part(self, scans, order, views, rates):
        """The arrays of each scan on the devices, and the samples of their steps."""
        arrays = []
        for steps, count in scans:
            positions = np.stack([self._positions(step * self.trial.batch, count) for step in steps])
            arrays.append((self._put(order[positions].astype(np.int32), PartitionSpec(None, AXIS)),
                           self._put(np.asarray(rates[steps.start:steps.stop])),
                           None if views is None else self._put(views[positions], PartitionSpec(None, AXIS))))
        return tuple(arrays), tuple(count for _, count in scans)

    def _try(self, part):
        """Compiles and runs a part on a copy of the state; on GPUs once more, because the driver settles with the first run."""
        state = self._put_state(jax.device_get(self.state))
        for _ in range(2 if self.trial.device_kind == "cuda" else 1):
            state, losses = self._call(state, part)
        jax.block_until_ready((state, losses))

    def _positions(self, start, count):
        """Of one step, a row for each device; missing samples are repeated and do not count."""
        shares = [mgcompare.share(count, device, self.devices) for device in range(self.devices)]
        width = max(end - begin for begin, end in shares)
        return np.stack([start + np.minimum(np.arange(begin, begin + width), count - 1) for begin, _ in shares])

    def _call(self, state, part):
        arrays, counts = part
        return self.run_part(state, self.values, self.targets, arrays, counts=counts)

    def run(self):
        """The sum over all samples of their losses, after all devices have finished."""
        losses = []
        for part in self.parts:
            self.state, loss = self._call(self.state, part)
            loss.copy_to_host_async()  # starts when the part ends, not when it is asked for
            losses.append(loss)
        total = float(sum(np.asarray(loss, np.float64).sum() for loss in jax.device_get(losses)))
        jax.block_until_ready(self.state)
        return total

    def warm_up(self):
        """Compiles and runs the parts of an epoch over all samples, or over its steps if it has fewer. The state stays the initial one."""
        samples = min(len(self.trial.targets), self.trial.steps_per_epoch * self.trial.batch)
        rates = np.zeros(-(-samples // self.trial.batch), np.float32)
        views = np.zeros((samples, 3), np.int8) if self.trial.augmented else None
        self.begin(np.arange(samples, dtype=np.uint32), views, rates)

    def vector(self):
        """Parameters and the mean of the devices' statistics, in the order of the vector."""
        state = jax.device_get({"parameters": self.state["parameters"], "buffers": self.state["buffers"]})
        parts = [from_jax(self.layers[index], name, state["parameters"][index][name]) for _, _, _, index, name in self.places]
        statistics = [(place["begin"], state["buffers"][index][name].mean(0)) for index, layer in enumerate(self.layers)
                      for name, place in layer.get("buffers", {}).items()]
        return parts + [values for _, values in sorted(statistics, key=lambda each: each[0])]
