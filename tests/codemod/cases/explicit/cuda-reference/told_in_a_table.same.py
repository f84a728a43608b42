import torch


def rows(version):
    return [
        ("Hash", version),
        ("CUDA Available?", str(torch.cuda.is_available()).lower()),
        ("CUDA Version", torch.version.cuda or "N/A"),
    ]


def environment(version):
    pt_cuda_available = "NA"
    if version:
        pt_cuda_available = torch.cuda.is_available()
    return {"PyTorch": f"{torch.__version__} (cuda available: {pt_cuda_available})"}


def keyed():
    return {"torch": torch.__version__, "CUDA available": torch.cuda.is_available()}
