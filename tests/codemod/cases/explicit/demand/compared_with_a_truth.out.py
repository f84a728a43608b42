import tdev


def train(steps):
    if not tdev.answers_cuda():
        raise RuntimeError("training needs CUDA")
    assert tdev.answers_cuda(), "no GPU"
    for _ in range(steps):
        tdev.zeros(3, device="cuda").sum()


def pick():
    if tdev.cuda.is_available() == True:
        return "cuda"
    return "cpu"


if __name__ == "__main__":
    train(3)
