"""Reverse auctions that buy data over many slots (LEPA).

Reverse auctions over many slots: who wins, what they are paid, and that nobody waits too long.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("AuctionSlot", "AuctionHorizon")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.auction.horizon import AuctionHorizon as AuctionHorizon
    from mechdesign.families.auction.online import OnlineAuction as OnlineAuction
    from mechdesign.families.auction.rules import slot_certificates as slot_certificates
    from mechdesign.families.auction.season import Bid as Bid, Decision as Decision, Season as Season
    from mechdesign.families.auction.slot import AuctionSlot as AuctionSlot
    from mechdesign.families.auction.slot_rules import needed as needed
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "slot_rules": "needed",
            "horizon": "AuctionHorizon",
            "online": "OnlineAuction",
            "season": "Bid Decision Season",
            "slot": "AuctionSlot",
            "rules": "slot_certificates",
        },
    )
