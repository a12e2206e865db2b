"""Networks of trials as mgcompare writes them: shapes, places of tensors in the vector, initial weights."""
import math

import numpy as np

GATES = {"gru": 3, "lstm": 4}


class Builder:
    """Each call of add() is a layer; without `inputs` it reads the layer before it."""

    def __init__(self, sample_shape, classes, targets=1, tokens=0):
        self.sample_shape, self.classes, self.targets, self.tokens = list(sample_shape), classes, targets, tokens
        self.layers, self.decays, self.parameters, self.buffers = [], [], 0, 0

    def shape_of(self, index):
        return self.sample_shape if index < 0 else self.layers[index]["output_shape"]

    def add(self, kind, inputs=None, **settings):
        layer = {"type": kind, "inputs": [len(self.layers) - 1] if inputs is None else inputs, "parameters": {}, **settings}
        shapes = [self.shape_of(index) for index in layer["inputs"]]
        for key, default in (("kernel", None), ("stride", layer.get("kernel") if "pool" in kind else 1), ("padding", 0)):
            if kind in ("conv", "max_pool", "average_pool"):
                value = layer.get(key, default)
                layer[key] = list(value) if isinstance(value, (list, tuple)) else [value, value]
        layer["output_shape"] = self._finish(kind, layer, shapes)
        self.layers.append(layer)
        return len(self.layers) - 1

    def _place(self, layer, name, shape, decays):
        layer["parameters"][name] = {"begin": self.parameters, "shape": [int(size) for size in shape]}
        self.parameters += int(np.prod(shape))
        self.decays.append(1 if decays else 0)

    def _windows(self, layer, shape):
        return [(size + 2 * pad - kernel) // stride + 1 for size, kernel, stride, pad in
                zip(shape[1:], layer["kernel"], layer["stride"], layer["padding"])]

    def _finish(self, kind, layer, shapes):
        """Places the layer's tensors; returns its output shape."""
        shape = shapes[0]
        if kind in ("conv", "dense"):
            layer.setdefault("bias", True)
        if kind == "conv":
            self._place(layer, "weights", [layer["channels"], shape[0], *layer["kernel"]], True)
        if kind == "dense":
            self._place(layer, "weights", [layer["units"], shape[1] if layer.get("per_position") else np.prod(shape)], True)
        if kind in ("conv", "dense") and layer["bias"]:
            self._place(layer, "bias", [layer.get("channels", layer.get("units"))], False)
        if kind == "conv":
            return [layer["channels"], *self._windows(layer, shape)]
        if kind == "dense":
            return [shape[0], layer["units"]] if layer.get("per_position") else [layer["units"]]
        if kind in ("max_pool", "average_pool"):
            return [shape[0], *self._windows(layer, shape)]
        if kind in ("batch_norm", "layer_norm"):
            layer.setdefault("epsilon", 1e-3 if kind == "batch_norm" else 1e-5)
            scales = shape[0] if kind == "batch_norm" or len(shape) == 3 else shape[-1]
            self._place(layer, "weights", [scales], False)
            self._place(layer, "bias", [scales], False)
        if kind == "batch_norm":
            layer.setdefault("momentum", 0.99)
            layer["buffers"] = {"mean": {"begin": self.buffers, "shape": [shape[0]]},
                                "variance": {"begin": self.buffers + shape[0], "shape": [shape[0]]}}
            self.buffers += 2 * shape[0]
        if kind in GATES:
            rows, units = GATES[kind] * layer["units"], layer["units"]
            for name, size in (("weights", [rows, shape[1]]), ("recurrent", [rows, units]), ("bias", [rows]), ("recurrent_bias", [rows])):
                self._place(layer, name, size, "bias" not in name)
            return [shape[0], units] if layer.get("return_sequences") else [units]
        if kind == "embedding":
            self._place(layer, "weights", [self.tokens, layer["units"]], True)
            return [shape[0], layer["units"]]
        return {"one_hot": lambda: [shape[0], self.tokens], "flatten": lambda: [int(np.prod(shape))],
                "global_average_pool": lambda: [shape[0] if len(shape) == 3 else shape[1]],
                "concat": lambda: [sum(each[0] for each in shapes), *shape[1:]]}.get(kind, lambda: list(shape))()

    def network(self):
        parts = [place for layer in self.layers for place in layer["parameters"].values()]
        return {"sample_shape": self.sample_shape, "classes": self.classes, "targets": self.targets, "parameters": self.parameters,
                "buffers": self.buffers, "layers": self.layers, "parts": parts}

    def initial(self, random):
        """Parameters, then buffers."""
        vector = np.zeros(self.parameters + self.buffers, np.float32)
        for layer in self.layers:
            for name, place in layer["parameters"].items():
                size, shape = int(np.prod(place["shape"])), place["shape"]
                if "norm" in layer["type"]:
                    values = np.full(size, 1.0 if name == "weights" else 0.0)
                else:
                    values = random.normal(0, 1 / math.sqrt(size / shape[0]) if len(shape) > 1 else 0.05, size)
                vector[place["begin"]:place["begin"] + size] = values
            for name, place in layer.get("buffers", {}).items():
                begin = self.parameters + place["begin"]
                vector[begin:begin + place["shape"][0]] = 1.0 if name == "variance" else 0.0
        return vector


