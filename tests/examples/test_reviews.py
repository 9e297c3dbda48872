"""The examples in which a person at a terminal decides: sampling and elicitation."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.at_terminal import EXAMPLES, at_terminal

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="they ask at /dev/tty")]

BROWSER = """
import sys, urllib.request
page = urllib.request.urlopen(sys.argv[1]).read().decode()
assert 'type="password"' in page
urllib.request.urlopen(sys.argv[1], data=b"key=1982").read()
"""


class TestSampling:
    def test_both_reviews_let_it_pass(self, examples: Path) -> None:
        shown = at_terminal(
            str(examples / "sampling_client.py"), "osmosis", answers=[("Ask the model?", "y"), ("Send this", "yes")]
        )
        assert "user: Explain in one sentence: osmosis" in shown
        assert "explained: Nobody knows, though you asked so nicely: 'Explain in one sentence: osmosis'." in shown

    def test_the_question_and_the_answer_can_be_edited(self, examples: Path) -> None:
        answers = [("Ask the model?", "Explain nothing"), ("Send this", "It is nothing.")]
        shown = at_terminal(str(examples / "sampling_client.py"), "osmosis", answers=answers)
        assert "though you asked so nicely: 'Explain nothing'." in shown
        assert shown.rstrip().endswith("explained: It is nothing.")

    @pytest.mark.parametrize("answers", [[("Ask the model?", "n")], [("Ask the model?", "y"), ("Send this", "")]])
    def test_either_can_be_denied(self, examples: Path, answers: list[tuple[str, str]]) -> None:
        shown = at_terminal(str(examples / "sampling_client.py"), "osmosis", answers=answers)
        assert "refused: " in shown and ("refused: The user does not want that." in shown) is (examples == EXAMPLES)

    def test_a_server_cannot_play_tricks_with_the_terminal(self, examples: Path) -> None:
        shown = at_terminal(
            str(examples / "sampling_client.py"), "\x1b[2Jclean\u202e", answers=[("Ask the model?", "n")]
        )
        assert "\x1b" not in shown and "\u202e" not in shown and "\ufffd[2Jclean\ufffd" in shown

    def test_without_a_terminal_everything_is_denied(self, examples: Path) -> None:
        done = subprocess.run(
            [sys.executable, str(examples / "sampling_client.py"), "osmosis"],
            input="y\ny\n",
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=True,
            check=True,
        )
        said = "The user does not want that." if examples == EXAMPLES else "the user rejected the sampling request (-1)"
        assert done.stdout == f"refused: {said}\n"


class TestElicitation:
    def test_a_form_is_filled_in_corrected_and_reviewed(self) -> None:
        answers = [
            ("Which tea?", "coffee"),
            ("Which tea?", "green"),
            ("How many cups?", "many"),
            ("How many cups?", "5"),
            ("How many cups?", "3"),
            ("With what?", "milk, sugar"),
            ("Hot?", ""),
            ("Send this to kitchen?", "y"),
        ]
        shown = at_terminal("elicitation_client.py", "tea", answers=answers)
        assert "/kind: 'coffee' is not one of ['green', 'black']" in shown
        assert (
            "/cups: 'many' is not of type 'integer'" in shown and "/cups: 5 is greater than the maximum of 4" in shown
        )
        assert "with: ['milk', 'sugar']" in shown
        assert shown.rstrip().endswith("tea: 3 x green")

    def test_a_form_can_be_sent_with_its_defaults(self) -> None:
        answers = [("Which tea?", ""), ("How many cups?", ""), ("With what?", ""), ("Hot?", ""), ("Send this", "n")]
        assert at_terminal("elicitation_client.py", "tea", answers=answers).rstrip().endswith("tea: No tea then.")

    def test_a_page_is_opened_with_consent_and_the_call_repeated(self, tmp_path: object) -> None:
        script = f"{tmp_path}/visit.py"
        with open(script, "w", encoding="utf-8") as file:
            file.write(BROWSER)
        browser = f"{sys.executable} {script} %s"
        shown = at_terminal("elicitation_client.py", "cellar", answers=[("Open it?", "y")], BROWSER=browser)
        assert "at 127.0.0.1:" in shown and "careful: it is not encrypted" in shown
        assert shown.rstrip().endswith("cellar: A bottle of 1982.")

    def test_a_page_is_not_opened_without_consent(self) -> None:
        shown = at_terminal("elicitation_client.py", "cellar", answers=[("Open it?", "n")], BROWSER="false")
        assert shown.rstrip().endswith("cellar:")


class TestVisits:
    @pytest.mark.parametrize(("answer", "said"), [("y", "It is open."), ("n", "It stays closed.")])
    def test_a_page_is_visited_while_the_server_waits(
        self, examples: Path, tmp_path: Path, answer: str, said: str
    ) -> None:
        script = tmp_path / "visit.py"
        script.write_text(BROWSER, "utf-8")
        client = str(examples / "visit_client.py")
        shown = at_terminal(client, answers=[("Open it?", answer)], BROWSER=f"{sys.executable} {script} %s")
        assert "safe wants you to visit a page at 127.0.0.1:" in shown and "careful: it is not encrypted" in shown
        assert shown.rstrip().endswith(said)
