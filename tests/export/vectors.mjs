// Usage: node vectors.mjs FOLDER: for each NAME.mjs with NAME.json, tries every vector; prints what differs.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const found = {};
for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs"))) {
  const client = await import(pathToFileURL(join(folder, file)));
  const { vectors } = JSON.parse(readFileSync(join(folder, file.replace(".mjs", ".json")), "utf-8"));
  const wrong = [];
  for (const [answer, text, report] of vectors) {
    const source = client.tape(Uint8Array.from(Buffer.from(text, "hex")));
    let made;
    try {
      made = client.randomize(answer, source);
    } catch (error) {
      made = String(error);
    }
    if (JSON.stringify(made) !== JSON.stringify(report) || source.left() !== 0) wrong.push([answer, text, report, made]);
  }
  found[file] = { tried: vectors.length, wrong: wrong.length, first: wrong[0] ?? null };
}
console.log(JSON.stringify(found));
