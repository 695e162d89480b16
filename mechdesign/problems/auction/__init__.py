"""Reverse auctions that buy data over many slots (LEPA)."""

from mechdesign.problems.auction.horizon.problem import AuctionHorizon
from mechdesign.problems.auction.slot.problem import AuctionSlot

PROBLEMS = (AuctionSlot, AuctionHorizon)

__all__ = ["PROBLEMS", "AuctionHorizon", "AuctionSlot"]
