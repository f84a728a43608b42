import torch
from torch.nn import Parameter


def template(weight, bias, given):
    weight = Parameter(weight)
    bias = Parameter(bias)
    other = load()

    def step():
        total = weight.mv(given)
        if total.is_cuda and bias.is_cuda:
            return total
        return total + bias if not other.is_cuda else other

    return step


def counted(value):
    state = torch.zeros(3)

    def change():
        nonlocal state
        state = value

    def ask():
        return state.is_cuda

    return change, ask
