"""The models of a manifest against TLC: several at a time, verdicts cached under all that they depend on.

A cache key hashes every module the model reaches, generated ones included, its cfg, the jar and the options. A run sees
nothing but these (`tlc.modules`). The key also hashes our own code that starts TLC and reads its output. Only a
completed verdict is cached. The manifest's expectations are no part of the key, and are compared anew each time.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidemark_conformance import cache, machine, paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import classes, modules, toolchain
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tlc import config, control, probes, runner, shared
from tidemark_conformance.tlc.manifest import Manifest, Model
from tidemark_conformance.tlc.values import StateParser, to_tla

CACHE_FORMAT = 3
MANY = 20
"""So many runs are worth an archive of TLC's classes."""
BRIEF_STATES, BRIEF_LIVENESS = 40_000, 5_000
"""A model with fewer distinct states is done before the optimising compiler of the JVM would pay off. Measured: that is
about even at 15 s of CPU."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """TLC's result for a model, and every way in which it differs from the manifest.

    `problems`: these differences, empty if there are none. `taken`: action -> whether the model takes it; `sides`: rule
    -> the sides seen. Both are filled only for a model that covers. `cached`: the verdict was found by an earlier run
    of the same modules, cfg, jar and options.
    """

    model: Model
    result: runner.TlcResult
    cached: bool
    problems: tuple[str, ...]
    taken: Mapping[str, bool] = field(default_factory=dict)
    sides: Mapping[str, frozenset[bool]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """TLC found what the manifest expects."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Job:
    """A model made ready to run: root, the text of every module, cfg, options, and the key of its verdict."""

    model: Model
    module: Path
    given: dict[str, str]
    cfg: str
    options: runner.Options
    probe: probes.Probe | None
    jar: Path
    key: str


Listener = Callable[[str, Model, Any], None]
"""Called as ("started", model, None), ("progress", model, (distinct, generated, queue)), ("done", model, Outcome)."""


def prepare(model: Model, jar: str | Path | None = None) -> Job:
    """Everything a run of the model needs; raises Unusable for missing modules, cfg or toolchain."""
    cfg, dead_ends = config.without_deadlock(model.cfg.read_text(encoding="utf-8"))
    probe = probes.probe(model.module, cfg) if model.covers else None
    module, given, text = (probe.module, probe.given, probe.cfg) if probe else (model.module, {}, cfg)
    options = runner.Options(
        workers=model.workers,
        deadlock=model.deadlock and dead_ends is not False,
        coverage=model.covers is not None and not (probe and probe.actions),
        heap_mib=model.heap_mib,
        budget_s=model.budget_s,
        brief=_brief(model),
    )
    jar_file = toolchain.find_jar(jar)
    provided = toolchain.modules_of(jar_file)
    hashed = hashlib.sha256()
    parts = [str(CACHE_FORMAT), cache.code(__name__), toolchain.jar_digest(jar_file), module.stem, text]
    parts += [repr((options.workers, options.deadlock, options.coverage, options.extra))]
    texts = {name: source for name, (_, source) in modules.closure(module, given=given, provided=provided).items()}
    for name, source in sorted(texts.items()):
        parts += [name, source]
    for part in parts:
        encoded = part.encode()
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return Job(model, module, texts, text, options, probe, jar_file, hashed.hexdigest())


def _brief(model: Model) -> bool:
    """Whether a run should take some ten seconds of CPU at most; a model that falls almost always does."""
    most = BRIEF_LIVENESS if model.kind == "liveness" else BRIEF_STATES
    return model.expected == "violates" if model.distinct is None else model.distinct < most


def verify(
    models: Iterable[Model],
    *,
    use_cache: bool = True,
    jar: str | Path | None = None,
    cores: int | None = None,
    listener: Listener | None = None,
) -> list[Outcome]:
    """Outcomes in the order of `models`; as many run side by side as their workers fit on `cores` (default: all).

    Before TLC runs, or a verdict is looked up, every cfg is held against the manifest's pins; Unusable if it differs.
    """
    models = list(models)
    for model in models:
        model.require_checks()
    jobs = [prepare(model, jar) for model in models]
    slots = cores or machine.cores()
    tell = listener or (lambda _kind, _model, _what: None)
    outcomes: dict[str, Outcome] = {}
    waiting: list[Job] = []
    for job in jobs:
        known = _recall(job) if use_cache else None
        if known:
            outcomes[job.model.name] = known
            tell("done", job.model, known)
        else:
            waiting.append(job)
    with contextlib.ExitStack() as ends:
        javas: shared.Pool | None = None
        if len(waiting) >= MANY:
            jar_file = toolchain.find_jar(jar)
            classes.make(jar_file)
            server = shared.server_jar(jar_file)
            if server is not None:
                javas = shared.Pool(jar_file, server)
                ends.callback(javas.close)
        waiting.sort(key=lambda job: -(job.model.distinct or 0))
        _run_all(waiting, slots, outcomes, tell, javas)
    return [outcomes[job.model.name] for job in jobs]


