"""
Declared: the evaluations that the configuration names, each checked with all that it names.
"""

from ccreport.core.evaluation import AUTO, choose_evaluation, choose_sections
from ccreport.core.evaluation import load_evaluation, resolve_evaluation

# An evaluation's results lie in a folder of its name, beside these.
SHARED_FOLDERS = """
    archive collected explorer fetched manifests parts performance reference rejects release report screenshots tables
""".split()


def find_evaluations():
    """Return the file of each evaluation by its name: the report's own first, then those that may be sections of it."""
    wanted = [("evaluation",), *(("sections", n) for n in range(len(SECTION_NAMES)))]
    found = {}
    for place, name in zip(wanted, [MAIN_NAME, *SECTION_NAMES]):
        try:
            path = resolve_evaluation(name)
        except InputError as error:
            refuse(f"{place[0]}: {error}", *place)
        if path.stem in SHARED_FOLDERS:
            refuse(
                f"{place[0]}: {path.name} needs another name, as results/{path.stem} is taken",
                *place,
            )
        # Below the folder of the call as from there: a checkout that is moved has nothing to build.
        if not path.is_absolute() or path.is_relative_to(Path.cwd()):
            path = Path(os.path.relpath(path))
        if path.stem in found and found[path.stem].samefile(path):
            refuse(f"{place[0]}: {name} is in the report already; name it once", *place)
        if not found.setdefault(path.stem, path).samefile(path):
            others = ", ".join(other for other in SECTION_NAMES if other != name)
            refuse(
                f"{place[0]}: {name} and {found[path.stem]} have one name, which is that of their results; rename one,"
                f" or leave {name} out: sections=[{others}]",
                *place,
            )
    return found


def refuse_evaluation(name, error):
    """End with what is wrong with an evaluation, and how to do without one that nobody named."""
    if config["sections"] is None and name in SECTION_NAMES:
        others = ", ".join(other for other in SECTION_NAMES if other != name)
        error = (
            f"{error}; `sections` is null, so all of evaluations/ are sections: to leave {name} out, write sections:"
            f" [{others}]"
        )
    stop(error)


def load_evaluations():
    """Return what each evaluation declares, by its name."""
    declared = {}
    for name, path in EVALUATION_FILES.items():
        try:
            declared[name] = load_evaluation(path, looks_up=True)
        except InputError as error:
            refuse_evaluation(name, error)
    try:
        if config["explanations"]:
            claims = {name: facts["claims"] for name, facts in declared.items()}
            check_explanations(Path(config["explanations"]), claims)
    except InputError as error:
        stop(error)
    return declared


# As the configuration names them, or as the archive has it.
IS_CHOSEN = config["evaluation"] == AUTO
MAIN_NAME = choose_evaluation(PLACES) if IS_CHOSEN else config["evaluation"]
SECTION_NAMES = config["sections"]
if SECTION_NAMES is None:
    SECTION_NAMES = choose_sections(PLACES, MAIN_NAME)
EVALUATION_FILES = find_evaluations()
EVALUATIONS = load_evaluations()
MAIN, *SECTIONS = EVALUATIONS
