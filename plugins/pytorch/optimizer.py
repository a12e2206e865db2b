"""Updates by the rules of mgcompare, with PyTorch's fused or grouped kernels."""
import inspect
import warnings

import torch

OPTIMIZERS = ["sgd", "adam", "adagrad", "adadelta"]

# A rate of 0 would make the factor between momentum and velocity infinite; with this one, a gradient still changes nothing.
LEAST_RATE = 1e-20


class _Grouped:
    """Rules that PyTorch cannot record in a graph with a changing rate. The state is one list for each of `names`."""

    names = ()

    def __init__(self, groups):
        self.param_groups = groups
        self.state = {}
        for group in groups:
            group["state"] = [[torch.zeros_like(p) for p in group["params"]] for _ in self.names]
            self.state.update({(id(group), name): dict(enumerate(each)) for name, each in zip(self.names, group["state"])})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            slopes = [p.grad for p in group["params"]]
            if group["weight_decay"] != 0:
                slopes = torch._foreach_add(slopes, group["params"], alpha=group["weight_decay"])
            change = self.change(group, slopes)
            torch._foreach_mul_(change, group["lr"])
            torch._foreach_sub_(group["params"], change)


class _Adagrad(_Grouped):
    names = ("sum",)

    def change(self, group, slopes):
        sums = group["state"][0]
        torch._foreach_addcmul_(sums, slopes, slopes, 1.0)
        roots = torch._foreach_sqrt(sums)
        torch._foreach_add_(roots, group["eps"])
        return torch._foreach_div(slopes, roots)


class _Adadelta(_Grouped):
    names = ("slopes", "steps")

    def change(self, group, slopes):
        squares, steps = group["state"]
        torch._foreach_mul_(squares, group["rho"])
        torch._foreach_addcmul_(squares, slopes, slopes, 1 - group["rho"])
        change = torch._foreach_add(steps, group["eps"])
        torch._foreach_div_(change, torch._foreach_add(squares, group["eps"]))
        torch._foreach_sqrt_(change)
        torch._foreach_mul_(change, slopes)
        torch._foreach_mul_(steps, group["rho"])
        torch._foreach_addcmul_(steps, change, change, 1 - group["rho"])
        return change


def _kernels(make, device, sharded):
    """fused where PyTorch has it for this device and rule, otherwise foreach on GPUs."""
    known = inspect.signature(make).parameters
    version = tuple(int(each) for each in torch.__version__.split("+")[0].split(".")[:2])
    # Of the rules here, only that of Adam has a fused kernel for DTensor, which sharded parameters are.
    has_fused = make is torch.optim.Adam and version >= (2, 6) if sharded else device.type == "cuda" or version >= (2, 4)
    if "fused" in known and has_fused:
        return {"fused": True}
    return {"foreach": True} if "foreach" in known and device.type == "cuda" else {}


class Updates:
    """`recorded`: steps are part of a graph, so that the rate is a tensor."""

    def __init__(self, trial, tensors, device, recorded=False, sharded=False):
        self.rule = rule = trial.optimizer
        groups = {}
        for tensor, decay in zip(tensors, trial.weight_decays):
            groups.setdefault(decay, []).append(tensor)
        self.groups = [{"params": params, "weight_decay": decay} for decay, params in groups.items()]
        self.tensor = torch.zeros((), device=device) if recorded else None
        self.rate = None
        self.momentum = rule.get("momentum", 0) if rule["kind"] == "sgd" else 0
        if rule["kind"] in ("sgd", "adam"):
            kernels = _kernels(torch.optim.SGD if rule["kind"] == "sgd" else torch.optim.Adam, device, sharded)
            # If the fused kernel refuses sharded parameters, the first step, during the warm-up, takes foreach instead.
            self.may_refuse = sharded and "fused" in kernels
            try:
                self.inner = self._torch_rule(kernels)
            except RuntimeError as error:
                self._take_foreach(error)
        else:
            self.may_refuse = False
            for group in self.groups:
                group.update(lr=0.0 if self.tensor is None else self.tensor, eps=rule["epsilon"], rho=rule.get("rho", 0))
            self.inner = (_Adagrad if rule["kind"] == "adagrad" else _Adadelta)(self.groups)

    def _torch_rule(self, kernels):
        rule, rate = self.rule, (self.rate or 0.0) if self.tensor is None else self.tensor
        groups = [dict(group) for group in self.groups]  # PyTorch adds its defaults to them
        if rule["kind"] == "sgd":
            return torch.optim.SGD(groups, lr=rate, momentum=self.momentum, nesterov=bool(rule.get("nesterov")) and self.momentum > 0, **kernels)
        more = {"capturable": True} if self.tensor is not None else {}
        return torch.optim.Adam(groups, lr=rate, betas=(rule["beta1"], rule["beta2"]), eps=rule["epsilon"], **more, **kernels)

    def _take_foreach(self, error):
        if not self.may_refuse:
            raise error
        self.may_refuse = False
        warnings.warn(f"no fused update of sharded parameters: {error}")
        self.inner = self._torch_rule({"foreach": True})

    def set_rate(self, rate):
        """Costs nothing while the rate stays the same.

        mgcompare's velocity has the rate in it, PyTorch's momentum has not: at a change of the rate it is rescaled.
        """
        if self.momentum:
            rate = max(rate, LEAST_RATE)
        if rate == self.rate:
            return
        if self.momentum and self.rate is not None:
            buffers = [state["momentum_buffer"] for state in self.inner.state.values() if state.get("momentum_buffer") is not None]
            if buffers:
                torch._foreach_mul_(buffers, self.rate / rate)
        self.rate = rate
        if self.tensor is not None:
            self.tensor.fill_(rate)
            return
        for group in self.inner.param_groups:
            group["lr"] = rate

    def step(self):
        try:
            self.inner.step()
        except RuntimeError as error:
            self._take_foreach(error)
            self.inner.step()
        self.may_refuse = False

    def reset(self):
        """As before the first step; tensors stay where a graph expects them."""
        self.rate = None
        for state in self.inner.state.values():
            for value in state.values():
                if torch.is_tensor(value):
                    value.zero_()
