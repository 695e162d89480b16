printf '[model]\ntitle = "Are you tired?"\nproblem = "frequency-oracle"\n[parameters]\nlabels = ["no", "yes"]\nepsilon = 2.0\n' > staff.toml
mechdesign build staff.toml -o staff.json --id staff-2026
(echo tired,ward; seq 1 4000 | awk '{print ($1 % 20 < 9 ? "yes" : "no") "," ($1 % 5 < 3 ? "nurse" : "doctor")}') > staff.csv
mechdesign randomize staff.json staff.csv --column tired --public ward --seed 1 -o reports.csv
mechdesign estimate staff.json reports.csv --by ward --figure picture.svg
