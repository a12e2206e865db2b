"""The network of a trial as a module of PyTorch."""
import numpy as np
import torch
import torch.distributed.nn
from torch import nn
from torch.nn import functional
from torch.nn.modules._functions import SyncBatchNorm as NativeSync

LAYERS = ["conv", "max_pool", "average_pool", "dense", "tanh", "relu", "sigmoid", "dropout", "batch_norm", "flatten", "add", "concat",
          "embedding", "one_hot", "global_average_pool", "layer_norm", "gelu", "lrn", "gru", "lstm"]


class Dense(nn.Linear):
    """Flattens its input, unless each position of a sequence is an input of its own."""

    def __init__(self, inputs, units, bias, per_position):
        super().__init__(inputs, units, bias)
        self.per_position = per_position

    def forward(self, x):
        return super().forward(x if self.per_position else x.flatten(1))


class Gelu(nn.GELU):
    """Up to PyTorch 2.1 its backward pass on CPUs reads a gradient with gaps as if it had none, and gives what the memory held before
    (pytorch/pytorch#112006). Behind it a recurrent layer leaves gaps."""
    IS_NEEDED = tuple(int(number) for number in torch.__version__.split(".")[:2]) < (2, 2)

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(torch.Tensor.contiguous)
        return y


class Pool(nn.Module):
    """PyTorch allows padding by half a window at most; more is added beforehand."""

    def __init__(self, layer, average):
        super().__init__()
        kernel, stride, padding = layer["kernel"], layer["stride"], layer["padding"]
        inside = all(2 * pad <= size for pad, size in zip(padding, kernel))
        self.fill = None if inside else (padding[1], padding[1], padding[0], padding[0])
        self.value = 0.0 if average else float("-inf")
        self.pool = (nn.AvgPool2d if average else nn.MaxPool2d)(tuple(kernel), tuple(stride), tuple(padding) if inside else 0)

    def forward(self, x):
        return self.pool(x if self.fill is None else functional.pad(x, self.fill, value=self.value))


class LayerNorm(nn.Module):
    """An image over all its values with a scale for each channel, otherwise the features."""

    def __init__(self, shape, epsilon):
        super().__init__()
        image = len(shape) == 3
        self.inner = nn.GroupNorm(1, shape[0], epsilon) if image else nn.LayerNorm(shape[-1], epsilon)

    def forward(self, x):
        return self.inner(x)


class Recurrent(nn.Module):
    """All states of the last of several layers, or its last one. cuDNN computes a step of one layer beside the next step of the layer
    before it, if they are one module."""

    def __init__(self, kind, inputs, units, return_sequences, layers):
        super().__init__()
        self.inner = kind(inputs, units, layers, batch_first=True)
        self.return_sequences = return_sequences

    def forward(self, x):
        states, _ = self.inner(x)
        return states if self.return_sequences else states[:, -1]


class ShardedRecurrent(nn.Module):
    """The same for FSDP, which exchanges the parameters in each pass: nn.RNNBase would put the weights of each pass into memory of its own.
    PyTorch's kernels copy them instead if they are not in one piece."""

    def __init__(self, kind, inputs, units, return_sequences):
        super().__init__()
        self.kind, self.units, self.return_sequences = kind, units, return_sequences
        for name, tensor in kind(inputs, units).named_parameters():
            self.register_parameter(name, nn.Parameter(tensor.detach().clone()))

    def forward(self, x):
        weights = [self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0]
        start = x.new_zeros(1, len(x), self.units)
        # Biases, one layer, no dropout, training, one direction, batch first.
        settings = True, 1, 0.0, self.training, False, True
        if self.kind is nn.GRU:
            states = torch._VF.gru(x, start, weights, *settings)[0]
        else:
            states = torch._VF.lstm(x, (start, start), weights, *settings)[0]
        return states if self.return_sequences else states[:, -1]


