"""Random maps of spectrum users, and brute force over lists of users and a grid of L."""

from __future__ import annotations

import numpy as np

import mechdesign as md


def random_channel(seed: int, users: int, occupied: bool = True, side: float = 10.0) -> md.SpectrumChannel:
    """Return users and an owner at random places, some of them in a row or on top of each other."""
    rng = np.random.default_rng(seed)
    spots = rng.uniform(0, side, size=(users + 1, 2)) if seed % 3 else rng.integers(0, side, (users + 1, 2))
    secondary = [
        {
            "x": float(x),
            "y": float(y),
            "radius": float(rng.uniform(0.5, 5)),
            "privacy": float(rng.choice([0.5, rng.uniform(0.1, 2)])),
        }
        for x, y in spots[1:]
    ]
    owner = {"x": float(spots[0, 0]), "y": float(spots[0, 1]), "protection": float(rng.uniform(0.1, 2))}
    cost = float(rng.choice([0.05, 2.0, 10.0]))
    return md.SpectrumChannel(
        price=0.1, privacy_cost=cost, secondary=secondary, primary=owner if occupied else None
    )


def brute_force(problem: md.SpectrumChannel, levels: int = 400) -> float:
    """Return the best value over all orders of serving users and a grid of L; from the positions alone."""
    users = problem.secondary
    spots = np.array([[user["x"], user["y"]] for user in users])
    wanted, privacy = (np.array([user[key] for user in users]) for key in ("radius", "privacy"))
    apart = np.hypot(*(spots[:, None] - spots).transpose(2, 0, 1)) - privacy[:, None] - privacy
    if problem.primary is None:
        reach, grid = np.full(len(users), np.inf), np.zeros(1)
    else:
        centre = np.array([problem.primary["x"], problem.primary["y"]])
        reach = np.hypot(*(spots - centre).T) - privacy - problem.primary["protection"]
        ends = np.concatenate([reach, reach - wanted, np.linspace(0, reach.max(), levels + 1)])
        grid = ends[(ends > 0) & (ends <= reach.max())]
    loss = 0.0 if problem.primary is None else problem.privacy_cost / grid
    most = np.minimum(wanted[:, None], reach[:, None] - grid)
    best = -np.inf
    begun = [
        (np.zeros((len(users), len(grid))), tuple(range(len(users))))
    ]  # orders with the same first users
    while begun:
        radii, waiting = begun.pop()
        for user in waiting:
            room = np.where(radii > 0, apart[user][:, None] - radii, np.inf).min(axis=0)
            filled = radii.copy()
            filled[user] = np.maximum(np.minimum(most[user], room), 0.0)
            begun.append((filled, tuple(other for other in waiting if other != user)))
        if not waiting:
            paid = problem.price * np.pi / wanted[:, None] * radii * (privacy[:, None] + radii) ** 2
            best = max(best, float((paid.sum(axis=0) - loss).max()))
    return best
