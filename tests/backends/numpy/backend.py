"""Trains chains of dense layers with NumPy, on one CPU device."""
import mgcompare_backend as mgcompare

import numpy as np


class NumpyBackend(mgcompare.Backend):
    name = "numpy"
    layers = ["flatten", "dense", "tanh", "relu"]
    optimizers = ["sgd"]
    framework = {"name": "NumPy", "version": np.__version__}
    like = {"one": "serial"}

    def load(self, trial):
        self.trial, self.momentum = trial, trial.optimizer["momentum"]
        chain = all(layer["inputs"] == [index - 1] for index, layer in enumerate(trial.layers))
        if not chain or trial.optimizer["nesterov"] or trial.network["targets"] > 1:
            raise mgcompare.unavailable("numpy trains chains of layers with one target, without Nesterov momentum")
        self.vector = trial.parameters.copy()
        self.gradient, self.velocity, self.decay = (np.zeros_like(self.vector) for _ in range(3))
        for begin, shape, decay, _, _ in trial.parts():
            self.decay[begin:begin + int(np.prod(shape))] = decay

    def tensor(self, vector, layer, name):
        place = layer["parameters"][name]
        return vector[place["begin"]:][:int(np.prod(place["shape"]))].reshape(place["shape"])

    def forward(self, x):
        values = [x.reshape(len(x), -1)]
        for layer in self.trial.layers:
            x = values[-1]
            if layer["type"] == "dense":
                x = x @ self.tensor(self.vector, layer, "weights").T
                if "bias" in layer["parameters"]:
                    x += self.tensor(self.vector, layer, "bias")
            elif layer["type"] != "flatten":
                x = np.tanh(x) if layer["type"] == "tanh" else np.maximum(x, 0)
            values.append(x)
        return values

    def backward(self, values, slope):
        for layer, x, y in zip(reversed(self.trial.layers), reversed(values[:-1]), reversed(values)):
            if layer["type"] == "dense":
                self.tensor(self.gradient, layer, "weights")[:] = slope.T @ x
                if "bias" in layer["parameters"]:
                    self.tensor(self.gradient, layer, "bias")[:] = slope.sum(axis=0)
                slope = slope @ self.tensor(self.vector, layer, "weights")
            elif layer["type"] != "flatten":
                slope = slope * (1 - y * y if layer["type"] == "tanh" else y > 0)

    def train(self, epoch):
        loss = 0.0
        for step in epoch.steps():
            values = self.forward(self.trial.inputs(step.samples, step.views))
            rows, targets = np.arange(len(step.samples)), self.trial.targets[step.samples].ravel()
            logits = values[-1] - values[-1].max(axis=1, keepdims=True)
            slope = np.exp(logits)
            sums = slope.sum(axis=1, keepdims=True)
            loss += float((np.log(sums[:, 0]) - logits[rows, targets]).sum())
            slope /= sums
            slope[rows, targets] -= 1
            self.backward(values, slope / len(rows))
            self.velocity *= self.momentum
            self.velocity -= step.rate * (self.gradient + self.decay * self.vector)
            self.vector += self.velocity
        return loss / len(epoch.order)

    def weights(self):
        return self.vector


if __name__ == "__main__":
    mgcompare.serve(NumpyBackend)