class BatchNorm(nn.Module):
    """Batch normalisation whose running variance is that of the batch, as in mgcompare.

    PyTorch multiplies the variance by n / (n - 1) for its running value. As this factor is constant while n is, the buffer
    holds the running value times the factor, and is scaled when n changes.
    """

    def __init__(self, channels, area, epsilon, keep):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))
        self.area, self.epsilon, self.keep = area, epsilon, keep
        self.factor, self.count, self.weighs = 1.0, 0, True

    def set_samples(self, samples, total):
        """Before steps with another number of samples, on this device and of all devices that are synchronised."""
        self.weighs, self.count = samples > 0, total * self.area
        factor = self.count / (self.count - 1) if self.count > 1 else self.factor
        if factor != self.factor:
            self.variance.mul_(factor / self.factor)
            self.factor = factor

    def extra(self):
        return 1 - self.keep if self.weighs else 0.0  # a device without samples learns nothing

    def forward(self, x):
        if self.count == 1:
            self.mean.lerp_(x.detach().float().reshape(-1), self.extra())
            self.variance.mul_(1 - self.extra())
            return torch.batch_norm(x, self.weight, self.bias, None, None, True, 0.0, self.epsilon, False)
        return torch.batch_norm(x, self.weight, self.bias, self.mean, self.variance, True, self.extra(), self.epsilon, True)