def _run_all(
    waiting: list[Job], slots: int, outcomes: dict[str, Outcome], tell: Listener, javas: shared.Pool | None
) -> None:
    """Runs the jobs, first fit on the free slots; the first failure to run at all ends the others.

    `javas`: for the jobs that may share one; None gives every run its own.
    """
    lock = threading.Lock()
    over = threading.Event()

    def announce(kind: str, model: Model, what: Any) -> None:
        with lock:
            tell(kind, model, what)

    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, slots)) as pool:
        running: dict[concurrent.futures.Future[Outcome], tuple[Job, int]] = {}
        free = slots
        try:
            while waiting or running:
                for job in list(waiting):
                    need = min(job.options.workers, slots)
                    if need <= free:
                        free -= need
                        waiting.remove(job)
                        announce("started", job.model, None)
                        running[pool.submit(_run, job, announce, javas, over)] = (job, need)
                done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    job, need = running.pop(future)
                    free += need
                    outcomes[job.model.name] = future.result()
                    announce("done", job.model, outcomes[job.model.name])
        except BaseException:
            waiting.clear()
            over.set()
            runner.stop_all()
            raise


def _run(job: Job, tell: Listener, javas: shared.Pool | None, over: threading.Event) -> Outcome:
    """The result of a Java that models share, if it is the expected one; else the result of a Java of its own. `over`:
    set when nothing more may be started."""
    if javas is not None and _may_share(job):
        with contextlib.suppress(_NotExpected), javas.lent() as java:
            if java is not None:
                return _run_in(java, job, tell)
        if over.is_set():
            raise Unusable(f"{job.model.name} was interrupted")
    result, seen = _found(job, tell, None)
    if result.verdict in ("holds", "violates"):
        _remember(job, result, seen)
    return _outcome(job, result, seen, cached=False)


def _may_share(job: Job) -> bool:
    """A run that finds the named property false, at the depth that the manifest has, is believed whatever ran before
    it. One that finds every state that the manifest pins, and nothing false, is believed if the control after it falls.

    So a "holds" without a pin is not. Coverage switches TLC's classes over for good, several workers and another heap
    need another Java, and a deep model gains nothing.
    """
    options, model = job.options, job.model
    alone = options.coverage or options.extra or options.workers > 1 or options.heap_mib > shared.HEAP_MIB
    pinned = model.property if model.expected == "violates" else model.distinct
    return pinned is not None and not alone and model.tier == "check"


class _NotExpected(Exception):
    """A run in a shared Java found something else than the manifest expects, or came to no end."""


def _run_in(java: shared.Java, job: Job, tell: Listener) -> Outcome:
    """The outcome of a run in a shared Java. Raises _NotExpected."""
    try:
        result, seen = _found(job, tell, java)
    except Unusable as problem:
        raise _NotExpected from problem
    outcome = _outcome(job, result, seen, cached=False)
    if not outcome.ok or (result.verdict == "holds" and not _judges(java, job)):
        raise _NotExpected
    _remember(job, result, seen)
    return outcome


def _judges(java: shared.Java, job: Job) -> bool:
    """Whether a Java still sees a property fall that has the form of the job's."""
    properties = re.search(r"\bPROPERT(?:Y|IES)\b", modules.without_comments(job.cfg)) is not None
    try:
        return control.falls(java, job.jar, control.form(job.model, properties))
    except Unusable:
        return False


def _found(job: Job, tell: Listener, java: shared.Java | None) -> tuple[runner.TlcResult, set[str]]:
    """The result of a run, and the things that its probes saw."""
    seen: set[str] = set()

    def printed(line: str) -> None:
        thing = job.probe.seen(line) if job.probe else None
        if thing:
            seen.add(thing)

    result = runner.run(
        job.module,
        job.cfg,
        job.options,
        jar=job.jar,
        given=job.given,
        on_progress=lambda *counts: tell("progress", job.model, counts),
        on_print=printed,
        java=java,
    )
    if result.kind == "temporal" and result.property is None:
        result = replace(result, property=_temporal_property(job, java))
    return result, seen


def _temporal_property(job: Job, java: shared.Java | None = None) -> str | None:
    """TLC does not say which temporal property fell: the first one that falls when it stands alone in the cfg."""
    try:
        parsed = cfg_files.parse(job.cfg, str(job.model.cfg))
    except Unusable:  # a newer TLC reads more than we do
        return None
    if len(parsed.properties) == 1:
        return parsed.properties[0]
    behaviour = [f"{word} {name}" for word, name in _behaviour(parsed) if name]
    for name in parsed.properties:
        text = "\n".join([*behaviour, config.constants(parsed), f"PROPERTY {name}\n"])
        alone = runner.run(job.module, text, job.options, jar=job.jar, given=job.given, java=java)
        if alone.kind == "temporal":
            return name
    return None


def _behaviour(parsed: cfg_files.Config) -> list[tuple[str, str | None]]:
    """The statements that decide which behaviours there are."""
    return [
        ("SPECIFICATION", parsed.specification),
        ("INIT", parsed.init),
        ("NEXT", parsed.next),
        *(("CONSTRAINT", name) for name in parsed.constraints),
        *(("ACTION_CONSTRAINT", name) for name in parsed.action_constraints),
    ]


