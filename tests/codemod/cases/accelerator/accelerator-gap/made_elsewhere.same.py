import torch
from fast_lstm.network import LSTM


def build(size):
    return LSTM(size, size).cuda()
