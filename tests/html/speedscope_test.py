# SPDX-License-Identifier: GPL-2.0-only
"""What `export --format speedscope` writes is what speedscope's own schema asks for, and speedscope opens it."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import browser
import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "command"))
from forged_records import stacks  # noqa: E402

BUILD = pathlib.Path(os.environ["CORRELATOR_BUILD"])
SPEEDSCOPE = BUILD / "npm-speedscope/node_modules/speedscope/dist/release"
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "golden" / "shop.rec"

# What the page says once its text has a part, or at last.
AWAIT = """new Promise(resolve => {
    const look = left => document.body.innerText.includes("%s") || left == 0
        ? resolve(document.body.innerText) : setTimeout(look, 50, left - 1);
    look(1200);
})"""


def export(data):
    return subprocess.run([BUILD / "bin" / "correlator", "export", "-f", "speedscope", "-"], input=data,
                          capture_output=True, timeout=60, check=True).stdout


class SpeedscopeTest(unittest.TestCase):
    def test_it_is_as_the_schema_asks(self):
        schema = json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
        for data in stacks(), GOLDEN.read_bytes():
            file = json.loads(export(data))
            jsonschema.validate(file, schema)
            # The schema asks for something.
            del file["profiles"][0]["weights"]
            self.assertRaises(jsonschema.ValidationError, jsonschema.validate, file, schema)

    @unittest.skipUnless(browser.find(), "no Chromium")
    def test_speedscope_opens_it(self):
        with tempfile.TemporaryDirectory() as folder, browser.Browser() as page:
            script = pathlib.Path(folder) / "profile.js"
            script.write_text(
                f"speedscope.loadFileFromBase64('app.json', '{base64.b64encode(export(stacks())).decode()}')")
            page.call("Page.navigate", url=f"{(SPEEDSCOPE / 'index.html').as_uri()}#localProfilePath={script}")
            page.await_event("Page.loadEventFired")
            shown = page.evaluate(AWAIT % "all (1/4)")
            self.assertIn("all (1/4)", shown)
            # Its table of methods: what each one used itself.
            page.evaluate("""[...document.querySelectorAll("div")].filter(
                item => item.textContent.endsWith("Sandwich")).pop().click()""")
            shown = page.evaluate(AWAIT % "Order#total")
            self.assertEqual({"Order#total": "500.00ms", "esc\\x1b[1m": "500.00ms", "main": "70.00ns",
                              "[not sampled]": "6.00ns"},
                             {name: used for used, name in re.findall(r"\t(\S+) \(.*\)\n\t(.*)", shown)})


if __name__ == "__main__":
    if not SPEEDSCOPE.is_dir():
        print("SKIP: no speedscope (tests/forward/fetch_receiver)")
        sys.exit(77)
    unittest.main()
