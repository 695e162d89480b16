"""Protocols of the shuffle model: clients, a shuffler, an analyzer."""

from mechdesign.mechanisms.shuffle.base import Protocol
from mechdesign.mechanisms.shuffle.cnt_2m import Cnt2M
from mechdesign.mechanisms.shuffle.cnt_bn import CntBN
from mechdesign.mechanisms.shuffle.cnt_rr import CntRR
from mechdesign.mechanisms.shuffle.cnt_sgm import CntSGM
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise

__all__ = ["Cnt2M", "CntBN", "CntRR", "CntSGM", "OutOfReachError", "Promise", "Protocol"]
