import { isMet } from './conditions.ts'
import type { CompiledStep } from './compiled.ts'
import type { Progress } from './decision.ts'
import { deriveId, msOfId } from './derive-id.ts'
import type { Facts, Turn } from './step.ts'
import { resolveText, resolveValue, type Source } from './values.ts'

const ID_MS_MAX = 2 ** 48 - 1

export function openTurn(progress: Progress, step: CompiledStep, attempt: number): Turn {
  const { now, facts, run } = progress
  const source = sourceOf(progress)
  return {
    now,
    timezone: source.timezone,
    facts,
    step,
    attempt,
    memory: run.waiting?.memory ?? null,
    resolve: (value) => resolveValue(value, source),
    text: (template) => resolveText(template, source),
    isMet: (condition) => isMet(condition, source),
    newId: () => nextId(progress),
  }
}

export function sourceOf({ run, facts, now, compiled }: Progress): Source {
  return {
    roots: {
      ...facts,
      message: run.message,
      trigger: run.trigger,
      input: run.input,
      vars: run.variables,
      steps: run.steps,
      run: { id: run.id, startedAt: run.startedAt },
      now: now.toISOString(),
    },
    timezone: timezoneOf(compiled.settings.timezone, facts),
  }
}

/** The zone that the definition names, that of the contact, or that of the workspace. */
export function timezoneOf(setting: string | null, facts: Facts): string {
  if (setting && setting !== 'contact') return setting
  const zones = [setting === 'contact' ? facts.contact?.['timezone'] : null, facts.workspace['timezone']]
  return zones.find((zone) => typeof zone === 'string') ?? 'UTC'
}

/** Sorts after the message that the run answers, even if that was stored by a machine whose clock is ahead. */
export function nextId({ run, now }: Progress): string {
  const answered = run.message ? msOfId(run.message.id) : undefined
  const ms = Math.min(Math.max(now.getTime(), (answered ?? -1) + 1), ID_MS_MAX)
  run.idsCount += 1
  return deriveId(run.id, run.idsCount, ms)
}
