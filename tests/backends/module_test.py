"""Tests of the Python module for backends. backends_test.py runs them, too."""
import json
import sys

import numpy as np

import networks
from case import Case
from driver import MODULE, Refused, Trial

sys.path.insert(0, str(MODULE))
import mgcompare_backend as module  # noqa: E402


class ModuleTest(Case):
    def test_shares_are_equal_and_the_first_are_larger(self):
        self.assertEqual([module.share(11, device, 4) for device in range(4)], [(0, 3), (3, 6), (6, 9), (9, 11)])
        self.assertEqual([module.share(1, device, 2) for device in range(2)], [(0, 1), (1, 1)])

    def test_views_shift_then_mirror(self):
        image = np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4)
        shifted = module.seen(image, np.array([[1, -1, 0]], np.int8))
        self.assertEqual(shifted[0, 0].tolist(), [[0, 0, 0, 0], [1, 2, 3, 0], [5, 6, 7, 0]])
        mirrored = module.seen(image, np.array([[1, -1, 1]], np.int8))
        self.assertEqual(mirrored[0, 0].tolist(), [[0, 0, 0, 0], [0, 3, 2, 1], [0, 7, 6, 5]])

    def test_options_have_types_and_ranges(self):
        declared = [module.integer("every", 4, 1, 8, ""), module.flag("fast", False, ""), module.choice("mode", ["a", "b"], "a", "")]
        self.assertEqual(module.with_defaults(declared, {"every": 8, "fast": True, "mode": "b"}), {"every": 8, "fast": True, "mode": "b"})
        self.assertEqual(module.with_defaults(declared, {"every": 9, "fast": 1, "mode": "c"}), {"every": 4, "fast": False, "mode": "a"})

    def test_a_choice_is_made_once_for_all_seeds(self):
        trial = Trial(self.folder / "trial", networks.mlp())
        made = []

        def choose(name, **changes):
            file = trial.write({}, 1)
            file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
            return module.Trial(file).cached(name, lambda: made.append(name) or len(made))

        self.assertEqual([choose("layout"), choose("layout", seed=4), choose("layout", batch=8), choose("other"), choose("layout")],
                         [1, 1, 2, 3, 1])
        for file in trial.cache.iterdir():
            file.write_text("")  # cut off
        self.assertEqual([choose("layout"), choose("layout")], [4, 4])

    def refused(self, text):
        """What the backend with this backend.py is refused with when it describes itself."""
        folder = self.folder / f"refused-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        (folder / "backend.json").write_text('{"protocol": 1, "name": "refused", "description": "x", "python": "backend.py"}')
        (folder / "backend.py").write_text(text)
        with self.start(folder) as backend, self.assertRaises(Refused) as caught:
            backend.describe({})
        return caught.exception

    def test_a_missing_module_is_unavailable(self):
        refused = self.refused("import mgcompare_backend\nimport no_such_framework.nn\n")
        self.assertEqual(refused.kind, "unavailable")
        self.assertRegex(str(refused), r"^\S*python3\S* has no module no_such_framework: install it, or set `python:`$")

    def refusal_of(self, methods):
        """The text, for a class with these lines."""
        lines = ["import json", "import mgcompare_backend as m", "class Own(m.Backend):", *["    " + line for line in methods], "m.serve(Own)"]
        return str(self.refused("\n".join(lines) + "\n"))

    def test_missing_methods_are_named(self):
        self.assertEqual(self.refusal_of(["name = 'refused'"]), "Own has no method train() and no method weights()")
        self.assertEqual(self.refusal_of(["def train(self, epoch): return 0"]), "Own has no method weights()")
        in_init = ["def __init__(self, options): self.train = self.weights = lambda *_: 0", "def problems(self): raise ValueError('reached')"]
        self.assertEqual(self.refusal_of(in_init), "ValueError: reached (backend.py:5)")

    def test_a_failure_names_the_line_of_the_backend(self):
        both = ["def train(self, epoch): return 0", "def weights(self): return []"]
        in_library = self.refusal_of([*both, "def problems(self): return json.loads('{')"])
        self.assertRegex(in_library, r"^JSONDecodeError: .* \(backend\.py:6\)$")
        self.assertEqual(self.refusal_of([*both, "def problems(self): assert self.options is None"]),
                         "AssertionError: def problems(self): assert self.options is None (backend.py:6)")