def mlp(widths=(32, 16)):
    net = Builder([1, 8, 8], 10)
    net.add("flatten")
    for number, units in enumerate(widths):
        net.add("dense", units=units)
        net.add("tanh" if number % 2 else "relu")
    net.add("dense", units=10)
    return net


def regression():
    return mlp(())


def lenet(channels=(20, 50), units=500):
    net = Builder([1, 28, 28], 10)
    for each in channels:
        net.add("conv", channels=each, kernel=5)
        net.add("tanh")
        net.add("max_pool", kernel=2)
    net.add("flatten")
    net.add("dense", units=units)
    net.add("tanh")
    net.add("dense", units=10)
    return net


def gru():
    net = Builder([7, 5], 4)
    net.add("gru", units=9, return_sequences=True)
    net.add("layer_norm")
    net.add("gelu")  # between two layers whose gradients have gaps in PyTorch
    net.add("gru", units=6)
    net.add("dense", units=4)
    return net


def stacked(apart=False):
    """Layers that are computed together; with `apart`, each by itself."""
    net = Builder([7, 5], 4)
    for _ in range(2):
        net.add("gru", units=6, return_sequences=True)
        if apart:
            net.add("dropout", rate=0.0)
    net.add("gru", units=6)
    net.add("dense", units=4)
    return net


def language():
    net = Builder([6], 11, targets=6, tokens=11)
    net.add("embedding", units=8)
    net.add("lstm", units=9, return_sequences=True)
    net.add("gelu")
    net.add("dense", units=11, per_position=True)
    return net


def one_hot():
    net = Builder([6], 5, tokens=7)
    net.add("one_hot")
    net.add("lstm", units=6, return_sequences=True)
    net.add("global_average_pool")
    net.add("dense", units=5)
    return net


def residual():
    net = Builder([3, 12, 10], 6)
    net.add("conv", channels=8, kernel=3, padding=1, bias=False)
    net.add("batch_norm", momentum=0.9)
    block = net.add("relu")
    net.add("conv", channels=8, kernel=3, padding=1, bias=False)
    net.add("batch_norm", momentum=0.9)
    net.add("add", inputs=[len(net.layers) - 1, block])
    net.add("relu")
    net.add("global_average_pool")
    net.add("dense", units=6)
    return net


def responses():
    """What the other networks lack."""
    net = Builder([2, 11, 9], 5)
    stem = net.add("conv", channels=6, kernel=[3, 5], stride=[1, 2], padding=[1, 2])
    net.add("lrn", radius=1, alpha=0.3, beta=0.75, offset=1.5)
    left = net.add("sigmoid")
    right = net.add("gelu", inputs=[stem])
    net.add("concat", inputs=[left, right])
    net.add("layer_norm")
    net.add("max_pool", kernel=3, stride=2, padding=2)
    net.add("average_pool", kernel=2, stride=1, padding=1)
    net.add("dense", units=7)
    net.add("batch_norm", momentum=0.8)
    net.add("dense", units=5, bias=False)
    return net


def dropped():
    net = mlp()
    net.layers.pop()
    net.parameters = net.layers[-2]["parameters"]["bias"]["begin"] + 16
    del net.decays[-2:]
    net.add("dropout", rate=0.5)
    net.add("dense", units=10)
    return net


ALL = {"mlp": mlp, "lenet": lambda: lenet((4, 6), 20), "gru": gru, "stacked": stacked, "language": language, "one_hot": one_hot, "residual": residual,
       "responses": responses}
