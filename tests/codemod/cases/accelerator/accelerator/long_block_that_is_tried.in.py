import torch

try:
        value_0 = 0
        value_1 = 1
        value_2 = 2
        value_3 = 3
        value_4 = 4
        value_5 = 5
        value_6 = 6
        value_7 = 7
        value_8 = 8
        value_9 = 9
        value_10 = 10
        value_11 = 11
        value_12 = 12
        value_13 = 13
        value_14 = 14
        value_15 = 15
        value_16 = 16
        value_17 = 17
        value_18 = 18
        value_19 = 19
        value_20 = 20
        value_21 = 21
        value_22 = 22
        value_23 = 23
        value_24 = 24
        value_25 = 25
        value_26 = 26
        value_27 = 27
        value_28 = 28
        value_29 = 29
        value_30 = 30
        value_31 = 31
        value_32 = 32
        value_33 = 33
        value_34 = 34
        value_35 = 35
        value_36 = 36
        value_37 = 37
        value_38 = 38
        value_39 = 39
except ImportError:
    pass


def moved(x):
    return x.cuda()
