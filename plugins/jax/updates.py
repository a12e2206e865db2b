"""The rules of mgcompare's optimisers for one tensor. XLA makes one kernel of each."""
import jax.numpy as jnp

OPTIMIZERS = ["sgd", "adam", "adagrad", "adadelta"]


def states_of(rule):
    """State tensors for each parameter."""
    return {"sgd": 1 if rule["momentum"] else 0, "adam": 2, "adagrad": 1, "adadelta": 2}[rule["kind"]]


def update(rule, decay, weight, gradient, states, rate, count):
    """New weight and states. `count`: updates including this one."""
    kind, epsilon = rule["kind"], rule.get("epsilon", 0)
    slope = gradient + decay * weight if decay else gradient
    if kind == "sgd":
        if not states:
            return weight - rate * slope, ()
        velocity = rule["momentum"] * states[0] - rate * slope
        step = rule["momentum"] * velocity - rate * slope if rule.get("nesterov") else velocity
        return weight + step, (velocity,)
    if kind == "adam":
        beta1, beta2 = rule["beta1"], rule["beta2"]
        first = beta1 * states[0] + (1 - beta1) * slope
        second = beta2 * states[1] + (1 - beta2) * slope * slope
        steps = count.astype(jnp.float32)
        step = first / (1 - beta1 ** steps) / (jnp.sqrt(second / (1 - beta2 ** steps)) + epsilon)
        return weight - rate * step, (first, second)
    if kind == "adagrad":
        sums = states[0] + slope * slope
        return weight - rate * slope / (jnp.sqrt(sums) + epsilon), (sums,)
    rho = rule["rho"]
    slopes = rho * states[0] + (1 - rho) * slope * slope
    step = slope * jnp.sqrt(states[1] + epsilon) / jnp.sqrt(slopes + epsilon)
    return weight - rate * step, (slopes, rho * states[1] + (1 - rho) * step * step)
