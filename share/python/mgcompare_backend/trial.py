"""What a backend trains: the trial, its data and its epochs."""
import hashlib
import json
import os
import types

import numpy as np

from .channel import Problem


def share(count, device, devices):
    """The part of `count` positions that belongs to a device, as (begin, end): equal shares, the first ones one more."""
    each, extra = divmod(count, devices)
    begin = device * each + min(device, extra)
    return begin, begin + each + (device < extra)


class Epoch:
    """`number`; `order`: the sample at each position; `rates`: of each step; `views`: (down, right, mirrored) or None."""

    def __init__(self, trial, request):
        self.trial, self.number, self.request = trial, request["epoch"], request
        self.order = np.fromfile(request["order"], np.uint32)
        self.rates = np.fromfile(request["rates"], np.float32)
        self.views = np.fromfile(request["views"], np.int8).reshape(-1, 3) if request.get("views") else None
        self.weights = request["weights"]
        self.taken = 0  # the farthest step that steps() has given
        if len(self.rates) != -(-len(self.order) // trial.batch):
            raise Problem(f"epoch {self.number} has {len(self.order)} positions and {len(self.rates)} learning rates at batch {trial.batch}")

    def steps(self):
        """Each step's `samples` (indices), `views` or None, and `rate`. To leave them early is an error."""
        for number, rate in enumerate(self.rates):
            self.taken = max(self.taken, number + 1)
            place = slice(number * self.trial.batch, (number + 1) * self.trial.batch)
            yield types.SimpleNamespace(samples=self.order[place], views=None if self.views is None else self.views[place], rate=float(rate))


class Trial:
    """The keys of trial.json as attributes, with `values`, `targets`, `parameters` and `buffers` as arrays."""

    def __init__(self, file):
        self.file = file
        with open(file, "rb") as text:
            self.json = json.load(text)
        for key in ("device_kind", "devices", "batch", "epochs", "steps_per_epoch", "seed", "precision", "deterministic",
                    "optimizer", "weight_decays", "batch_norm", "network", "preparation"):
            setattr(self, key, self.json[key])
        self.augmented = self.json.get("augmented", False)
        self.options = self.json["options"]
        self.layers = self.network["layers"]
        self.values = self._map("values")
        self.targets = self._map("targets")
        initial = np.fromfile(self.json["initial"], np.float32)
        count = self.network["parameters"]
        if len(initial) != count + self.network["buffers"]:
            raise Problem(f"{self.json['initial']} has {len(initial)} values; the network has {count} parameters and "
                          f"{self.network['buffers']} buffers")
        self.parameters, self.buffers = initial[:count], initial[count:]

    def _map(self, name):
        place = self.json["data"][name]
        return np.memmap(place["file"], place["type"], "r", place["offset"], tuple(place["shape"]))

    def cached(self, name, make):
        """What make() returns, a value of JSON, or what it returned in an earlier trial of this run that differed in its seed only. For
        choices that a measurement makes, so that repeats train alike."""
        if not self.json.get("cache"):
            return make()
        same = {key: value for key, value in self.json.items() if key not in ("seed", "initial", "cache")}
        digest = hashlib.sha256(json.dumps([name, same], sort_keys=True).encode()).hexdigest()
        path = os.path.join(self.json["cache"], digest[:32] + ".json")
        try:
            with open(path, "rb") as file:
                return json.load(file)
        except (OSError, ValueError):  # not there, or cut off when its writer was killed
            value = make()
        with open(path, "w") as file:
            json.dump(value, file)
        return value

    @property
    def tokens(self):
        """Whether the samples are tokens, which are not prepared."""
        return self.preparation is None

    @property
    def drops(self):
        """Whether the network has dropout, whose masks are the backend's own."""
        return any(layer["type"] == "dropout" and layer["rate"] > 0 for layer in self.layers)

    def parts(self):
        """All tensors of parameters in the order of the vector: (begin, shape, weight decay, index of the layer, name)."""
        found = sorted((place["begin"], place["shape"], index, name) for index, layer in enumerate(self.layers)
                       for name, place in layer.get("parameters", {}).items())
        if len(found) != len(self.weight_decays):
            raise Problem(f"the trial has {len(found)} tensors but {len(self.weight_decays)} weight decays")
        return [(begin, shape, decay, index, name) for (begin, shape, index, name), decay in zip(found, self.weight_decays)]

    def factors(self):
        """(scale, mean, inverse_std) of each channel, shaped for one sample: input = (value * scale - mean) * inverse_std."""
        axes = (-1,) + (1,) * (len(self.network["sample_shape"]) - 1)
        mean, inverse_std = (np.asarray(self.preparation[key] or [default], np.float32).reshape(axes)
                             for key, default in (("mean", 0), ("inverse_std", 1)))
        return np.float32(self.preparation["scale"]), mean, inverse_std

    def inputs(self, samples, views=None):
        """The prepared inputs of these samples; tokens as int64. A slice is cheaper than indices."""
        values = self.values[samples]
        if self.tokens:
            return values.astype(np.int64)
        if views is not None:
            values = seen(values, views)
        scale, mean, inverse_std = self.factors()
        inputs = values.astype(np.float32) * scale
        if self.preparation["mean"] or self.preparation["inverse_std"]:
            inputs -= mean
            inputs *= inverse_std
        return inputs


def seen(values, views):
    """Images shifted down and to the right, then mirrored. What moves in is 0."""
    height, width = values.shape[2:]
    rows = np.arange(height) - views[:, :1].astype(np.int64)
    columns = np.where(views[:, 2:] != 0, width - 1 - np.arange(width), np.arange(width)) - views[:, 1:2]
    inside = ((rows >= 0) & (rows < height))[:, None, :, None] & ((columns >= 0) & (columns < width))[:, None, None, :]
    image = np.arange(len(values))[:, None, None, None]
    channel = np.arange(values.shape[1])[None, :, None, None]
    taken = values[image, channel, rows.clip(0, height - 1)[:, None, :, None], columns.clip(0, width - 1)[:, None, None, :]]
    return np.where(inside, taken, taken.dtype.type(0))
