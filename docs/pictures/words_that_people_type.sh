printf '[model]\ntitle = "New words"\nquestion = "Which word did you miss in the dictionary?"\nproblem = "heavy-hitters"\n[parameters]\nusers = 100000\nepsilon = 4.0\nalphabet = "abcdefghijklmnopqrstuvwxyz"\nlength = 6\nwork = 1e9\n' > words.toml
mechdesign build words.toml -o words.json
mechdesign export words.json --to html -o picture.html
