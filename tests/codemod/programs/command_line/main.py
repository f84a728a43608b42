import argparse

from config import Config
from train import fit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    config = Config(device=args.device, steps=args.steps)
    print(f"training on {config.device}")
    print("loss %.4f" % fit(config))


if __name__ == "__main__":
    main()
