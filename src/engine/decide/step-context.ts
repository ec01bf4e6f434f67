import { countryTimezone } from '../../platform/calendar/country-timezone.ts'
import { evaluateCondition } from '../language/conditions.ts'
import type { ENGINE_FIELDS } from '../language/fields.ts'
import type { CompiledStep } from '../model/compiled.ts'
import type { DecisionDraft } from '../model/decision.ts'
import { deriveId, idTimestamp } from '../model/derive-id.ts'
import { type LoopFrame, countVisits } from '../model/run.ts'
import type { Facts, StepContext } from '../model/step.ts'
import { hasPlaceholder } from '../language/template.ts'
import { resolveText, resolveValue, type Source } from '../language/values.ts'

const ID_MS_MAX = 2 ** 48 - 1

/** Number of ids of a run that sort within one millisecond; further ids use the next one. */
const IDS_PER_MS = 4096

export function createStepContext(draft: DecisionDraft, step: CompiledStep, attempt: number): StepContext {
  const { now, facts, run, compiled } = draft
  // Built on first use, because most steps read nothing.
  let source: Source | undefined
  const read = () => (source ??= templateSource(draft))
  return {
    now,
    timezone: runTimezone(compiled.settings.timezone, facts),
    facts,
    step,
    attempt,
    state: run.waiting?.state ?? null,
    resolve: (value) => resolveValue(value, read()),
    text: (template) => (hasPlaceholder(template) ? resolveText(template, read()) : template),
    isMet: (condition, overrides) => {
      const { roots, timezone } = read()
      const scope = overrides ? { roots: { ...roots, ...overrides }, timezone } : read()
      return evaluateCondition(condition, scope, draft.registry.operators)
    },
    iteration: countVisits(run, step.id),
    frame: run.frames.find(({ loopId }) => loopId === step.id) ?? null,
    runId: run.id,
    newId: () => nextId(draft),
  }
}

export function templateSource({ run, facts, now, compiled }: DecisionDraft): Source {
  const frame = run.frames.at(-1)
  return {
    roots: {
      contact: facts.contact,
      conversation: facts.conversation,
      workspace: facts.workspace,
      workflow: facts.workflow,
      message: run.message,
      trigger: run.trigger,
      input: run.input,
      vars: run.variables,
      steps: run.steps,
      run: { id: run.id, startedAt: run.startedAt } satisfies EngineFacts<'run'>,
      item: frame?.items?.[frame.index] ?? null,
      loop: frame ? toLoopFacts(frame) : null,
      now: now.toISOString(),
    },
    timezone: runTimezone(compiled.settings.timezone, facts),
  }
}

type EngineFacts<Name extends keyof typeof ENGINE_FIELDS> = Record<keyof (typeof ENGINE_FIELDS)[Name], unknown>

function toLoopFacts({ index, items }: LoopFrame): EngineFacts<'loop'> {
  const length = items?.length ?? null
  return { index, number: index + 1, length, first: index === 0, last: length === null ? null : index === length - 1 }
}

/** Returns the time zone of the definition, or of the contact, else of its country, or of the workspace. */
export function runTimezone(setting: string | null, facts: Facts): string {
  if (setting && setting !== 'contact') return setting
  const { timezone: own, country } = facts.contact ?? {}
  const zones = [...(setting === 'contact' ? [own, countryTimezone(country)] : []), facts.workspace['timezone']]
  return zones.find((zone) => typeof zone === 'string') ?? 'UTC'
}

/**
 * Returns an id that sorts after the message that the run answers and after the conversation's newest one, even if a
 * machine whose clock is ahead stored those, or at the same instant: messages are sent in the order of their ids.
 */
export function nextId({ run, facts, now }: DecisionDraft): string {
  const previous = [run.message?.id, facts.conversation?.['lastMessageId']]
  const floor = Math.max(-1, ...previous.map((id) => (typeof id === 'string' ? (idTimestamp(id) ?? -1) : -1)))
  const ms = Math.min(Math.max(now.getTime(), floor + 1), ID_MS_MAX)
  run.idsCount += 1
  return deriveId(run.id, run.idsCount, Math.min(ms + Math.floor(run.idsCount / IDS_PER_MS), ID_MS_MAX))
}
