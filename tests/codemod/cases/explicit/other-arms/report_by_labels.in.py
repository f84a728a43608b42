import torch


def cuda_info():
    def formatted(tell):
        return ", ".join(str(tell(i)) for i in range(torch.cuda.device_count()))

    return "\n".join(
        [
            "Available CUDA devices count: {}".format(torch.cuda.device_count()),
            "CUDA devices names: {}".format(formatted(torch.cuda.get_device_name)),
            "Major.Minor CUDA capabilities: {}".format(formatted(torch.cuda.get_device_capability)),
        ]
    )


def start():
    print(f"CUDA: {torch.cuda.is_available()}, CUDA device: {torch.cuda.get_device_name()}")
    return torch.zeros(3).to("cuda")


def reset():
    torch.cuda.empty_cache()
