"""Five questions of each user under one epsilon: who is asked what, the errors before, the answers after."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md

# Columns like those of a census: 30 000 people, invented.
rng = np.random.default_rng(4)
users = 30_000
sex = rng.choice(["female", "male"], users, p=[0.33, 0.67])
education = rng.choice(["school", "college", "bachelor", "more"], users, p=[0.45, 0.3, 0.17, 0.08])
rich = rng.random(users) < np.where(education == "more", 0.6, 0.2)
people = {
    "age": rng.normal(40, 15, users).clip(17, 90).round(),
    "sex": sex,
    "education": education,
    "hours": rng.normal(np.where(sex == "male", 42, 36), 12).clip(0, 100).round(),
    "income": np.where(rng.random(users) < 0.05, "", np.where(rich, "above 50K", "up to 50K")),
}

# What is asked; an empty answer about income is a category of its own.
problem = md.SurveyDesign(
    questions=[
        {"name": "age", "range": [17, 90], "bins": [17, 25, 35, 45, 55, 65, 90]},
        {"name": "sex", "labels": ["female", "male"], "error": 0.01},
        {"name": "education", "kind": "ordered", "labels": ["school", "college", "bachelor", "more"]},
        {"name": "hours", "range": [0, 100]},
        {"name": "income", "labels": ["up to 50K", "above 50K"], "skip": True},
    ],
    epsilon=3.0,
    users=users,
    tables=[["sex", "income"]],
    group_means=[{"number": "hours", "by": "sex"}],
)
solution = md.solve(problem)
print(solution.outlook())  # before anybody is asked
for method in ("split", "sampled", "even"):  # without joint reports no cross tables either
    alone = md.solve(md.SurveyDesign(questions=problem.questions, epsilon=3.0), method=method)
    print(f"{method}: {alone.value:.2f} times the error of answers in clear")
best = md.solve(md.SurveyDesign(questions=problem.questions, epsilon=3.0))
print(f"{best.method}: {best.value:.2f}")

# On people's devices: drop rng= in deployment.
survey = solution.mechanism()
reports = survey.randomize(people, rng=1)
results = survey.estimate(reports)
print(results)

# Whoever is asked again sends the same report, also after a restart.
path = Path(tempfile.mkdtemp()) / "kept.json"
first = {name: column[:2] for name, column in people.items()}
kept = survey.remember(first, users=["ann", "bob"])
kept.save(path)
later = type(kept).load(survey, path)
print(later.ledger)

truth = np.mean(people["hours"][sex == "male"])
low, high = results["hours by sex"].interval()
assert low[1] < truth < high[1]
assert best.value < alone.value
assert (later.ask(["bob", "ann"], first) == kept.reports(["bob", "ann"])).all()
assert survey.audit().true_epsilon <= 3.0
