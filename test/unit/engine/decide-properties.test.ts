import { expect } from 'chai'
import fc from 'fast-check'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import type { CompiledDefinition } from '../../../src/engine/model/compiled.ts'
import { decide } from '../../../src/engine/decide/decide.ts'
import type { Decision, EngineEvent } from '../../../src/engine/model/decision.ts'
import { isFinished, type RunState } from '../../../src/engine/model/run.ts'
import { queueRun } from '../../../src/engine/model/new-run.ts'
import type { ExternalResult, Facts } from '../../../src/engine/model/step.ts'
import { addMs, DAY } from '../../../src/platform/time.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { NOON, RUN_ID, buildFacts } from '../../support/workflow.ts'

const STEPS_MAX = 7
const target = fc.oneof(
  fc.constant('end'),
  fc.nat(STEPS_MAX - 1).map((index) => `s${index}`),
)
const text = fc.constantFrom(
  'hi',
  '{{contact.name}}',
  'so {{vars.a}}',
  'so {{steps.s0.output.text}}',
  '{{message.body}}',
  '{{vars.b | plus: 1}}',
)
const condition = fc.record({
  left: text,
  op: fc.constantFrom('eq', 'contains', 'gt', 'exists'),
  right: fc.constantFrom('yes', 1, 'Ana'),
})
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const rarelyPresent = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const buttons = fc.constant([
  { id: 'yes', title: 'Yes' },
  { id: 'no', title: 'No' },
])

const kind = fc.oneof(
  fc.record({ type: fc.constant('send_message'), message: fc.record({ body: text }) }),
  fc.record({
    type: fc.constant('ask'),
    message: fc.record({ body: text, buttons }),
    expect: fc.record({ type: fc.constantFrom('any', 'number', 'choice', 'email') }),
    attempts: optional(fc.integer({ min: 1, max: 3 })),
    onInvalid: optional(target),
    timeout: optional(fc.constantFrom('1m', '2h')),
    onTimeout: optional(target),
    saveAs: optional(fc.constantFrom('vars.a', 'vars.b')),
  }),
  fc.record({
    type: fc.constant('wait_for_reply'),
    expect: optional(fc.constant({ type: 'number' })),
    timeout: optional(fc.constant('1h')),
    saveAs: optional(fc.constant('vars.a')),
  }),
  fc.record({ type: fc.constant('wait'), for: fc.constantFrom('1m', '1h', '3d') }),
  fc.record({
    type: fc.constant('branch'),
    cases: fc.tuple(fc.record({ if: condition, next: target })),
    else: optional(target),
  }),
  fc.record({
    type: fc.constant('set'),
    values: fc.record({ a: text, b: fc.constantFrom(1, '{{vars.b | plus: 1}}', '{{vars.a}}') }),
  }),
  fc.record({ type: fc.constant('add_tag'), tags: fc.tuple(text) }),
  fc.record({ type: fc.constant('handoff'), resumeAfter: optional(fc.constant('2h')) }),
  fc.record({ type: fc.constant('stop'), status: fc.constantFrom('completed', 'failed') }),
  fc.record({ type: fc.constant('goto'), to: target }),
  fc.record({
    type: fc.constant('split'),
    paths: fc.tuple(
      fc.record({ weight: fc.constant(1), next: target }),
      fc.record({ weight: fc.constant(2), next: target }),
    ),
    sticky: optional(fc.boolean()),
  }),
  fc.record({
    type: fc.constant('wait_for_event'),
    event: fc.constantFrom('paid', 'sent'),
    match: rarelyPresent(fc.constant({ left: '{{trigger.data.n}}', op: 'gt', right: 1 })),
    timeout: optional(fc.constant('1h')),
    onTimeout: optional(target),
    saveAs: optional(fc.constant('vars.a')),
  }),
  fc.record({
    type: fc.constant('http'),
    url: fc.constant('https://api.example.com/{{vars.a}}'),
    timeout: optional(fc.constant('10s')),
    onTimeout: optional(target),
    saveAs: optional(fc.constantFrom('vars.a', 'vars.b')),
  }),
  fc.record({ type: fc.constant('emit'), event: fc.constant('paid'), data: fc.constant({ n: '{{vars.b}}' }) }),
)
const way = fc.constantFrom('continue', 'break', 'end', 'i0', 'i1')
const inner = fc.oneof(
  fc.record({
    type: fc.constant('send_message'),
    message: fc.record({ body: fc.constant('{{loop.number}} {{item}}') }),
  }),
  fc.record({ type: fc.constant('wait'), for: fc.constant('1h') }),
  fc.record({
    type: fc.constant('wait_for_reply'),
    timeout: optional(fc.constant('1h')),
    saveAs: optional(fc.constant('vars.a')),
  }),
  fc.record({
    type: fc.constant('set'),
    values: fc.record({ a: fc.constantFrom('{{item}}', '{{vars.b | plus: 1}}') }),
  }),
  fc.record({
    type: fc.constant('branch'),
    cases: fc.tuple(fc.record({ if: condition, next: way })),
    else: optional(way),
  }),
)
const loop = fc
  .record({
    type: fc.constant('loop'),
    over: fc.constantFrom('{{vars.list}}', '{{vars.a}}', undefined),
    max: fc.integer({ min: 1, max: 4 }),
    steps: fc.tuple(inner, inner),
  })
  .map(({ over, steps, ...rest }) => ({
    ...rest,
    ...(over === undefined ? { while: { left: '{{vars.a}}', op: 'exists' } } : { over, as: 'a' }),
    steps,
  }))
