"""Reverse auctions over many slots: who wins, what they are paid, and that nobody waits too long."""

from mechdesign.mechanisms.auction.online import OnlineAuction, needed, slot_certificates
from mechdesign.mechanisms.auction.season import Bid, Decision, Season

__all__ = ["Bid", "Decision", "OnlineAuction", "Season", "needed", "slot_certificates"]
