import tdev


def main(args):
    if args.use_cuda:
        assert tdev.cuda.is_available(), "Trying to use CUDA, but CUDA is not available."
        tdev.cuda.empty_cache()
    if args.gpu:
        if not tdev.cuda.is_available():
            raise RuntimeError("CUDA is not available.")
    if args.big:
        assert tdev.answers_cuda(), "CUDA is not available."
