printf '[model]\ntitle = "Hours"\nproblem = "weekly"\n[parameters]\nedges = [0, 30]\ncategories = 10\nepsilon_all = 4.0\nepsilon_week = 2.0\nweeks = 4\n' > hours.toml
mechdesign build hours.toml -o hours.json
(echo person,hours; seq 1 3000 | awk '{print $1 "," ($1 % 7 + $1 % 11 + $1 % 13)}') > people.csv
for week in 1 2 3 4; do
  mechdesign run hours.json remember people.csv --state kept.json --key person -o week$week.csv --seed $week
done
mechdesign estimate hours.json week1.csv --figure picture-1.svg
mechdesign run hours.json weeks week?.csv --figure picture-2.svg
