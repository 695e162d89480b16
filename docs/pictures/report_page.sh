mechdesign init --example staff -o staff.toml
mechdesign build staff.toml -o staff.json
python - <<'END' > answers.csv
import random
r = random.Random(4)
print("department,recommend,satisfaction,tools: e-mail,tools: chat,tools: paper,age,overtime")
for _ in range(1500):
    print(r.choices(["nursing", "doctors", "administration"], [6, 2, 3])[0], r.choices(["no", "yes"], [2, 5])[0],
          r.choices("12345", [1, 2, 3, 4, 2])[0], *(r.choices(["no", "yes"], w)[0] for w in ([1, 9], [5, 5], [7, 3])),
          r.randint(19, 66), min(60, int(r.expovariate(0.08))), sep=",")
END
mechdesign randomize staff.json answers.csv -o reports.csv --seed 3
mechdesign report staff.json reports.csv -o picture.html
