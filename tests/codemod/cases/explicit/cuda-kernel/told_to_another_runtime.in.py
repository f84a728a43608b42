import torch
from faster_whisper import WhisperModel


def ocr():
    from paddleocr import PaddleOCR

    return PaddleOCR(use_gpu=torch.cuda.is_available())


def speech(device):
    dtype = "float16" if device.startswith("cuda") else "int8"
    return WhisperModel("base", device=device, compute_type=dtype)


def eight(model, device: torch.device):
    load_in_8bit = device.type == "cuda"
    return model.from_pretrained("x", load_in_8bit=load_in_8bit)


def there():
    return torch.cuda.is_available()
