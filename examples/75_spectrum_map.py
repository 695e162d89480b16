"""A map of ten channels and twenty users: who is served and how far; a picture where matplotlib is installed.

Run it with the name of a picture, such as ``map.png``, to have the circles drawn.
"""

import importlib.util
import sys

import mechdesign as md
from mechdesign.families.spectrum.channel import scattered_owner, scattered_users

CHANNELS = 10


def draw(solutions, path):
    """Draw owners with protection and widening, and users with privacy radius and granted radius."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    axes = Figure(figsize=(8, 8)).add_subplot()
    for number, solution in enumerate(solutions):
        colour = f"C{number}"
        x, y, protection, level = solution.quantities["owner_circle"]
        axes.plot([x], [y], "s", color=colour)
        axes.add_patch(Circle((x, y), protection, color=colour, alpha=0.3))
        axes.add_patch(Circle((x, y), protection + level, color=colour, fill=False, linestyle="--"))
        for x, y, privacy, _, whole in solution.quantities["circles"]:
            axes.plot([x], [y], "o", color=colour)
            axes.add_patch(Circle((x, y), privacy, color=colour, alpha=0.3))
            axes.add_patch(Circle((x, y), whole, color=colour, fill=False))
    axes.set(xlim=(-2, 22), ylim=(-2, 22), aspect="equal")
    axes.figure.savefig(path)


def main():
    """Solve every channel, print who is served, and draw."""
    privacy = md.solve(md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=1.0, radius=5.0)).variables[
        "privacy"
    ]
    solutions = []
    for channel in range(CHANNELS):
        users = scattered_users(channel=channel, radius=5.0, privacy=privacy)
        problem = md.SpectrumChannel(
            price=0.1, privacy_cost=2.0, secondary=users, primary=scattered_owner(channel=channel)
        )
        solutions.append(md.solve(problem))
    for channel, solution in enumerate(solutions):
        radii = ", ".join(f"{radius:.2f}" for radius in solution.variables["radii"])
        level, gain = solution.variables["privacy"], solution.quantities["gain"]
        print(f"channel {channel}: radii {radii}; L = {level:.3f}; {gain:.3f} above the fixed L = 1")
    if sys.argv[1:] and importlib.util.find_spec("matplotlib"):
        draw(solutions, sys.argv[1])
        print(f"{sys.argv[1]}: the map")
    proven = all(item.holds for solution in solutions for item in solution.certificates)
    assert proven
    assert all(solution.quantities["gain"] >= 0 for solution in solutions)


if __name__ == "__main__":
    main()
