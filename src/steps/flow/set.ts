import { z } from 'zod'
import { ident } from '../../engine/language/definition/names.ts'
import { toFields } from '../../engine/language/fields.ts'
import { isObject } from '../../conditions/compare.ts'
import { defineStep } from '../../engine/model/step.ts'

/** Values by variable; `vars.city` and `city` name the same one. */
const values = z
  .record(z.string(), z.unknown())
  .transform((values, issues) => {
    const entries = Object.entries(values).map(([key, value]): [string, unknown] => [key.replace(/^vars\./, ''), value])
    for (const [name] of entries) {
      if (ident.safeParse(name).success) continue
      issues.addIssue({ code: 'custom', path: [name], message: 'is not the name of a variable' })
    }
    return Object.fromEntries(entries)
  })
  .refine((values) => Object.keys(values).length > 0, 'must name at least one variable')
  .meta({ minProperties: 1, propertyNames: { pattern: '^(vars\\.)?[a-z][a-z0-9_]{0,63}$' } })

/** Assigns variables, all at once: each value is read as of before the step. */
export const set = defineStep({
  type: 'set',
  schema: z.strictObject({ values }),
  output: ({ values }) => toFields(Object.keys(values)),
  assigns: (config) => Object.keys(config.values),
  restoreOutput: (_config, output) => ({ saved: output, variables: isObject(output) ? output : {} }),
  execute(config, context) {
    const variables = Object.fromEntries(
      Object.entries(config.values).map(([name, value]) => [name, context.resolve(value)]),
    )
    return { kind: 'next', input: { values: variables }, output: variables, variables }
  },
})
