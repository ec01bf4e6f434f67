import { evaluateCondition } from '../language/conditions.ts'
import type { CompiledStep } from '../model/compiled.ts'
import type { DecisionDraft } from '../model/decision.ts'
import { deriveId, idTimestamp } from '../model/derive-id.ts'
import { type JsonObject, type LoopFrame, countVisits } from '../model/run.ts'
import type { Facts, StepContext } from '../model/step.ts'
import { hasPlaceholder } from '../language/template.ts'
import { resolveText, resolveValue, type Source } from '../language/values.ts'

const ID_MS_MAX = 2 ** 48 - 1

/** So many ids of a run sort within a millisecond; the next ones are put into the one after. */
const IDS_PER_MS = 4096

export function createStepContext(progress: DecisionDraft, step: CompiledStep, attempt: number): StepContext {
  const { now, facts, run, compiled } = progress
  // Most steps of most runs read nothing, so that what they could read is only laid out for those that do.
  let source: Source | undefined
  const read = () => (source ??= templateSource(progress))
  return {
    now,
    timezone: runTimezone(compiled.settings.timezone, facts),
    facts,
    step,
    attempt,
    memory: run.waiting?.memory ?? null,
    resolve: (value) => resolveValue(value, read()),
    text: (template) => (hasPlaceholder(template) ? resolveText(template, read()) : template),
    isMet: (condition, over) => {
      const { roots, timezone } = read()
      return evaluateCondition(condition, over ? { roots: { ...roots, ...over }, timezone } : read())
    },
    iteration: countVisits(run, step.id),
    round: run.frames.find(({ loopId }) => loopId === step.id) ?? null,
    runId: run.id,
    newId: () => nextId(progress),
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
      run: { id: run.id, startedAt: run.startedAt },
      item: frame?.items?.[frame.index] ?? null,
      loop: frame ? roundOf(frame) : null,
      now: now.toISOString(),
    },
    timezone: runTimezone(compiled.settings.timezone, facts),
  }
}

function roundOf({ index, items }: LoopFrame): JsonObject {
  const length = items?.length ?? null
  return { index, number: index + 1, length, first: index === 0, last: length === null ? null : index === length - 1 }
}

/** The zone that the definition names, that of the contact, or that of the workspace. */
export function runTimezone(setting: string | null, facts: Facts): string {
  if (setting && setting !== 'contact') return setting
  const zones = [setting === 'contact' ? facts.contact?.['timezone'] : null, facts.workspace['timezone']]
  return zones.find((zone) => typeof zone === 'string') ?? 'UTC'
}

/**
 * Sorts after the message that the run answers and after the conversation's newest, even if those were stored by a
 * machine whose clock is ahead, or in this same moment: messages go out in the order of their ids.
 */
export function nextId({ run, facts, now }: DecisionDraft): string {
  const before = [run.message?.id, facts.conversation?.['lastMessageId']]
  const floor = Math.max(-1, ...before.map((id) => (typeof id === 'string' ? (idTimestamp(id) ?? -1) : -1)))
  const ms = Math.min(Math.max(now.getTime(), floor + 1), ID_MS_MAX)
  run.idsCount += 1
  return deriveId(run.id, run.idsCount, Math.min(ms + Math.floor(run.idsCount / IDS_PER_MS), ID_MS_MAX))
}