def _outcome(job: Job, result: runner.TlcResult, seen: Collection[str], cached: bool) -> Outcome:
    taken: dict[str, bool] = {}
    if job.model.covers:
        taken = probes.taken(result.coverage, job.cfg)
        taken |= {action: f"action {action}" in seen for action in (job.probe.actions if job.probe else ())}
    sides = {
        rule: frozenset(side for side in (True, False) if f"rule {rule} {str(side).lower()}" in seen)
        for rule in (job.probe.rules if job.probe else ())
    }
    return Outcome(job.model, result, cached, tuple(_differences(job.model, result)), taken, sides)


def _differences(model: Model, result: runner.TlcResult) -> Iterable[str]:
    """Every difference between TLC's result and the manifest."""
    if result.verdict == "error":
        yield f"could not be evaluated: {result.reason}"
    elif result.verdict == "stopped":
        yield f"not decided: {result.reason}"
    elif result.verdict != model.expected:
        fell = f" ({result.kind} {result.property or ''})".replace(" )", ")") if result.kind else ""
        yield f"{result.verdict}{fell}, expected {model.expected}"
    elif model.expected == "violates" and (result.property or None) != model.property:
        yield f"{result.property or result.kind} fell, expected {model.property}"
    else:
        if model.distinct is not None and result.distinct != model.distinct:
            yield f"{result.distinct:,} distinct states, expected {model.distinct:,}"
        if model.depth is not None and result.depth != model.depth:
            yield f"depth {result.depth}, expected {model.depth}"


def uncovered(manifest: Manifest, outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """Per group all of whose models were run to their end: the things that none of them reaches ("action A is never
    taken", ...).

    A thing that the manifest excuses is left out; an excuse for something that *is* reached is reported as stale.
    """
    ran: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.model.covers:
            ran.setdefault(outcome.model.covers, []).append(outcome)
    missing: dict[str, list[str]] = {}
    for group, members in ran.items():
        wanted = {model.name for model in manifest.models if model.covers == group and model.tier == "check"}
        if not wanted <= {outcome.model.name for outcome in members if outcome.result.verdict == "holds"}:
            continue  # a selection of models, or a part of a graph, says nothing about the group
        missing[group] = _unreached(members, manifest.unreached.get(group, {}))
    return missing


def _unreached(members: list[Outcome], excused: Mapping[str, str]) -> list[str]:
    actions = {action for outcome in members for action in outcome.taken}
    rules = {rule for outcome in members for rule in outcome.sides}
    reached = _reached(members)
    wanted = {f"action {action}" for action in actions}
    wanted |= {f"rule {rule} {side}" for rule in rules for side in ("true", "false")}
    found = [f"{thing} is never reached" for thing in sorted(wanted - reached - set(excused))]
    stale = set(excused) & _reached([outcome for outcome in members if outcome.model.tier == "check"])
    found += [f"{thing} is excused in the manifest but reached" for thing in sorted(stale)]
    found += [f"{thing} is excused in the manifest but unknown" for thing in sorted(set(excused) - wanted)]
    if not actions:
        found.append("TLC reported no action")
    return found


def _reached(members: list[Outcome]) -> set[str]:
    reached = {f"action {action}" for outcome in members for action, was in outcome.taken.items() if was}
    return reached | {
        f"rule {rule} {str(side).lower()}"
        for outcome in members
        for rule, sides in outcome.sides.items()
        for side in sides
    }


def _file(key: str) -> Path:
    return paths.cache_root() / "tlc" / f"{key}.json"


def _remember(job: Job, result: runner.TlcResult, seen: Collection[str]) -> None:
    document = {
        "model": job.model.name,
        "verdict": result.verdict,
        "kind": result.kind,
        "property": result.property,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": result.seconds,
        "loop": result.loop,
        "coverage": {action: list(counts) for action, counts in result.coverage.items()},
        "seen": sorted(seen),
        "trace": [
            {
                "action": step.action,
                "parameters": step.parameters,
                "state": "".join(f"/\\ {v} = {to_tla(x)}\n" for v, x in step.state.items()),
            }
            for step in result.trace
        ],
    }
    cache.put(_file(job.key), json.dumps(document).encode())


def _recall(job: Job) -> Outcome | None:
    """The cached outcome, None if there is none (a damaged entry counts as none)."""
    parser = StateParser(lenient=True)
    try:
        document = json.loads(cache.get(_file(job.key)) or b"")
        result = runner.TlcResult(
            verdict=document["verdict"],
            kind=document["kind"],
            property=document["property"],
            distinct=document["distinct"],
            generated=document["generated"],
            depth=document["depth"],
            seconds=document["seconds"],
            loop=document["loop"],
            coverage={action: (counts[0], counts[1]) for action, counts in document["coverage"].items()},
            trace=tuple(
                runner.Step(step["action"], parser.parse(step["state"]), step["parameters"])
                for step in document["trace"]
            ),
        )
        seen = [str(thing) for thing in document["seen"]]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    return _outcome(job, result, seen, cached=True)
