import transformers


def patch():
    from flash_attn.losses.cross_entropy import CrossEntropyLoss
    from flash_attn.losses.cross_entropy import CrossEntropyLoss as Loss, cross_entropy
    from flash_attn.bert_padding import index_first_axis, pad_input, unpad_input

    transformers.models.mistral.modeling_mistral.CrossEntropyLoss = CrossEntropyLoss
    return Loss, cross_entropy, index_first_axis, pad_input, unpad_input
