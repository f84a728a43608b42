import argparse

from loop import fit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    print("weight %.3f" % fit(parser.parse_args().device))


if __name__ == "__main__":
    main()
