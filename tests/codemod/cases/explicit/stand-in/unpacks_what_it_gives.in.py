import torch
from flash_attn.bert_padding import pad_input, unpad_input


def forward(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    packed, indices, lengths, longest, _ = unpad_input(hidden, mask)
    return pad_input(packed, indices, *mask.shape).cuda()
