"""Reverse auctions over many slots: who wins, what they are paid, and that nobody waits too long."""

from mechdesign.mechanisms.auction.accuracy import needed
from mechdesign.mechanisms.auction.online import OnlineAuction
from mechdesign.mechanisms.auction.season import Bid, Decision, Season
from mechdesign.mechanisms.auction.trial import slot_certificates

__all__ = ["Bid", "Decision", "OnlineAuction", "Season", "needed", "slot_certificates"]