class SyncBatchNorm(BatchNorm):
    """Statistics of the samples of all devices, by PyTorch's kernels on GPUs and by two all-reduces elsewhere."""

    native = False

    def forward(self, x):
        if self.native:
            group = torch.distributed.group.WORLD
            return NativeSync.apply(x, self.weight, self.bias, self.mean, self.variance, self.epsilon, self.extra(), group, group.size())
        all_reduce = torch.distributed.nn.functional.all_reduce
        axes = [axis for axis in range(x.dim()) if axis != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        own = 1.0 if self.weighs else 0.0
        mean = all_reduce(x.sum(axes) * own) / self.count
        centred = x - mean.reshape(shape)
        variance = all_reduce((centred * centred).sum(axes) * own) / self.count
        with torch.no_grad():
            self.mean.lerp_(mean, 1 - self.keep)
            self.variance.lerp_(variance * self.factor, 1 - self.keep)
        scale = self.weight * torch.rsqrt(variance + self.epsilon)
        return centred * scale.reshape(shape) + self.bias.reshape(shape)


class Call(nn.Module):
    """A function of its inputs, without state."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def add(*inputs):
    total = inputs[0] + inputs[1]
    for each in inputs[2:]:
        total = total + each
    return total


def concat(*inputs):
    return torch.cat(inputs, 1)


class OneHot(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.tokens = tokens

    def forward(self, x):
        zeros = torch.zeros(*x.shape, self.tokens, device=x.device)
        return zeros.scatter_(-1, x.unsqueeze(-1), 1.0)


def _convolution(layer, shapes):
    return nn.Conv2d(shapes[0][0], layer["channels"], tuple(layer["kernel"]), tuple(layer["stride"]), tuple(layer["padding"]),
                     bias="bias" in layer["parameters"])


def _dense(layer, shapes):
    per_position = bool(layer.get("per_position"))
    inputs = shapes[0][1] if per_position else int(np.prod(shapes[0]))
    return Dense(inputs, layer["units"], "bias" in layer["parameters"], per_position)


def _response_norm(layer):
    size = 2 * layer["radius"] + 1  # PyTorch divides alpha by it
    return nn.LocalResponseNorm(size, layer["alpha"] * size, layer["beta"], layer["offset"])


def _make(layer, shapes, sync, alone, sharded, chain):
    """`alone`: whether the input may be overwritten; `chain`: this and the layers that are computed with it."""
    kind = layer["type"]
    if kind == "conv":
        return _convolution(layer, shapes)
    if kind == "dense":
        return _dense(layer, shapes)
    if kind in ("max_pool", "average_pool"):
        return Pool(layer, kind == "average_pool")
    if kind == "batch_norm":
        make = SyncBatchNorm if sync else BatchNorm
        return make(shapes[0][0], int(np.prod(shapes[0][1:])), layer["epsilon"], layer["momentum"])
    if kind == "layer_norm":
        return LayerNorm(shapes[0], layer["epsilon"])
    if kind in ("gru", "lstm"):
        settings = nn.GRU if kind == "gru" else nn.LSTM, shapes[0][1], layer["units"], bool(chain[-1].get("return_sequences"))
        return ShardedRecurrent(*settings) if sharded else Recurrent(*settings, len(chain))
    if kind == "embedding":
        return nn.Embedding(*layer["parameters"]["weights"]["shape"])
    if kind == "one_hot":
        return OneHot(layer["output_shape"][1])
    if kind == "lrn":
        return _response_norm(layer)
    if kind == "global_average_pool":
        axes = (2, 3) if len(shapes[0]) == 3 else (1,)
        return Call(lambda x: x.mean(axes))
    simple = {"tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": Gelu if Gelu.IS_NEEDED else nn.GELU, "flatten": nn.Flatten,
              "relu": lambda: nn.ReLU(inplace=alone), "dropout": lambda: nn.Dropout(layer["rate"]),
              "add": lambda: Call(add), "concat": lambda: Call(concat)}
    return simple[kind]()


# Names of PyTorch for those of the protocol.
PLAIN = {"weights": "weight", "bias": "bias"}
GATES = {"weights": "weight_ih_l{}", "recurrent": "weight_hh_l{}", "bias": "bias_ih_l{}", "recurrent_bias": "bias_hh_l{}"}


def _chains(layers, inputs):
    """Of each layer, the index of the first one of those with which it is computed: consecutive recurrent layers of one type and width."""
    readers = [number for each in inputs for number in each]
    first = list(range(len(layers)))
    for index in range(1, len(layers)):
        layer, before = layers[index], layers[index - 1]
        if (layer["type"] in ("gru", "lstm") and layer["type"] == before["type"] and layer["units"] == before["units"]
                and before.get("return_sequences") and inputs[index] == [index - 1] and readers.count(index - 1) == 1):
            first[index] = first[index - 1]
    return first


class Network(nn.Module):
    """The layers with their initial weights. `tensors` are the parameters in the order of the vector."""

    def __init__(self, trial, sync=False, sharded=False):
        super().__init__()
        layers = trial.layers
        self.inputs = [list(layer["inputs"]) for layer in layers]
        readers = [number for inputs in self.inputs for number in inputs]
        self.first = list(range(len(layers))) if sharded else _chains(layers, self.inputs)
        modules = []
        for index, (layer, inputs) in enumerate(zip(layers, self.inputs)):
            if self.first[index] != index:
                modules.append(nn.Identity())
                continue
            shapes = [trial.network["sample_shape"] if k < 0 else layers[k]["output_shape"] for k in inputs]
            # The backward pass of these layers does not need their outputs.
            alone = inputs[0] >= 0 and readers.count(inputs[0]) == 1 and layers[inputs[0]]["type"] in ("conv", "dense", "batch_norm", "add")
            modules.append(_make(layer, shapes, sync, alone, sharded, layers[index:index + self.first.count(index)]))
        self.layers = nn.ModuleList(modules)
        self.places = trial.parts()
        self._load(trial)

    def parameter(self, index, name):
        module = self.layers[self.first[index]]
        module = getattr(module, "inner", module)
        recurrent = isinstance(module, (nn.RNNBase, ShardedRecurrent))
        return getattr(module, GATES[name].format(index - self.first[index]) if recurrent else PLAIN[name])

    def tensors(self):
        return [self.parameter(index, name) for _, _, _, index, name in self.places]

    def norms(self):
        return [layer for layer in self.layers if isinstance(layer, BatchNorm)]

    def set_samples(self, samples, total):
        for norm in self.norms():
            norm.set_samples(samples, total if isinstance(norm, SyncBatchNorm) else samples)

    def _load(self, trial):
        with torch.no_grad():
            for (begin, shape, _, _, _), tensor in zip(self.places, self.tensors()):
                values = trial.parameters[begin:begin + int(np.prod(shape))].reshape(shape)
                tensor.copy_(torch.from_numpy(values.copy()))
            self.statistics = []
            for layer, module in zip(trial.layers, self.layers):
                for name, place in layer.get("buffers", {}).items():
                    values = trial.buffers[place["begin"]:place["begin"] + int(np.prod(place["shape"]))]
                    getattr(module, name).copy_(torch.from_numpy(values.copy()))
                    self.statistics.append((place["begin"], name, module))
            self.statistics.sort(key=lambda place: place[0])

    def buffer_vector(self):
        """The running statistics, in the order of the vector."""
        values = [module.mean if name == "mean" else module.variance / module.factor for _, name, module in self.statistics]
        return torch.cat([each.float() for each in values]) if values else torch.zeros(0)

    def forward(self, x):
        outputs = []
        for layer, inputs in zip(self.layers, self.inputs):
            outputs.append(layer(*[x if k < 0 else outputs[k] for k in inputs]))
        return outputs[-1]
