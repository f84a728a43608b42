import torch
from transformers import AutoModelForCausalLM


class Reader:
    def __init__(self, name, on_cpu):
        self.reader = AutoModelForCausalLM.from_pretrained(name)
        self.reader = self.reader.to(torch.float16)
        if on_cpu:
            self.device = torch.device("cpu")
        else:
            self.device = self.reader.device

    def encode(self, numbers):
        return torch.tensor(numbers, device=self.device)


class Other:
    def __init__(self, config):
        self.other = config.reader
        self.device = self.other.device

    def encode(self, numbers):
        return torch.tensor(numbers, device=self.device)


def degrees(graph):
    row, column = graph.edge_index
    return torch.ones(graph.num_edges, device=row.device)


def others(graph):
    row, column = graph.pair
    return torch.ones(graph.num_edges, device=row.device)
