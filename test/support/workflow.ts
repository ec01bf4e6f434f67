import { compileDefinition } from '../../src/engine/compile/compile-definition.ts'
import { type CompiledDefinition, findStep } from '../../src/engine/model/compiled.ts'
import { decide } from '../../src/engine/decide/decide.ts'
import type { Decision, EngineEvent } from '../../src/engine/model/decision.ts'
import type { RunState, StepRecord } from '../../src/engine/model/run.ts'
import { type NewRun, queueRun } from '../../src/engine/model/new-run.ts'
import type { Registry } from '../../src/engine/model/registry.ts'
import type { Facts, StepType } from '../../src/engine/model/step.ts'
import { addMs } from '../../src/platform/time.ts'
import { workflowLanguage } from '../../src/workflow-language.ts'

export const RUN_ID = '0199a7a0-0000-7000-8000-000000000001'
export const NOON = '2026-03-02T12:00:00.000Z'

/** Facts about a contact in São Paulo whose service window is open for another hour. */
export function buildFacts(change: Partial<Facts> = {}): Facts {
  return {
    contact: {
      id: 'c1',
      name: 'Ana',
      timezone: 'America/Sao_Paulo',
      language: 'pt-BR',
      tags: ['vip'],
      fields: { plan: 'pro' },
    },
    conversation: { id: 'v1', windowExpiresAt: '2026-03-02T13:00:00.000Z' },
    workspace: { id: 'w1', name: 'Padaria', timezone: 'Europe/Lisbon' },
    workflow: { id: 'f1', name: 'Welcome' },
    ...change,
  }
}

/** Adds step types to the workflow language. */
export function languageWith(...types: StepType[]): Registry {
  const steps = new Map([...workflowLanguage.steps, ...types.map((type): [string, StepType] => [type.type, type])])
  return { ...workflowLanguage, steps }
}

export function compile(definition: object, registry: Registry = workflowLanguage): CompiledDefinition {
  const { compiled, errors } = compileDefinition({ version: 1, ...definition }, registry)
  if (compiled) return compiled
  throw new Error(errors.map(({ message }) => message).join('\n'))
}

/** A run without a database: applies events and records the decisions. */
export class TestRun {
  readonly compiled: CompiledDefinition
  readonly registry: Registry
  now = new Date(NOON)
  run: RunState
  facts: Facts
  readonly decisions: Decision[] = []
  #replies = 0

  constructor(definition: object, { facts = buildFacts(), registry = workflowLanguage, ...start }: Options = {}) {
    this.compiled = compile(definition, registry)
    this.registry = registry
    this.facts = facts
    this.run = queueRun(this.compiled, { id: RUN_ID, trigger: { type: 'manual' }, ...start }, this.now)
  }

  start(): Decision {
    return this.apply({ type: 'started' })
  }

  reply(body: string, rest: object = {}): Decision {
    this.#replies += 1
    return this.apply({ type: 'reply', message: { id: `in-${this.#replies}`, body, ...rest } })
  }

  /** Advances the clock to the time of the run's timer and fires it. */
  fireTimer(): Decision {
    const wakeAt = this.decisions.at(-1)?.wait?.wakeAt
    if (wakeAt === undefined) throw new Error('The run has no timer')
    this.now = addMs(this.now, Date.parse(wakeAt) - this.now.getTime())
    return this.apply({ type: 'timer', epoch: this.run.epoch })
  }

  advanceClock(ms: number): void {
    this.now = addMs(this.now, ms)
  }

  apply(event: EngineEvent): Decision {
    const { compiled, run, facts, now, registry } = this
    const decision = decide({ compiled, run, event, facts, now, registry })
    this.run = decision.run
    this.facts = decision.facts
    this.decisions.push(decision)
    for (const step of decision.steps) this.#assertDeclaredOutput(step)
    return decision
  }

  /** Placeholders may read the fields of an output that its type declares: it has no others. */
  #assertDeclaredOutput({ stepId, type: name, status, output }: StepRecord): void {
    const type = this.registry.steps.get(name)
    const fields = type?.awaits === 'result' ? null : type?.output(findStep(this.compiled, stepId)?.config ?? {})
    if (!fields || status !== 'completed' || typeof output !== 'object' || output === null) return
    const undeclared = Object.keys(output).filter((field) => !Object.hasOwn(fields, field))
    if (undeclared.length > 0) throw new Error(`output of ${name} has undeclared fields: ${undeclared.join(', ')}`)
  }

  /** Bodies of the messages sent so far. */
  get sent(): unknown[] {
    return this.decisions.flatMap(({ effects }) =>
      effects.flatMap(({ effect }) => (effect.type === 'send_message' ? [effect['body']] : [])),
    )
  }

  /** Status of each step in order, such as `ask:waiting`. */
  get stepStatuses(): string[] {
    return this.decisions.flatMap(({ steps }) => steps.map(({ stepId, status }) => `${stepId}:${status}`))
  }
}

type Options = { facts?: Facts; registry?: Registry } & Partial<NewRun>
