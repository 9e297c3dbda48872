"""The example of skills."""

from support.at_terminal import EXAMPLES
from support.programs import run_program


def test_skills_are_listed_loaded_and_read() -> None:
    done = run_program(EXAMPLES / "skills_client.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "pdf-processing: Extract text from PDF documents, and fill in their forms",
        "Extract text with `pdftotext`. To fill in a form, follow [FORMS.md](references/FORMS.md).",
        "List the fields first. Then fill in one after the other, and compare the result with the original.",
        "skill://pdf-processing/../secret.md is not listed in the entry; if the skill has changed, load_skill() "
        "with the URI loads the new state",
        "skill://pdf-processing/SKILL.md skill://pdf-processing/references",
    ]
