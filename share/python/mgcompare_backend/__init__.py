"""What a backend of mgcompare needs besides training: the protocol, the trial, its data and its order.

A backend is a class derived from Backend and one call of serve(). docs/writing-a-backend.md builds one step by step;
docs/backend-protocol.md describes the messages. Import this module before all others: what a later import lacks is then
reported to mgcompare as the reason why the backend cannot run here. Needs Python 3.9 and NumPy.
"""
from .channel import Problem, end_with, problem_of, unavailable  # first: it reports it if NumPy is missing
from .options import choice, flag, integer, number, with_defaults
from .trial import Epoch, Trial, seen, share
from .backend import Backend
from .serving import serve
