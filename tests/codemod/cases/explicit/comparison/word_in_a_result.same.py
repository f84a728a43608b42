from package.records import describe


def test_device():
    record = describe(device="cuda:0", verbose=False)
    assert record["device"] == "cuda:0"
