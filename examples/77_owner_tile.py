"""Hide the owner of a channel: its tile, a database that has no more, an attack from a thousand places."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.spectrum import SpectrumCloak, SpectrumDatabase
from mechdesign.families.spectrum.papers.attack import locate
from mechdesign.families.spectrum.papers.primary import SpectrumWidening

SIDE = 20.0
CELL = 1.2


def attacked(database, owner, places=1000):
    """Return the attacker's error: it asks for more than it gets, from many places under a few names."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.0, SIDE, size=(2, places))
    rooms = np.array([database.room("tv", east, north) for east, north in zip(x, y, strict=True)])
    told = rooms > 0  # inside the protected tile every answer is "covered"
    return float(np.hypot(*(locate(x[told], y[told], rooms[told])[:2] - owner)))


def main():
    """Register an owner, answer a user's private query, and attack."""
    owner = (7.91, 12.05)  # stays on the owner's device
    cloak = SpectrumCloak(cell=CELL, protection=1.0, area=[0, 0, SIDE, SIDE])
    print(cloak.audit())
    registered = cloak.register([{"name": "tv", "x": owner[0], "y": owner[1]}])["tv"]
    print(f"registered: tiles {registered.tiles}, protection {registered.protection:g}")

    database = SpectrumDatabase([{"name": "tv", **registered.as_json()}], price=0.1, budget=10.0, cell=CELL)
    with tempfile.TemporaryDirectory() as folder:
        database.save(Path(folder) / "tv.json")
        kept = (Path(folder) / "tv.json").read_text()
    assert "7.91" not in kept
    assert "12.05" not in kept

    problem = md.SpectrumSecondary(
        price=0.1, reward=0.2, privacy_cost=8.0, radius=3.0, area=[0, 0, SIDE, SIDE]
    )
    user = md.solve(problem).mechanism()
    query = user.query("ann", "tv", 15.0, 4.0, rng=1)
    answers = database.answer([query])
    print(answers)
    assert all(certificate.holds for certificate in answers.certificates)
    assert answers[0].status == "served"
    print(f"at its true place ann could send {database.room('tv', 15.0, 4.0):.3f} far, without a report")

    published = SpectrumWidening(level=1.0, protection=1.0)
    error, widened = attacked(database, owner), published.attacked(places=1000, attacks=50)
    print(f"attacked from 1000 places: {error:.2f} from the owner; widening of mean 1: {widened:.4f}")
    assert not published.audit().holds
    assert widened < 0.01
    neighbor = (6.7, 13.1)  # a place of the same tile: the same database, to the letter
    same = cloak.register([{"name": "tv", "x": neighbor[0], "y": neighbor[1]}])["tv"]
    assert same == registered
    apart = np.hypot(owner[0] - neighbor[0], owner[1] - neighbor[1])
    assert error + attacked(database, neighbor) >= apart  # one guess cannot be right for both


if __name__ == "__main__":
    main()