const rest = fc.record({
  if: rarelyPresent(condition),
  disabled: rarelyPresent(fc.constant(true)),
  next: optional(target),
  onError: optional(fc.oneof(fc.constant('continue'), target)),
  retry: optional(fc.record({ max: fc.nat(2) })),
})

/** Valid definitions only; invalid ones are covered by the tests of compileDefinition. */
const definition = fc
  .tuple(
    fc.array(fc.tuple(fc.oneof({ weight: 5, arbitrary: kind }, { weight: 1, arbitrary: loop }), rest), {
      minLength: STEPS_MAX,
      maxLength: STEPS_MAX,
    }),
    fc.constantFrom('number', 'string'),
  )
  .map(
    ([steps, type]) =>
      compileDefinition(
        withoutUndefined({
          version: 1,
          settings: { maxDuration: '10d' },
          variables: { b: { type }, list: { type: 'list', default: ['x', 2, null] } },
          steps: renameInner(steps.map(([own, base], index) => ({ id: `s${index}`, ...base, ...own }))),
        }),
        workflowLanguage,
      ).compiled,
  )
  .filter((compiled) => compiled !== null)

/** Names inner steps after their loop, so that the step IDs of a definition are unique. */
function renameInner(steps: object[]): object[] {
  return steps.map((step, index) => {
    if (!('steps' in step)) return step
    const text = JSON.stringify((step.steps as object[]).map((one, n) => ({ id: `i${n}`, ...one })))
    return { ...step, steps: JSON.parse(text.replaceAll(/"i([01])"/g, `"i${index}_$1"`)) }
  })
}

type EventInput = { afterMs: number; event: (run: RunState) => EngineEvent }

const body = fc.constantFrom('yes', '2', '12,5', 'ana@example.com', '', 'no idea')
const eventInput: fc.Arbitrary<EventInput> = fc.record({
  afterMs: fc.oneof(fc.nat(60_000), fc.nat(4 * DAY)),
  event: fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.uuid({ version: 7 }), body)
        .map(([id, text]) => () => ({ type: 'reply' as const, message: { id, body: text } })),
    },
    { weight: 5, arbitrary: fc.constant((run: RunState) => ({ type: 'timer' as const, epoch: run.epoch })) },
    { weight: 1, arbitrary: fc.constant((run: RunState) => ({ type: 'timer' as const, epoch: run.epoch - 1 })) },
    {
      weight: 2,
      arbitrary: fc
        .record({ event: fc.constantFrom('paid', 'sent'), data: fc.record({ n: fc.nat(3) }) })
        .map((told) => () => ({ type: 'event' as const, ...told })),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          fc.constantFrom<ExternalResult>(
            { ok: true, output: { status: 200, json: { a: [1, 'b'] } } },
            { ok: false, error: { code: 'unreachable', message: 'Nobody answered' } },
            { ok: false, error: { code: 'refused', message: 'No', retryable: false } },
          ),
          fc.constantFrom(0, 0, 0, -1),
        )
        .map(([result, late]) => (run: RunState) => ({
          type: 'external_result' as const,
          epoch: run.epoch + late,
          result,
        })),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom<EngineEvent>({ type: 'started' }, { type: 'canceled' }, { type: 'expired' })
        .map((event) => () => event),
    },
  ),
})

type Transition = { before: RunState; event: EngineEvent; now: Date; facts: Facts; decision: Decision }

