import torch


def units():
    kind = getattr(torch.accelerator.current_accelerator(), "type", "cpu")
    match kind:
        case "cuda":
            count = torch.cuda.get_device_properties(0).multi_processor_count
        case "xpu":
            count = torch.xpu.get_device_properties(0).max_compute_units
        case _:
            count = torch.get_num_threads()
    return count


def chosen(kind: str):
    match kind:
        case "cuda":
            torch.cuda.synchronize()
        case "ray":
            torch.cuda.empty_cache()
