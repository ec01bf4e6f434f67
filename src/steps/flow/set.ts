import { z } from 'zod'
import { ident } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

/** `vars.city` and `city` name the same variable. */
const values = z
  .record(z.string(), z.unknown())
  .transform((given, issues) => {
    const entries = Object.entries(given).map(([key, value]): [string, unknown] => [key.replace(/^vars\./, ''), value])
    for (const [name] of entries) {
      if (ident.safeParse(name).success) continue
      issues.addIssue({ code: 'custom', path: [name], message: 'is not the name of a variable' })
    }
    return Object.fromEntries(entries)
  })
  .refine((given) => Object.keys(given).length > 0, 'must name at least one variable')
  .meta({ minProperties: 1, propertyNames: { pattern: '^(vars\\.)?[a-z][a-z0-9_]{0,63}$' } })

/** Changes variables, all at once: each value is read as things were before the step. */
export const set = defineStep({
  type: 'set',
  schema: z.strictObject({ values }),
  assigns: (config) => Object.keys(config.values),
  recall: (_config, output) => ({ saved: output, variables: output as Record<string, unknown> }),
  execute(config, turn) {
    const variables = Object.fromEntries(
      Object.entries(config.values).map(([name, value]) => [name, turn.resolve(value)]),
    )
    return { kind: 'next', input: { values: variables }, output: variables, variables }
  },
})
