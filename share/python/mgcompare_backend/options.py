"""Options of a backend: declared once, for `description` and for the values of a trial."""


def choice(key, values, default, help):
    return {"key": key, "type": "choice", "default": default, "values": list(values), "help": help}


def integer(key, default, least, most, help):
    return {"key": key, "type": "integer", "default": default, "least": least, "most": most, "help": help}


def number(key, default, least, most, help):
    return {"key": key, "type": "number", "default": default, "least": least, "most": most, "help": help}


def flag(key, default, help):
    return {"key": key, "type": "flag", "default": default, "help": help}


def _is_valid(option, value):
    kind = option["type"]
    if kind == "choice":
        return value in option["values"]
    if kind == "flag" or isinstance(value, bool):
        return kind == "flag" and isinstance(value, bool)
    return isinstance(value, int if kind == "integer" else (int, float)) and option["least"] <= value <= option["most"]


def with_defaults(declared, given):
    """Values by key. mgcompare reports unknown keys and invalid values with their line; they are left out here."""
    return {option["key"]: given[option["key"]] if _is_valid(option, given.get(option["key"])) else option["default"] for option in declared}
