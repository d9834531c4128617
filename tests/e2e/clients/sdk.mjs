// Calls Morph's SDK as a user does, with another base URL: reads a list of calls from standard
// input, writes the list of their results. The first argument is the folder of node_modules.
import { createRequire } from "node:module";
import { join } from "node:path";
import { argv, stdin, stdout } from "node:process";
import { text } from "node:stream/consumers";

const require = createRequire(join(argv[2], "package.json"));
const { applyEdit, MorphClient } = require("@morphllm/morphsdk");

const { url, folder, calls } = JSON.parse(await text(stdin));
const morph = new MorphClient({ apiKey: "sk-any" });
const config = { morphApiKey: "sk-any", morphApiUrl: url, baseDir: folder };
const results = [];
for (const input of calls) {
  const call = input.target_filepath
    ? morph.fastApply.execute(input, config)
    : applyEdit(input, config);
  results.push(await call.catch((error) => ({ thrown: String(error) })));
}
stdout.write(JSON.stringify(results));
