import { z } from 'zod'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { workflowLanguage } from '../../workflow-language.ts'

const PROBLEMS_MAX = 10

/** The parts that decisions read without a check. What a step or trigger contains is the matter of its type. */
const shape = z.object({
  version: z.literal(1),
  triggers: z.array(z.object({ type: z.string() })),
  settings: z.object({
    reentry: z.string(),
    debounceMs: z.number(),
    maxDurationMs: z.number(),
    pauseOnHumanReply: z.boolean(),
  }),
  variables: z.record(z.string(), z.object({})),
  steps: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      loops: z.array(z.string()),
      next: z.string(),
      skip: z.string(),
      onError: z.string(),
      config: z.record(z.string(), z.unknown()),
    }),
  ),
  index: z.record(z.string(), z.number()),
})

/** A stored version. It can be executed if `compiled` is not null; a single step or trigger may be damaged even then. */
export type CheckedVersion = {
  compiled: CompiledDefinition | null
  problems: string[]
  /** Null if they cannot be read. */
  triggerTypes: string[] | null
}

/** Checks a stored version, which an operator or an older release may have written. */
export function checkCompiled(stored: unknown): CheckedVersion {
  if (isCompiled(stored))
    return {
      compiled: stored,
      problems: listUnknownTypes(stored),
      triggerTypes: stored.triggers.map(({ type }) => type),
    }
  const issues = shape.safeParse(stored).error?.issues ?? []
  const paths = issues.slice(0, PROBLEMS_MAX).map(({ path }) => path.join('.') || 'the definition')
  return { compiled: null, problems: [`The stored form is damaged at ${paths.join(', ')}`], triggerTypes: null }
}

function isCompiled(stored: unknown): stored is CompiledDefinition {
  return shape.safeParse(stored).success
}

function listUnknownTypes({ triggers, steps }: CompiledDefinition): string[] {
  const { triggers: triggerTypes, steps: stepTypes } = workflowLanguage
  const problems = [
    ...triggers.filter(({ type }) => !triggerTypes.has(type)).map(({ type }) => `The trigger type ${type} is unknown`),
    ...steps
      .filter(({ type }) => !stepTypes.has(type))
      .map(({ id, type }) => `Step "${id}" has the unknown type ${type}`),
  ]
  return problems.slice(0, PROBLEMS_MAX)
}