function play(compiled: CompiledDefinition, eventInputs: EventInput[]): Transition[] {
  let now = new Date(NOON)
  let run = queueRun(compiled, { id: RUN_ID, trigger: { type: 'manual' } }, now)
  let facts = buildFacts({ conversation: { windowExpiresAt: '2026-03-04T12:00:00.000Z' } })
  return [{ afterMs: 0, event: () => ({ type: 'started' as const }) }, ...eventInputs].map(
    ({ afterMs, event: make }) => {
      now = addMs(now, afterMs)
      const transition = { before: deepFreeze(run), event: make(run), now, facts: deepFreeze(facts) }
      const decision = decide({
        compiled,
        run: transition.before,
        event: transition.event,
        facts: transition.facts,
        now,
        registry: workflowLanguage,
      })
      run = decision.run
      facts = decision.facts
      return { ...transition, decision }
    },
  )
}

function forAllRuns(check: (transitions: Transition[], compiled: CompiledDefinition) => void): void {
  fc.assert(
    fc.property(definition, fc.array(eventInput, { maxLength: 12 }), (compiled, eventInputs) =>
      check(play(compiled, eventInputs), compiled),
    ),
    { numRuns: 200 },
  )
}

describe('decide, for any definition and any events', () => {
  it('leaves the run finished or waiting with a wake-up time before its expiry', () => {
    forAllRuns((transitions) => {
      for (const { before, decision, now } of transitions) {
        const { run, wait } = decision
        expect(run.status === 'waiting' || isFinished(run), run.status).to.equal(true)
        expect(wait !== null).to.equal(run.status === 'waiting')
        if (!wait) continue
        expect(wait.epoch).to.equal(before.epoch + (decision.isConsumed ? 1 : 0))
        expect(Date.parse(wait.wakeAt)).to.be.at.most(Date.parse(run.expiresAt ?? ''))
        if (decision.isConsumed)
          expect(Date.parse(wait.wakeAt)).to.be.at.least(Math.min(now.getTime(), Date.parse(run.expiresAt ?? '')))
      }
    })
  })

  it('is deterministic, also after its input was serialized to JSON', () => {
    forAllRuns((transitions, compiled) => {
      const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
      for (const { before, event, now, facts, decision } of transitions) {
        const again = decide({
          compiled: stored(compiled),
          run: stored(before),
          event,
          facts: stored(facts),
          now,
          registry: workflowLanguage,
        })
        expect(stored(again)).to.deep.equal(stored(decision))
      }
    })
  })

  it('numbers new steps without gaps and updates only the open step record', () => {
    forAllRuns((transitions) => {
      for (const { before, decision } of transitions) {
        const indexes = decision.steps.map(({ index }) => index)
        const open = before.open && indexes[0] === before.open.index ? [before.open.index] : []
        const count = decision.run.stepsCount - before.stepsCount
        const added = Array.from({ length: count }, (_, offset) => before.stepsCount + offset)
        expect(indexes).to.deep.equal([...open, ...added])
        if (decision.isConsumed && before.open) expect(open).to.have.lengthOf(1)
      }
    })
  })

  it('executes no step of a finished run and leaves none open', () => {
    forAllRuns((transitions) => {
      for (const { before, decision } of transitions) {
        if (isFinished(before))
          expect(decision).to.deep.include({ isConsumed: false, steps: [], effects: [], run: before })
        if (!isFinished(decision.run)) continue
        expect(decision.run.open).to.equal(null)
        for (const { status, finishedAt } of decision.steps) {
          expect(status).to.be.oneOf(['completed', 'failed', 'skipped', 'canceled'])
          expect(finishedAt).to.not.equal(null)
        }
      }
    })
  })

  it('changes nothing for an event that is not consumed', () => {
    forAllRuns((transitions) => {
      for (const { before, facts, decision } of transitions) {
        if (decision.isConsumed) continue
        expect(decision).to.deep.include({ run: before, facts, steps: [], effects: [] })
      }
    })
  })

  it('assigns unique IDs to steps and messages and a recorded step to every effect', () => {
    forAllRuns((transitions) => {
      const effects = transitions.flatMap(({ decision }) => decision.effects)
      const steps = new Map(transitions.flatMap(({ decision }) => decision.steps.map((step) => [step.index, step])))
      for (const { stepIndex, stepId } of effects) expect(steps.get(stepIndex)?.stepId).to.equal(stepId)
      const messages = effects.flatMap(({ effect }) => (effect.type === 'send_message' ? [effect['messageId']] : []))
      const ids = [...messages, ...[...steps.values()].map(({ id }) => id)]
      expect(new Set(ids).size).to.equal(ids.length)
    })
  })
})

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const child of Object.values(value)) deepFreeze(child)
  }
  return value
}

function withoutUndefined(value: object): object {
  return JSON.parse(JSON.stringify(value))
}
