printf '[model]\ntitle = "Baskets"\nquestion = "What did you buy today?"\nproblem = "item-sets"\n[parameters]\nlabels = ["bread", "milk", "tea", "jam", "rice", "eggs"]\nmost = 3\nepsilon = 2.0\n' > baskets.toml
mechdesign build baskets.toml -o baskets.json
mechdesign export baskets.json --to html -o picture.html
